"""How a planted bug is entered: by its name, as a context manager of the world."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from tests.simulate.world import World

BUGS: dict[str, Callable[[World], AbstractContextManager]] = {}


def bug(function: Callable[[World], Iterator[None]]) -> Callable:
    """Enters a planted bug under its function's name."""
    BUGS[function.__name__] = contextlib.contextmanager(function)
    return function
