"""Errors that a user or an operator can meet: what happened, where, and what to do instead.

A `MarsError` is a user's mistake or an outside fault, and is shown without a stack trace. Any other exception that
escapes is a defect of Mars. Each type says who can be blamed and what helps, and loops act by that alone.
api/rest/problems.py knows its HTTP status.
"""

from __future__ import annotations

from enum import Enum


class Blame(Enum):
    """Who can do something about it."""

    USER = "whoever asked, by asking otherwise"
    ENVIRONMENT = "an outside system, or whoever runs it"
    US = "Mars: it is a defect"


class Remedy(Enum):
    """What helps."""

    TELL = "say it to whoever asked: the same again would fail in the same way"
    RETRY = "wait and try the same again, with all that is held: it passes by itself"
    READ_AGAIN = "throw away what is held, and read it again from the truth: somebody else has moved on"
    FALL_BACK = "go back to the newest commit that reads"
    RECOVER = "throw away what is held, and ask for a recovery of the stream"
    STOP_QUERY = "stop the query that it is about, named; the others go on"


class MarsError(Exception):
    """`title` is one sentence, `detail` says what was found and where, `hint` what to do instead."""

    blame = Blame.ENVIRONMENT
    remedy = Remedy.TELL

    def __init__(self, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(": ".join(part for part in (title, detail) if part))
        self.title = title
        self.detail = detail
        self.hint = hint


class UserError(MarsError):
    """The request cannot be fulfilled as it was made."""

    blame = Blame.USER


class SqlError(UserError):
    """A refused statement. `line` and `column` count from 1 and point at the first character of the cause;
    `length` is how many characters of that line are meant; 0 for each when there is no place to show."""

    def __init__(self, title: str, detail: str = "", hint: str = "", *, sql: str = "",
                 line: int = 0, column: int = 0, length: int = 1) -> None:
        super().__init__(title, detail, hint)
        self.sql = sql
        self.line = line
        self.column = column
        self.length = length


class NotFoundError(UserError):
    """A name that does not exist."""


class RequestError(UserError):
    """A parameter, cursor or body that is not valid."""


class FormatError(UserError):
    """The API has none of the accepted media types."""


class ConflictError(UserError):
    """A name that exists already, or an object in the wrong state."""


class GoneError(UserError):
    """A page cursor whose commit is no longer kept."""


class ConfigurationError(UserError):
    """A setting that is unknown, out of range, or contradicts another."""


class NotReadyError(MarsError):
    """A service that Mars depends on does not answer."""

    remedy = Remedy.RETRY


class InvariantError(MarsError):
    """Something happened that the protocol rules out. It is never merged, never ignored, never waited for. `query` is the id
    of the query whose state it would have entered, if that is known."""

    blame = Blame.US
    remedy = Remedy.RECOVER
    query = ""

    def of(self, query: str) -> InvariantError:
        """The same error, with this query named."""
        self.query = query
        return self
