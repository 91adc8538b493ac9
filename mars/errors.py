"""Errors that a user or an operator can meet: what happened, where, and what to do instead.

A `MarsError` is somebody's mistake or an outside fault and is shown without a stack trace; anything else that
escapes is a defect of Mars.
"""

from __future__ import annotations


class MarsError(Exception):
    """`title` is one sentence, `detail` says what was found and where, `hint` what to do instead."""

    status = 500

    def __init__(self, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(": ".join(part for part in (title, detail) if part))
        self.title = title
        self.detail = detail
        self.hint = hint


class SqlError(MarsError):
    """A refused statement. `line` and `column` count from 1 and point at the first character of the cause;
    `length` is how many characters of that line are meant; 0 for each when there is no place to show."""

    status = 400

    def __init__(self, title: str, detail: str = "", hint: str = "", *, sql: str = "",
                 line: int = 0, column: int = 0, length: int = 1) -> None:
        super().__init__(title, detail, hint)
        self.sql = sql
        self.line = line
        self.column = column
        self.length = length


class NotFoundError(MarsError):
    """A name that does not exist."""

    status = 404


class RequestError(MarsError):
    """A parameter, cursor or body that does not fit."""

    status = 422


class FormatError(MarsError):
    """None of the accepted media types can be given."""

    status = 406


class ConflictError(MarsError):
    """A name that exists already, or an object in the wrong state."""

    status = 409


class GoneError(MarsError):
    """A page cursor whose commit is no longer kept."""

    status = 410


class NotReadyError(MarsError):
    """A service that Mars depends on does not answer."""

    status = 503


class ConfigurationError(MarsError):
    """A setting that is unknown, out of range, or contradicts another."""


class InvariantError(MarsError):
    """Something that the protocol rules out has been seen; never merged, never ignored. `query` is the id of the query whose
    state it would have come into, if it is known."""

    query = ""

    def of(self, query: str) -> InvariantError:
        """The same error of this query."""
        self.query = query
        return self
