"""The text of an error on the terminal, and its exit code."""

from __future__ import annotations

import sys

from api.instance.runfile import NotRunningError
from api.instance.services.errors import SetupError
from mars.errors import MarsError, SqlError
from sql.say.render import caret


def show(error: Exception) -> int:
    """Print a MarsError on stderr and return its exit code: 3 not running, 4 set-up incomplete, else 1. Any other error is a
    defect and is raised again."""
    if not isinstance(error, MarsError):
        raise error
    print(text(error), file=sys.stderr)
    return 3 if isinstance(error, NotRunningError) else 4 if isinstance(error, SetupError) else 1


def text(error: MarsError) -> str:
    """The place with a caret if there is one, the cause, and what to do instead."""
    if isinstance(error, SqlError):
        return caret(error)
    lines = [f"error: {error.title}", *(f"  {line}" for line in error.detail.splitlines())]
    return "\n".join(lines + ([f"  hint: {error.hint}"] if error.hint else []))
