"""What is computed for a query, and the error that names the query if it cannot be, however often it is tried. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mars.errors import Blame, MarsError, Remedy


class UncomputableError(MarsError):
    """The cells or rows of the query of this id cannot be computed. What was merged of it since the last commit may be
    there in part: only a commit that failed so, before it was written, leaves the working state whole."""

    blame = Blame.USER
    remedy = Remedy.STOP_QUERY

    def __init__(self, query: str, what: str, detail: str) -> None:
        super().__init__(f"{what} cannot be computed", detail)
        self.query = query

    @property
    def reason(self) -> str:
        """Why the query is QUARANTINED."""
        return f"{self}; RESUME QUERY tries again, DROP and CREATE it without what cannot"


@contextlib.contextmanager
def computing(query: str, what: str = "its cells") -> Iterator[None]:
    """Around what is computed for a query, without any input or output: an error in it is the query's, unless it has a name
    of ours already."""
    try:
        yield
    except MarsError:
        raise
    except Exception as error:
        raise UncomputableError(query, what, f"{type(error).__name__}: {error}") from error
