"""The truth of a key part: its last commit, and how the next one takes its place (rule 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from mars import faults
from mars.adapters.exchange import StaleGenerationError
from mars.adapters.storage import STATE_AWAY, Storage
from mars.adapters.view import StreamView
from mars.adapters.zookeeper import ZooKeeper
from mars.algebra.cells_layout import schema
from mars.algebra.cells_wire import decode
from mars.errors import InvariantError
from mars.model.commits import Earlier, Manifest, QueryCommit, Segment
from mars.model.registry import Query
from reducer.committing import commit, sweep
from reducer.committing.assignment import Assignment
from reducer.committing.commit import Prepared
from reducer.committing.fallback import STATE_LOST, points
from reducer.committing.history import History, Point, pointer_to
from reducer.committing.pointer import set_pointer
from reducer.state.changelog import RevisedState, resumed, still_revised
from reducer.state.merge import QueryState
from reducer.state.once import Once


@dataclass
class Truth:
    """The last commit, as the owner knows it: the assignment, whose pointer names the commit; its manifest; and the
    commits for a fall-back. If another reducer has become the owner, the next commit is refused."""

    zookeeper: ZooKeeper
    storage: Storage
    retention_ms: int
    assignment: Assignment
    manifest: Manifest
    history: History = History()
    sweeps: sweep.SweepTimes = field(init=False)

    def __post_init__(self) -> None:
        self.clock = self.zookeeper.clock
        self.sweeps = sweep.SweepTimes(self.clock)

    @staticmethod
    def load(zookeeper: ZooKeeper, storage: Storage, retention_ms: int, assignment: Assignment) -> Truth:
        """The commit that the assignment's pointer names. CorruptFileError if its manifest is damaged."""
        pointer = assignment.pointer
        manifest = (storage.manifest(pointer) if pointer
                    else Manifest(assignment.view.stream.id, assignment.key_part))
        return Truth(zookeeper, storage, retention_ms, assignment, manifest,
                     History.of(points(storage, pointer, manifest)))

    def follow(self, view: StreamView) -> None:
        """Take over another query set of the stream."""
        self.assignment = self.assignment.follow(view)

    # -- what is committed ------------------------------------------------------------------------------------------

    def positions(self, query: str) -> dict[int, int]:
        """Partition -> offset up to which the query's tuples are committed; none for a query that has no commit yet."""
        committed = self.manifest.queries.get(query)
        return committed.positions if committed else {}

    def resume(self, query: Query, once: Once) -> QueryState:
        """The query's working state as of the commit (rule 3). CorruptFileError if a file of it is damaged."""
        committed = self.manifest.queries.get(query.id)
        state = resumed(query, self.assignment.view.stream, committed, self._tables(query, committed, once), once)
        if isinstance(state, RevisedState):
            state.keep(self._closed_tables(query, committed))
        return state

    def _closed_tables(self, query: Query, committed: QueryCommit | None) -> list[pa.Table]:
        """The cells of the closed windows that late tuples may still change."""
        if committed is None:
            return []
        kept, stream = query.plan.aggregation, self.assignment.view.stream
        results = [*self.storage.older_results(committed), *committed.results]
        return [self._table(result.segment, schema(kept, stream))
                for result in still_revised(kept, stream, committed.watermark, results)]

    def _tables(self, query: Query, committed: QueryCommit | None, once: Once) -> list[pa.Table]:
        """The cells of a query's committed state. A segment that several queries have gives them the same table."""
        kept = query.plan.aggregation
        wanted = schema(kept, self.assignment.view.stream)
        try:
            return [once.get("segment", kept, (), partial(self._table, segment, wanted), segment)
                    for segment in committed.state] if committed else []
        except InvariantError as error:
            raise error.of(query.id) from None

    def _table(self, segment: Segment, wanted: pa.Schema) -> pa.Table:
        return decode(self.storage.read(segment), wanted)

    def require_results(self, queries: Iterable[str]) -> None:
        """CorruptFileError unless the rows that the last commit added for these queries can be read. Results in other
        files are read only by readers; those in this file can still be computed again (rule 25)."""
        newest = self.assignment.pointer.manifest.path if self.assignment.pointer else ""
        for id_ in queries:
            entry = self.manifest.queries.get(id_)
            for result in (*entry.results, *entry.late) if entry else ():
                if result.segment.path == newest:
                    self.storage.read(result.segment)

    # -- the next commit --------------------------------------------------------------------------------------------

    def commit(self, states: dict[str, QueryState]) -> list[str]:
        """Make what these running queries have merged the truth. Returns the files that nobody needs afterwards; delete
        them when everything else is done. They were listed before the commit, so an owner that lost the key part
        meanwhile deletes nothing of its successor.

        StaleGenerationError if another version has come. UncomputableError, or CorruptFileError if the state of a resting
        query cannot be read; both before anything has changed.
        """
        prepared = self._prepare(states)
        faults.point("reducer.files_written")
        before = self.assignment.pointer
        last = Point(Earlier(before.manifest if before else None, self.manifest.commit), self.manifest)
        history = self.history.follow(last, prepared.manifest, self._held())
        pointer = pointer_to(prepared.segment, prepared.manifest, history)
        unused = self._unused_files(prepared, history)
        assignment = set_pointer(self.zookeeper, self.assignment, pointer)
        if assignment is None:
            raise StaleGenerationError("the commit was refused", str(self.assignment),
                                       "a generation, an assignment or the query set has changed")
        faults.point("reducer.committed")
        self.assignment, self.manifest, self.history = assignment, prepared.manifest, history
        commit.adopt(states, prepared)
        return unused

    def _prepare(self, states: dict[str, QueryState]) -> Prepared:
        """Write the files of the next commit."""
        copied, view = self._write_anew(states), self.assignment.view
        # The view may be older than the loaded commit. So a query that it lacks stays in the manifest until here. It
        # leaves with the transaction that checks the view's version.
        last = replace(sweep.living(self.manifest, view.queries.queries), generation=view.generation)
        try:
            return commit.prepare(self.storage, last, states, self.retention_ms, copied, self.clock)
        except STATE_AWAY:
            self.sweeps.need_room()
            raise

    def _held(self) -> list[str]:
        """The queries that can still continue, including resting ones, whose state is only here."""
        return [id_ for id_, query in self.assignment.view.queries.queries.items() if query.state != STATE_LOST]

    def _write_anew(self, states: dict[str, QueryState]) -> list[str]:
        """Mark the running queries whose state stands still; returns the resting ones."""
        still = self.history.standing_still(self.manifest, self._held())
        for id_ in states.keys() & set(still):
            states[id_].mark_for_rewrite()
        return [id_ for id_ in still if id_ not in states]

    # -- files that nothing needs -----------------------------------------------------------------------------------

    def _unused_files(self, prepared: Prepared, history: History) -> list[str]:
        """Now and then: the files that neither the current commit, nor a fall-back, nor a late reader needs."""
        if not self.sweeps.with_commit():
            return []
        points_ = sweep.living_points(history.points(), self.assignment.view.queries.queries)
        return sweep.unused_files(self.storage, prepared.manifest, prepared.segment, points_, self.clock)

    def plan_sweep(self) -> None:
        """If a query was dropped, look for its files later."""
        manifests = [self.manifest, *(point.manifest for point in self.history.points())]
        if sweep.has_gone(manifests, self.assignment.view.queries.queries):
            self.sweeps.expect_drop()

    def sweep(self) -> None:
        """Delete what a commit would delete, without one; tried again later if it cannot be done now."""
        self.sweeps.begin()
        if self.assignment.pointer is None or sweep.sweep(self.storage, self.zookeeper, self.assignment, self.manifest,
                                                          self.history.points()):
            self.sweeps.end()

    def delete(self, paths: list[str]) -> None:
        """Delete files that nobody needs."""
        for path in paths:
            self.storage.delete(path)
