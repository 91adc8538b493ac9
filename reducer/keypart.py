"""The owner of one key part: receive, merge, close, commit, trim, in that order, for all queries together."""

from __future__ import annotations

import logging

from mars import faults
from mars.adapters.exchange import Exchange
from mars.adapters.storage import Storage
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.model.entries import Header
from mars.runtime.periods import Every
from reducer.committing.assignment import Assignment
from reducer.committing.pace import Pace
from reducer.committing.trim import Trim
from reducer.committing.truth import Truth
from reducer.inbox import Inbox
from reducer.state.computation import UncomputableError
from reducer.state.limits import Limits
from reducer.state.queries import QueryStates

log = logging.getLogger("mars.reducer")
DAY_MS = 86_400_000
SHARE_S = 5.0  # between looks for queries that have come to hold equal cells


class KeyPart:
    """One key part of one stream, as its owner holds it. Made by `load`. After any refusal it is loaded again. So it is
    after UncomputableError, which `load`, `take_queries` and `step` raise: the working state of its query is incomplete
    then."""

    def __init__(self, config: Config, zookeeper: ZooKeeper, exchange: Exchange, truth: Truth) -> None:
        self.zookeeper, self.exchange, self.truth = zookeeper, exchange, truth
        self.inbox = Inbox(zookeeper.clock)
        self.queries = QueryStates(Limits(config))
        self.pace = Pace(config.commit_interval_ms / 1000, zookeeper.clock)
        self.trim = Trim(zookeeper.clock)
        self.shares = Every(SHARE_S, zookeeper.clock)

    @staticmethod
    def load(config: Config, zookeeper: ZooKeeper, exchange: Exchange, storage: Storage, assignment: Assignment) -> KeyPart:
        """The key part as of its last commit. CorruptFileError if a file of it is damaged."""
        truth = Truth.load(zookeeper, storage, config.result_retention_days * DAY_MS, assignment)
        part = KeyPart(config, zookeeper, exchange, truth)
        part.take_queries(assignment.view)
        truth.require_results(part.queries.states)
        return part

    @property
    def assignment(self) -> Assignment:
        """The versions under which the key part is ours."""
        return self.truth.assignment

    @property
    def view(self) -> StreamView:
        """The stream, as it is known here."""
        return self.truth.assignment.view

    def take_queries(self, view: StreamView) -> None:
        """Follow the query set; the generation is the same."""
        self.truth.follow(view)
        self.inbox.look_soon()
        self.trim.is_due = True  # some entries are done although no commit will pass them: those of dead incarnations
        self.queries.follow(view.queries, self.truth.resume)
        self.truth.plan_sweep()

    def step(self, woken: bool = True) -> bool:
        """Close and commit what is due. If woken, or if the last look was a while ago, receive and merge first. False if
        nothing was received."""
        if self.trim.may_tell():
            self._tell()
        if self.truth.sweeps.are_due() and self.zookeeper.usable:
            self.truth.sweep()
        if not (woken or self.inbox.is_due()):
            self._commit_if_due()
            return False
        count = self._receive_and_merge()
        if self._stop_what_was_replaced():
            return True
        self._close()
        self._commit_if_due()
        return count > 0

    def _receive_and_merge(self) -> int:
        """Returns the number of entries."""
        entries = self.inbox.receive(self.assignment.log(self.exchange))
        if entries:
            faults.point("reducer.received")
            for entry in entries:
                self.trim.note(entry, self._is_done)
                self.queries.merge(entry)
            faults.point("reducer.merged")
        self.pace.is_behind = self.inbox.has_more
        return len(entries)

    def _close(self) -> None:
        waits = self.queries.close(self.inbox.facts, self.inbox.fresh_facts())
        if waits and self.inbox.may_ask():
            self.exchange.ask_for_check(self.view.stream.id)

    # -- committing -------------------------------------------------------------------------------------------------

    def due_in_s(self) -> float | None:
        """The seconds until a commit is due; None if there is nothing to commit."""
        return self.pace.due_in_s(self.queries.close_windows) if self.queries.have_changed else None

    def _commit_if_due(self) -> None:
        due_in_s = self.due_in_s()
        if due_in_s is not None and due_in_s <= 0:
            self.commit()

    def commit(self) -> None:
        """Make everything merged so far the truth, then delete what it covers from the log (steps 9, rules 3, 14).

        Raises StaleGenerationError if the transaction was refused, because something has changed: load again. Raises
        CorruptFileError if the state of a resting query cannot be read: fall back.
        """
        if not self.zookeeper.usable:
            return
        self.pace.begin()
        try:
            if self._stop_what_exceeds():
                return
            if self.shares.is_due():
                self.shares.begin()
                self.queries.share_equal()
            unused = self.truth.commit(self.queries.states)
        except UncomputableError as error:  # the others are committed once its query is stopped
            self._stop("QUARANTINED", {error.query: error.reason})
            return
        self.queries.once.forget()
        self._tell()
        self.pace.end()
        faults.point("reducer.trimmed")
        self.truth.delete(unused)

    def _stop_what_was_replaced(self) -> bool:
        """Stop queries that have counted what the log has lost; before that is committed, if it is known by then. True if
        there is one: the others continue once the query set without it is known here."""
        return self.zookeeper.usable and self._stop("LOG_TRUNCATED", self.queries.replaced(self.inbox.facts))

    def _stop_what_exceeds(self) -> bool:
        """Stop queries that exceed a limit. True if there is one: the others are committed once the query set without it
        is known here."""
        return self._stop("LIMIT_EXCEEDED", self.queries.exceeding(self.assignment.key_part))

    def _stop(self, state: str, reasons: dict[str, str]) -> bool:
        """Stop each query for which there is a reason. True if there is one."""
        for id_, reason in reasons.items():
            log.error("query %s stops: %s", self.queries.states[id_].query.name, reason)
            stop_queries(self.zookeeper, self.view.stream, [id_], state, reason)
        return bool(reasons)

    # -- trimming ---------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Send Redis the committed positions, and delete the entries that the commit covers."""
        positions = {(p, id_): offset for id_, state in self.queries.states.items()
                     for p, offset in {**state.query.start, **self.truth.positions(id_)}.items()}
        self.trim.tell(self.assignment.log(self.exchange), positions, self._is_done)

    def _is_done(self, header: Header) -> bool:
        """Is each live task of the entry committed? A task of an incarnation that is not known yet counts as live."""
        for query, incarnation in header.tasks.items():
            if not self.queries.knows(incarnation):
                return False
            if (self.queries.runs(query, incarnation)
                    and self.truth.positions(query).get(header.partition, -1) < header.end):
                return False
        return True
