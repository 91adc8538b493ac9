"""What a reducer does about an error of a key part that it cannot wait out. The key part is read again after that, so
nothing is lost if ZooKeeper does not hear of it now: the error is met again.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from mars.adapters.exchange import Exchange
from mars.adapters.outside import OUTSIDE, remedy_of
from mars.adapters.storage import Storage
from mars.adapters.view import stop_queries
from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.errors import InvariantError, MarsError, NotReadyError, Remedy
from reducer.breach import answer
from reducer.committing.assignment import Assignment
from reducer.committing.fallback import fall_back
from reducer.state.computation import UncomputableError

log = logging.getLogger("mars.reducer")
RECOVERS_S = 0.5  # what asked for a recovery is not tried again before it can have come


class Remedies:
    """One for each remedy; `news` says that there is something new to follow."""

    def __init__(self, zookeeper: ZooKeeper, exchange: Exchange, storage: Storage, cache: ViewCache,
                 news: Callable[[], None]) -> None:
        self.zookeeper, self.exchange, self.storage = zookeeper, exchange, storage
        self.cache, self.news = cache, news

    def apply(self, assignment: Assignment, error: MarsError) -> None:
        """Do what the error's type says. An error against which nothing helps here is raised again."""
        match error.remedy:
            case Remedy.READ_AGAIN:
                self.ask_for_round(assignment, error)
            case Remedy.FALL_BACK:
                self.fall_back(assignment, error)
            case Remedy.STOP_QUERY if isinstance(error, UncomputableError):
                self.quarantine(assignment, error)
            case Remedy.RECOVER if isinstance(error, InvariantError):
                self.recover(assignment, error)
            case _:
                raise error

    def ask_for_round(self, assignment: Assignment, error: MarsError) -> None:
        """Redis may have lost the stream: the leader shall look at once."""
        log.info("%s is read again: %s", assignment, error)
        with contextlib.suppress(NotReadyError):
            self.exchange.ask_for_check(assignment.view.stream.id)

    def fall_back(self, assignment: Assignment, error: MarsError) -> None:
        """Go back to what still reads (rule 25). If that cannot be done, it is tried again in the next round: other key
        parts must not wait for it."""
        log.error("%s falls back: %s", assignment, error)
        done = False
        try:
            done = fall_back(self.zookeeper, self.storage, assignment)
        except OUTSIDE as failure:
            if remedy_of(failure) is not Remedy.RETRY:
                raise
            log.error("%s cannot fall back: %s", assignment, failure)
        self.cache.forget()
        if done:
            self.news()

    def quarantine(self, assignment: Assignment, error: UncomputableError) -> None:
        """Stop the query that the error names."""
        log.error("query %s stops: %s", error.query, error.reason)
        try:
            stop_queries(self.zookeeper, assignment.view.stream, [error.query], "QUARANTINED", error.reason)
        except ZOOKEEPER_AWAY as away:
            log.warning("a query is stopped later: %r", away)
        self.cache.forget()

    def recover(self, assignment: Assignment, error: InvariantError) -> None:
        """A broken invariant is answered by one recovery (rule 13): the leader raises the generation."""
        log.error("%s asks for a recovery", assignment, exc_info=error)
        try:
            answer(self.zookeeper, assignment.view, error)
        except ZOOKEEPER_AWAY as away:
            log.warning("a recovery is asked for later: %r", away)
        self.zookeeper.clock.sleep(RECOVERS_S)
