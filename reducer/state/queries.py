"""The working state of all running queries of a key part. Pure: what is committed of a query is handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mars.model.entries import Entry
from mars.model.registry import Query, QuerySet
from reducer.state.close import Facts
from reducer.state.computation import computing
from reducer.state.limits import Limits
from reducer.state.logs import Logs
from reducer.state.merge import Piece, QueryState


@dataclass
class QueryStates:
    """The state of each running query of the query set, as it is known here. After UncomputableError, which names the query,
    or InvariantError its state is not whole.

    `deferred` are pieces of incarnations that the query set does not have yet (rule 14).
    """

    limits: Limits
    query_set: QuerySet = field(default_factory=QuerySet)
    states: dict[str, QueryState] = field(default_factory=dict)
    deferred: list[tuple[str, Piece]] = field(default_factory=list)
    logs: Logs = field(default_factory=Logs)

    def follow(self, query_set: QuerySet, resume: Callable[[Query], QueryState]) -> None:
        """Follow the query set: a query with a new incarnation goes back to its committed state (rule 3), which `resume`
        gives; one that is gone or stopped is dropped; the others keep what they have merged."""
        self.query_set, states = query_set, {}
        for id_, query in query_set.running().items():
            held = self.states.get(id_)
            if held and held.query.incarnation == query.incarnation:
                held.follow(query)
                states[id_] = held
            else:
                with computing(id_):
                    states[id_] = resume(query)
        self.states = states
        deferred, self.deferred = self.deferred, []
        for id_, piece in deferred:
            self._route(id_, piece)
        for id_, state in states.items():
            with computing(id_):
                state.retry_waiting()

    # -- merging ----------------------------------------------------------------------------------------------------

    def merge(self, entry: Entry) -> None:
        """Hand each task's share of the entry to its query."""
        for query, share in entry.shares.items():
            self._route(query, Piece(entry.seq, entry.header, share))

    def _route(self, query: str, piece: Piece) -> None:
        incarnation = piece.header.tasks[query]
        if self.runs(query, incarnation):
            with computing(query):
                self.states[query].accept(piece)
        elif not self.knows(incarnation):
            self.deferred.append((query, piece))

    def runs(self, query: str, incarnation: int) -> bool:
        """Does the query run, in this incarnation?"""
        state = self.states.get(query)
        return state is not None and state.query.incarnation == incarnation

    def knows(self, incarnation: int) -> bool:
        """Can the query set have this incarnation? Else it has come since."""
        return incarnation < self.query_set.next_incarnation

    # -- closing ----------------------------------------------------------------------------------------------------

    def close(self, facts: Facts, heard: Facts | None) -> bool:
        """Close the windows that may be closed by now; does one wait for a check that has not begun? `heard` are `facts` if
        the leader was heard of lately."""
        asks = False
        for id_, state in self.states.items():
            passed = state.pass_check(self.query_set.partitions, heard, facts)
            if passed is not None:
                with computing(id_):
                    state.close(passed)
            asks = state.needs_check(facts) or asks
        return asks

    # -- the next commit --------------------------------------------------------------------------------------------

    @property
    def have_changed(self) -> bool:
        """Is there anything to commit?"""
        return any(state.changed for state in self.states.values())

    @property
    def close_windows(self) -> bool:
        """Do windows close with the next commit?"""
        return any(state.closed for state in self.states.values())

    def replaced(self, facts: Facts) -> dict[str, str]:
        """Query -> which offsets it has counted that are other records now, in words."""
        return self.logs.replaced(self.states, facts)

    def exceeding(self, key_part: int) -> dict[str, str]:
        """Query -> in words, which limit it exceeds. One that keeps to it only once its tables are merged is written so."""
        reasons = {}
        for id_, state in self.states.items():
            if not state.changed:
                continue
            with computing(id_):
                verdict = self.limits.judge(state, key_part)
            if verdict.exceeded:
                reasons[id_] = verdict.exceeded
            elif verdict.fits_only_merged:
                state.mark_for_rewrite()
        return reasons
