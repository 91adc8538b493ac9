"""Refusals: an SqlError at a place of the user's text, with what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Protocol

from mars.errors import SqlError
from mars.model import types

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "WINDOWING", "WATERMARK", "GRACE",
    "EMIT", "IDLE", "EARLIEST", "LATEST"
)


class Place(Protocol):
    """A part of a statement: sql[start:end]."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def refusal(sql: str, start: int, end: int, title: str, detail: str = "", hint: str = "") -> SqlError:
    """The error that points at sql[start:end]; only the part on the first line is marked."""
    start = min(start, len(sql))
    line = sql.count("\n", 0, start) + 1
    column = start - (sql.rfind("\n", 0, start) + 1) + 1
    marked = sql[start:end].split("\n", maxsplit=1)[0].rstrip()
    return SqlError(title, detail, hint, sql=sql, line=line, column=column, length=max(1, len(marked)))


def refusal_at(sql: str, place: Place, title: str, detail: str = "", hint: str = "") -> SqlError:
    """The error that points at a word or a name of the statement."""
    return refusal(sql, place.start, place.end, title, detail, hint)


def closest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that a wrong name most likely means, in its own upper and lower case; or None. `alike`, from 0 to 1,
    says how alike they must be."""
    by_lower = {k.lower(): k for k in known}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=alike)
    return by_lower[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", alike: float = 0.6) -> str:
    """The hint for a wrong name: the closest known one, else `otherwise`."""
    match = closest(name, known, alike)
    return f"did you mean {match}?" if match else otherwise


def unknown_source(sql: str, name: str, start: int, end: int, known: Iterable[str]) -> SqlError:
    """The refusal of a stream or query that does not exist; `known` are the names that do."""
    names = sorted(known)
    listed = "there are: " + ", ".join(names[:10]) if names else "there are none yet: CREATE STREAM makes one"
    return refusal(sql, start, end, f"unknown stream {name}", "no stream or query has this name",
                   did_you_mean(name, names, listed))


def not_supported(sql: str, start: int, end: int, what: str, instead: str) -> SqlError:
    """The refusal of a part of the dialect that is recognised but not supported yet."""
    return refusal(sql, start, end, f"{what} is not supported yet",
                   "this version recognises it but cannot run it", instead)


def no_type(written: str, otherwise: str, detail: str = "") -> tuple[str, str, str]:
    """Title, detail and hint for a type as it was written: no type has this name, or no DECIMAL has this size."""
    fitting = types.nearest_decimal(written)
    if fitting:
        why = "in DECIMAL(p, s), p is 1 to 38, and s is at most p"
        return f"{written} is not a type", why, f"write {fitting}"
    return f"unknown type {written}", detail, otherwise
