"""How a name is written in a statement."""

from __future__ import annotations

import re

BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def quoted(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def identifier(name: str) -> str:
    """The name of a stream or query as a statement takes it: in backticks unless it is a plain word. (spec/dialect.md)"""
    return name if BARE.match(name) else quoted(name)
