"""The working state of all running queries of a key part. Pure: the committed state of a query is an argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from mars.model.entries import Entry
from mars.model.registry import Query, QuerySet
from reducer.state.close import Facts
from reducer.state.computation import computing
from reducer.state.limits import Limits
from reducer.state.logs import Logs
from reducer.state.merge import Piece, QueryState
from reducer.state.once import Once
from reducer.state.sharing import share_equal


@dataclass
class QueryStates:
    """The state of each running query of the query set, as it is known here. After UncomputableError, which names the
    query, or after InvariantError, its state is not whole.

    `deferred` are pieces of incarnations that the query set does not have yet (rule 14).
    """

    limits: Limits
    query_set: QuerySet = field(default_factory=QuerySet)
    states: dict[str, QueryState] = field(default_factory=dict)
    deferred: list[tuple[str, Piece]] = field(default_factory=list)
    logs: Logs = field(default_factory=Logs)
    once: Once = field(default_factory=Once)

    def follow(self, query_set: QuerySet, resume: Callable[[Query, Once], QueryState]) -> None:
        """Follow the query set. A query with a new incarnation goes back to its committed state (rule 3), which `resume`
        gives. A query that is gone or stopped is dropped. The others keep what they have merged."""
        self.query_set, states = query_set, {}
        for id_, query in query_set.running().items():
            held = self.states.get(id_)
            if held and held.query.incarnation == query.incarnation:
                held.follow(query)
                states[id_] = held
            else:
                with computing(id_):
                    states[id_] = resume(query, self.once)
        self.states = states
        deferred, self.deferred = self.deferred, []
        for id_, piece in deferred:
            self._route(id_, piece)
        for id_, state in states.items():
            with computing(id_):
                state.retry_waiting()
        self.once.forget()

    # -- merging ----------------------------------------------------------------------------------------------------

    def merge(self, entry: Entry) -> None:
        """Hand each task's share of the entry to its query."""
        self.once.forget()
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
        """Can the query set have this incarnation? If not, the incarnation is newer."""
        return incarnation < self.query_set.next_incarnation

    # -- closing ----------------------------------------------------------------------------------------------------

    def close(self, facts: Facts, heard: Facts | None) -> bool:
        """Close the windows that may be closed now. Returns whether one waits for a check that has not begun. `heard` are
        `facts` if the leader was heard of lately."""
        asks = False
        self.once.forget()
        for id_, state in self.states.items():
            passed = state.pass_check(self.query_set.partitions, heard, facts)
            if passed is not None:
                with computing(id_):
                    state.close(passed)
            asks = state.needs_check(facts) or asks
        return asks

    # -- the next commit --------------------------------------------------------------------------------------------

    def share_equal(self) -> None:
        """Let queries that hold equal cells hold the same ones from now on."""
        self.once.forget()
        share_equal(self.states.values())
        self.once.forget()

    @property
    def have_changed(self) -> bool:
        """Is there anything to commit?"""
        return any(state.changed for state in self.states.values())

    @property
    def close_windows(self) -> bool:
        """Do windows close with the next commit?"""
        return any(state.closed for state in self.states.values())

    def replaced(self, facts: Facts) -> dict[str, str]:
        """Query -> in words, the offsets that it has counted and that hold other records now."""
        return self.logs.replaced(self.states, facts)

    def exceeding(self, key_part: int) -> dict[str, str]:
        """Query -> in words, the limit that it exceeds. If a query keeps its limit only once its tables are merged, the
        next commit writes them merged."""
        reasons = {}
        for id_, state in self.states.items():
            if not state.changed:
                continue
            with computing(id_):
                verdict = state.judged(partial(self.limits.judge, state, key_part))
            if verdict.exceeded:
                reasons[id_] = verdict.exceeded
            elif verdict.fits_only_merged:
                state.mark_for_rewrite()
        return reasons
