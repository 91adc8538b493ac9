"""What a query holds that cannot be computed, however often it is tried: that query stops, named, and the others go on."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.errors import MarsError

log = logging.getLogger("mars.reducer")


class UncomputableError(MarsError):
    """The cells or rows of the query of this id cannot be computed. What was merged of it since the last commit may be
    there in part: only a commit that failed so, before it was written, leaves the working state whole."""

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


def quarantine(zookeeper: ZooKeeper, view: StreamView, error: UncomputableError) -> None:
    """Stop the query that the error names. If ZooKeeper is away, the error is met again when the key part is read again."""
    log.error("query %s stops: %s", error.query, error.reason)
    try:
        stop_queries(zookeeper, view.stream, [error.query], "QUARANTINED", error.reason)
    except ZOOKEEPER_AWAY as away:
        log.warning("a query is stopped later: %r", away)
