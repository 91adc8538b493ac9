"""The owner of one key part: receive, merge, close, commit, trim, in that order, for all queries together."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, field, replace

import pyarrow as pa

from mars import faults
from mars.adapters.exchange import Exchange, StaleGenerationError
from mars.adapters.storage import STATE_AWAY, Storage
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.algebra.cells_layout import schema
from mars.algebra.cells_wire import decode
from mars.config import Config
from mars.errors import InvariantError, NotReadyError
from mars.model import names
from mars.model.commits import Earlier, Manifest, Pointer, QueryCommit
from mars.model.entries import Entry, Header
from mars.model.registry import Query
from reducer.committing import commit
from reducer.committing.fallback import STATE_LOST, points
from reducer.committing.history import History, Point, pointer_to
from reducer.committing.pace import Pace
from reducer.committing.pointer import set_pointer
from reducer.committing.sweep import has_gone, living, living_points, sweep
from reducer.committing.trim import Trim
from reducer.state.close import Facts
from reducer.state.limits import Limits
from reducer.state.logs import Logs
from reducer.state.merge import Piece, QueryState
from reducer.state.uncomputable import UncomputableError, computing

log = logging.getLogger("mars.reducer")
RECEIVE_BYTES = 8 * 1024 * 1024
RECEIVE_S = 0.25
FACTS_AGE_S = 5.0
SWEEP_S = 30.0


@dataclass
class KeyPart:
    """One key part of one stream, as its owner holds it. Made by `load`; any refusal ends in `load` again, and so does
    UncomputableError, which `load`, `take_queries` and `step` raise: the working state of its query is not whole then.

    `deferred` are pieces of incarnations that the query set, as known here, does not have yet (rule 14).
    """

    config: Config
    zookeeper: ZooKeeper
    exchange: Exchange
    storage: Storage
    view: StreamView
    number: int
    owner_version: int
    pointer_version: int
    pointer: Pointer | None
    manifest: Manifest
    states: dict[str, QueryState]
    history: History = History()
    deferred: list[tuple[str, Piece]] = field(default_factory=list)
    after: int = 0
    has_more: bool = False
    received_at: float = -math.inf
    facts: Facts = Facts()
    asked: int = -1
    done_at: float = 0.0
    swept_at: float = field(init=False)
    sweep_at: float = math.inf  # when to sweep without a commit
    logs: Logs = field(default_factory=Logs)
    limits: Limits = field(init=False)
    pace: Pace = field(init=False)
    trim: Trim = field(init=False)

    def __post_init__(self) -> None:
        self.limits, self.pace = Limits(self.config), Pace(self.config.commit_interval_ms / 1000)
        self.trim, self.swept_at = Trim(self.exchange, self.number, self.owner_version), time.monotonic()

    @staticmethod
    def load(config: Config, zookeeper: ZooKeeper, exchange: Exchange, storage: Storage, view: StreamView,
             number: int, owner_version: int) -> KeyPart:
        """The key part as of its last commit. The pointer is read after the assignment, so that a commit of the former
        owner in between makes ours fail, not vanish. CorruptFileError if a file of it is damaged."""
        node = zookeeper.get_synced(names.pointer(view.stream.id, number))
        if node is None:
            raise NotReadyError("the stream was dropped", view.stream.name)
        pointer = Pointer.load(node.data)
        manifest = storage.manifest(pointer) if pointer else Manifest(view.stream.id, number)
        part = KeyPart(config, zookeeper, exchange, storage, view, number, owner_version, node.version, pointer,
                       manifest, {}, History.of(points(storage, pointer, manifest)))
        part.take_queries(view)
        # Other files' results are read by readers alone; those of this one can still be made again (rule 25).
        for id_ in part.states.keys() & manifest.queries.keys():
            for result in manifest.queries[id_].results:
                if result.segment.path == pointer.manifest.path:
                    storage.read(result.segment)
        return part

    def take_queries(self, view: StreamView) -> None:
        """Follow the query set: a query with a new incarnation goes back to its committed state (rule 3), one that is
        gone or stopped is dropped from the working state; the others keep what they have merged."""
        self.view, self.received_at = view, -math.inf
        running = view.queries.running()
        states = {}
        for id_, query in running.items():
            held = self.states.get(id_)
            if held and held.query.incarnation == query.incarnation:
                held.follow(query)
                states[id_] = held
            else:
                committed = self.manifest.queries.get(id_)
                with computing(id_):
                    states[id_] = QueryState.resume(query, view.stream, committed, self._tables(query, committed))
        self.states = states
        self.trim.is_due = True  # entries may be done that no commit will pass: those of dead incarnations
        if has_gone([self.manifest, *(point.manifest for point in self.history.points())], view.queries.queries):
            # Its last files are too young to be deleted now, and no commit may follow that would do it.
            self.sweep_at = min(self.sweep_at, time.monotonic() + commit.KEEP_UNUSED_S + SWEEP_S)
        deferred, self.deferred = self.deferred, []
        for id_, piece in deferred:
            self._route(id_, piece)
        for id_, state in states.items():
            with computing(id_):
                state.retry_waiting()

    def _tables(self, query: Query, committed: QueryCommit | None) -> list[pa.Table]:
        """The cells of a query's committed state."""
        wanted = schema(query.plan, self.view.stream)
        try:
            return [decode(self.storage.read(s), wanted) for s in committed.state] if committed else []
        except InvariantError as error:
            raise error.of(query.id) from None

    def step(self, woken: bool = True) -> bool:
        """Close and commit what is due; if woken, or when nobody has looked for a while, receive and merge first. False
        if nothing was received."""
        if self.trim.may_tell():
            self._tell()
        if time.monotonic() >= self.sweep_at:
            self._sweep()
        received = woken or self.has_more or time.monotonic() - self.received_at > RECEIVE_S
        entries = self._receive() if received else []
        if entries:
            faults.point("reducer.received")
        for entry in entries:
            self._merge(entry)
        if entries:
            faults.point("reducer.merged")
        if received:
            self.pace.is_behind = self.has_more
            if self._stop_what_was_replaced():
                return True
            self._close()
        if self._commit_is_due():
            self.commit()
        return bool(entries)

    def _receive(self) -> list[Entry]:
        raw, entries = self.exchange.receive(self.view.stream.id, self.view.generation, self.number, self.after,
                                             RECEIVE_BYTES)
        self.received_at = time.monotonic()
        self.has_more = sum(entry.cells_bytes for entry in entries) > RECEIVE_BYTES // 2
        facts = Facts.parse(raw)
        if facts.done != self.facts.done:
            self.done_at = self.received_at
        self.facts = facts
        return entries

    def _merge(self, entry: Entry) -> None:
        """Hand each task's share of the entry to its query."""
        self.after = entry.seq
        self.trim.undone[entry.seq] = entry.header
        self.trim.is_due = self.trim.is_due or self._is_done(entry.header)
        for query, share in entry.shares.items():
            self._route(query, Piece(entry.seq, entry.header, share))

    def _route(self, query: str, piece: Piece) -> None:
        incarnation = piece.header.tasks[query]
        state = self.states.get(query)
        if state and state.query.incarnation == incarnation:
            with computing(query):
                state.accept(piece)
        elif incarnation >= self.view.queries.next_incarnation:
            self.deferred.append((query, piece))

    def _close(self) -> None:
        heard, asks = self.facts if time.monotonic() - self.done_at < FACTS_AGE_S else None, False
        for id_, state in self.states.items():
            passed = state.pass_check(self.view.queries.partitions, heard, self.facts)
            if passed is not None:
                with computing(id_):
                    state.close(passed)
            if state.needs_check(self.facts):
                asks = True
        if asks and self.asked != self.facts.begun:
            self.asked = self.facts.begun
            self.exchange.ask_for_check(self.view.stream.id)

    def _commit_is_due(self) -> bool:
        due_in_s = self.due_in_s()
        return due_in_s is not None and due_in_s <= 0

    def due_in_s(self) -> float | None:
        """After how long a commit is due, None if there is nothing to commit."""
        if not any(state.changed for state in self.states.values()):
            return None
        return self.pace.due_in_s(any(state.closed for state in self.states.values()))

    def commit(self) -> None:
        """Make everything merged so far the truth, then delete what it covers from the log (steps 9, rules 3, 14).

        Raises StaleGenerationError when the transaction was refused: somebody else has moved on, reload; CorruptFileError
        if the state of a query that rests does not read: fall back.
        """
        if not self.zookeeper.usable:
            return
        self.pace.begin()
        try:
            if self._stop_what_exceeds():
                return
            prepared = self._prepare()
        except UncomputableError as error:  # the others are committed once its query is stopped
            self._stop("QUARANTINED", {error.query: error.reason})
            return
        faults.point("reducer.files_written")
        last = Point(Earlier(self.pointer and self.pointer.manifest, self.manifest.commit), self.manifest)
        history = self.history.follow(last, prepared.manifest, self._held())
        pointer = pointer_to(prepared.segment, prepared.manifest, history)
        unused = self._unused_files(prepared, history)
        if not set_pointer(self.zookeeper, self.view, self.number, self.owner_version, self.pointer_version, pointer):
            raise StaleGenerationError("the commit was refused", f"stream {self.view.stream.name}, part {self.number}",
                                       "a generation, an assignment or the query set has changed")
        self.pointer_version += 1
        faults.point("reducer.committed")
        self.pointer, self.manifest, self.history = pointer, prepared.manifest, history
        commit.adopt(self.states, prepared)
        self._tell()
        self.pace.end()
        faults.point("reducer.trimmed")
        for path in unused:
            self.storage.delete(path)

    def _prepare(self) -> commit.Prepared:
        """Write the files of the next commit."""
        copied = self._write_anew()
        # The view may be older than the commit that was loaded. So a query that it lacks stays in the manifest until here,
        # and leaves it with the transaction that proves the view.
        last = replace(living(self.manifest, self.view.queries.queries), generation=self.view.generation)
        try:
            return commit.prepare(self.storage, last, self.states, self.config.result_retention_days * 86_400_000, copied)
        except STATE_AWAY:
            # No room: there may be some in files that nothing needs any more, and only a commit would delete them.
            self.sweep_at = min(self.sweep_at, self.swept_at + SWEEP_S)
            raise

    def _held(self) -> list[str]:
        """The queries that can still go on, those that rest among them, whose state only lies here."""
        return [id_ for id_, query in self.view.queries.queries.items() if query.state != STATE_LOST]

    def _write_anew(self) -> list[str]:
        """Mark the running queries whose state stands still; the resting ones are returned."""
        still = self.history.standing_still(self.manifest, self._held())
        for id_ in self.states.keys() & set(still):
            self.states[id_].mark_for_rewrite()
        return [id_ for id_ in still if id_ not in self.states]

    def _stop_what_was_replaced(self) -> bool:
        """Stop queries that have counted what the log has lost, before that is committed if it is known by then. True if
        there is one: the others go on once the query set without it is known here."""
        return self._stop("LOG_TRUNCATED", self.logs.replaced(self.states, self.facts) if self.zookeeper.usable else {})

    def _stop_what_exceeds(self) -> bool:
        """Stop queries that hold more than they may. True if there is one: the others are committed once the query set
        without it is known here."""
        reasons = {}
        for id_, state in self.states.items():
            if not state.changed:
                continue
            with computing(id_):
                verdict = self.limits.judge(state, self.number)
            if verdict.exceeded:
                reasons[id_] = verdict.exceeded
            elif verdict.fits_only_merged:
                state.mark_for_rewrite()
        return self._stop("LIMIT_EXCEEDED", reasons)

    def _stop(self, state: str, reasons: dict[str, str]) -> bool:
        """Stop each query of which there is a reason. True if there is one."""
        for id_, reason in reasons.items():
            log.error("query %s stops: %s", self.states[id_].query.name, reason)
            stop_queries(self.zookeeper, self.view.stream, [id_], state, reason)
        return bool(reasons)

    def _unused_files(self, prepared: commit.Prepared, history: History) -> list[str]:
        """Now and then: files that neither the commit under way, nor a fall-back, nor a late reader needs. They are listed
        before the commit and deleted after it, so that whoever lost the key part meanwhile deletes nothing of its
        successor's."""
        if time.monotonic() - self.swept_at < SWEEP_S:
            return []
        self.swept_at = time.monotonic()
        return commit.unused_files(self.storage, prepared, living_points(history.points(), self.view.queries.queries))

    def _sweep(self) -> None:
        """Delete what a commit would delete, without one; tried again later if it cannot be done now."""
        if not self.zookeeper.usable:
            return
        self.swept_at = time.monotonic()
        self.sweep_at = self.swept_at + SWEEP_S
        if self.pointer is None or sweep(self.storage, self.zookeeper, self.view, self.owner_version, self.pointer_version,
                                         self.pointer, self.manifest, self.history.points()):
            self.sweep_at = math.inf

    def _tell(self) -> None:
        """Tell Redis what is committed, and delete the entries that it passes."""
        positions = {(p, id_): offset for id_, state in self.states.items()
                     for p, offset in {**state.query.start, **self._committed(id_)}.items()}
        self.trim.tell(self.view, positions, self._is_done)

    def _committed(self, query: str) -> dict[int, int]:
        committed = self.manifest.queries.get(query)
        return committed.positions if committed else {}

    def _is_done(self, header: Header) -> bool:
        """Is each live task of the entry committed? A task of an incarnation not known yet is live."""
        for query, incarnation in header.tasks.items():
            if incarnation >= self.view.queries.next_incarnation:
                return False
            state = self.states.get(query)
            live = state is not None and state.query.incarnation == incarnation
            if live and self._committed(query).get(header.partition, -1) < header.end:
                return False
        return True
