"""A query as of the last commits, read from pointers and manifests alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from operator import is_

from mars.adapters.changes import GLANCE_S, answering
from mars.adapters.storage import RESTORE, CorruptFileError, Storage
from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import Znode, ZooKeeper
from mars.algebra import windows
from mars.errors import NotFoundError, NotReadyError
from mars.model import names
from mars.model.commits import COUNTERS, Manifest, Pointer, QueryCommit
from mars.model.identifiers import identifier
from mars.model.plan import Stream
from mars.model.registry import PAUSED, RUNNING, Query, QuerySet
from mars.runtime.system import SYSTEM, Runtime

FRESH_S = 0.05  # between looks of who waits for a commit
TRIES = 30  # looks at all pointers, until none has moved between two of them
COMMIT_WAIT_S = 10.0  # commits follow each other within a second where there is anything to commit


@dataclass(frozen=True)
class Snapshot:
    """One query in every key part of its stream; a part is None before its first commit that knows the query."""

    stream: Stream
    query: Query
    parts: tuple[QueryCommit | None, ...]

    @property
    def vector(self) -> tuple[int, ...]:
        """The commit number in each key part (rule 24)."""
        return tuple(part.commits if part else 0 for part in self.parts)

    @property
    def commit(self) -> int:
        """The query's commit number: the sum over key parts."""
        return sum(self.vector)

    @property
    def watermark(self) -> int | None:
        """The watermark that every key part has published, in the stream's unit; windows before it are visible. It never
        goes back: while a key part computes lost rows again, this is still the watermark that readers knew."""
        marks = [(part.watermark if part.published is None else part.published) if part else None for part in self.parts]
        return least(marks)

    @property
    def watermark_us(self) -> int | None:
        """The same in microseconds: the bound that page cursors carry."""
        return None if self.watermark is None else self.stream.micros(self.watermark)

    @property
    def delay_us(self) -> int:
        """How far beyond its end the watermark closes a window."""
        return windows.of(self.query.plan.aggregation, self.stream).delay_us

    @property
    def is_whole(self) -> bool:
        """Does each key part have the rows of all windows that were visible? Not while it computes lost rows again (rule
        25)."""
        return all(part.published is None for part in self.committed())

    def positions(self) -> dict[int, int]:
        """Per partition, the offset up to which every key part has merged."""
        partitions = set(self.query.start).union(*(part.positions for part in self.parts if part))
        return {p: min(self._position(part, p) for part in self.parts) for p in sorted(partitions)}

    def max_event_times(self) -> dict[int, int | None]:
        """Per partition, the greatest event time that every key part has passed; None if one of them has seen none."""
        return {p: self._max_event_time(p) for p in self.positions()}

    def counters(self) -> dict[str, int]:
        """The query's counters, each tuple once."""
        return {name: sum(part.counters.get(name, 0) for part in self.committed()) for name in COUNTERS}

    def bad_reasons(self) -> dict[str, int]:
        """How many tuples were bad for which reason."""
        reasons: dict[str, int] = {}
        for part in self.committed():
            for reason, count in part.bad_reasons.items():
                reasons[reason] = reasons.get(reason, 0) + count
        return reasons

    def committed(self) -> Iterator[QueryCommit]:
        """The key parts that have a commit of this query."""
        return (part for part in self.parts if part is not None)

    def _position(self, part: QueryCommit | None, partition: int) -> int:
        start = self.query.start.get(partition, 0)
        return part.positions.get(partition, start) if part else start

    def _max_event_time(self, partition: int) -> int | None:
        times = [part.max_event_time.get(partition) if part else None for part in self.parts]
        return least(times)


@dataclass(frozen=True, eq=False)
class Same:
    """The key parts of a snapshot, to be found again: equal only to those very objects, which it keeps alive. A reader has
    one object for each commit."""

    parts: tuple[QueryCommit | None, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and len(self.parts) == len(other.parts) and all(map(is_, self.parts, other.parts))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.parts)))


def least(numbers: list[int | None]) -> int | None:
    """The least of the numbers; None if one of them is not known."""
    known = [number for number in numbers if number is not None]
    return min(known) if len(known) == len(numbers) else None


@dataclass
class _Known:
    """A key part's manifest, and the pointer that named it."""

    data: bytes
    manifest: Manifest | None


@dataclass
class SnapshotReader:
    """Reads snapshots; may be used from several threads. A pointer is read again when ZooKeeper reports that it has
    moved."""

    zk: ZooKeeper
    storage: Storage
    runtime: Runtime = SYSTEM
    cache: ViewCache = field(init=False)
    _known: dict[tuple[int, int], _Known] = field(default_factory=dict)
    _whole: dict[int, tuple[int, list[Manifest | None]]] = field(default_factory=dict)  # the last ones, by stream
    _lock: AbstractContextManager = field(init=False)
    _listeners: set[Callable[[], None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.cache, self._lock = ViewCache(self.zk, self._tell, self.runtime), self.runtime.lock()

    @contextmanager
    def told(self, wake: Callable[[], None]) -> Iterator[None]:
        """`wake` is called, from another thread, whenever something that was read here may have changed: a pointer that
        moves is reported once, and again only after it has been read again."""
        self._listeners.add(wake)
        try:
            yield
        finally:
            self._listeners.discard(wake)

    def _tell(self) -> None:
        for wake in tuple(self._listeners):
            wake()

    def read(self, stream: Stream, query: Query, min_commit: int = 0) -> Snapshot:
        """The query as of a commit number of at least `min_commit`; NotReadyError if that does not come within
        COMMIT_WAIT_S. CorruptFileError, with what becomes of the query, if a key part's last commit cannot be read and no
        earlier one is known."""
        try:
            snapshot = self._read(stream, query)
        except CorruptFileError as error:
            raise _unreadable(query, error) from error
        deadline_s = self.runtime.clock.monotonic_s() + COMMIT_WAIT_S
        if snapshot.commit < min_commit:
            self.sync(stream)
        while snapshot.commit < min_commit:
            if self.runtime.clock.monotonic_s() > deadline_s:
                raise NotReadyError("the commit has not come yet", f"{query.name} is at commit {snapshot.commit}, "
                                    f"not at {min_commit}", "ask again, or without min_commit")
            self.runtime.clock.sleep(FRESH_S)
            snapshot = self._read(stream, query)
        return snapshot

    def sync(self, stream: Stream) -> None:
        """Make the next reads see all commits of the stream that were made before this call."""
        answering(self.zk, lambda: self.zk.client.sync(names.stream(stream.id)), GLANCE_S)
        self.cache.forget()

    def read_whole(self, stream: Stream, query: Query, min_commit: int = 0) -> Snapshot:
        """Like `read`, for readers of rows. NotReadyError if windows that were visible are not complete again within
        COMMIT_WAIT_S: no reader is shown less than before."""
        deadline_s = self.runtime.clock.monotonic_s() + COMMIT_WAIT_S
        while not (snapshot := self.read(stream, query, min_commit)).is_whole:
            if self.runtime.clock.monotonic_s() > deadline_s:
                raise NotReadyError("closed windows are computed again", f"a file with results of {query.name} was damaged: "
                                    f"{query.reason}", "ask again; GET /v1/queries/{name} shows the lag")
            self.runtime.clock.sleep(FRESH_S)
        return snapshot

    def _read(self, stream: Stream, query: Query) -> Snapshot:
        """All key parts as they were at one moment: reads until none has moved meanwhile. So of two snapshots one is
        later in every key part, and a commit number has the same vector for every reader. If a commit cannot be read, its
        owner will fall back (rule 25); until then, all key parts are shown as they were last. NotFoundError if a commit
        no longer has the query because it was dropped."""
        try:
            manifests = self._of_one_moment(stream)
        except CorruptFileError:
            if stream.id not in self._whole:
                raise
            manifests = self._whole[stream.id][1]
        parts = tuple(m.queries.get(query.id) if m else None for m in manifests)
        if any(m and part is None for m, part in zip(manifests, parts, strict=True)) and self._is_dropped(stream, query):
            raise NotFoundError("unknown query", f"{query.name} was dropped meanwhile", "`SHOW QUERIES` lists them all")
        return Snapshot(stream, query, parts)

    def _is_dropped(self, stream: Stream, query: Query) -> bool:
        """Is the query no longer in the query set? A session of ZooKeeper sees that as new as the pointers that it has read.
        One that has no commit yet is there, and one whose state is lost."""
        node = answering(self.zk, lambda: self.zk.get(names.queries(stream.id)), GLANCE_S)
        return node is None or query.id not in QuerySet.load(node.data).queries

    def _of_one_moment(self, stream: Stream) -> list[Manifest | None]:
        """The manifests of all key parts, of which none has moved while they were read; if they move faster than they can
        be read, the last such ones."""
        manifests = self._manifests(stream)
        for _ in range(TRIES):
            again, manifests = manifests, self._manifests(stream)
            if all(map(is_, again, manifests)):
                self._keep_whole(stream.id, manifests)
                return manifests
        if stream.id not in self._whole:
            raise NotReadyError("commits come faster than they can be read", f"those of {stream.name}", "ask again")
        return self._whole[stream.id][1]

    def _keep_whole(self, stream_id: int, manifests: list[Manifest | None]) -> None:
        commits = sum(manifest.commit for manifest in manifests if manifest)
        with self._lock:
            if commits >= self._whole.get(stream_id, (0, []))[0]:  # a slower thread may bring an earlier moment
                self._whole[stream_id] = commits, manifests

    def _manifests(self, stream: Stream) -> list[Manifest | None]:
        """Each key part's last commit, as of the last notice of a change; None before the first."""
        paths = [names.pointer(stream.id, part) for part in range(stream.key_parts)]
        znodes = answering(self.zk, lambda: self.cache.get_all(paths), GLANCE_S)
        return [self._manifest(stream.id, part, _data(znode)) for part, znode in enumerate(znodes)]

    def _manifest(self, stream_id: int, part: int, data: bytes) -> Manifest | None:
        key = (stream_id, part)
        with self._lock:
            known = self._known.get(key)
        if known is None or known.data != data:
            known = _Known(data, self._load(stream_id, part, data))
            with self._lock:
                self._known[key] = known
        return known.manifest

    def _pointer(self, stream_id: int, part: int) -> bytes:
        [znode] = answering(self.zk, lambda: self.cache.get_all([names.pointer(stream_id, part)]), GLANCE_S)
        return _data(znode)

    def _load(self, stream_id: int, part: int, data: bytes) -> Manifest | None:
        pointer = Pointer.load(data)
        if pointer is None:
            return None
        try:
            return self.storage.manifest(pointer)
        except CorruptFileError:
            # The reducer deletes old manifests, so a newer pointer may have come between the two reads.
            self.cache.forget()
            newer = Pointer.load(self._pointer(stream_id, part))
            if newer is None or newer == pointer:
                raise
            return self.storage.manifest(newer)


def _unreadable(query: Query, error: CorruptFileError) -> CorruptFileError:
    """The same error, with what becomes of this query: it may recover by itself, or not."""
    name = identifier(query.name)
    hint = f"{RESTORE} and RESUME QUERY {name}; or DROP QUERY {name} and CREATE it FROM EARLIEST"
    if query.state in (RUNNING, PAUSED):
        hint = f"ask again: the next commit repairs it, or a fall-back to an earlier commit. If neither comes, {RESTORE}"
    return CorruptFileError(error.title, f"{error.detail}; {query.name} is {query.state}", hint)


def _data(pointer: Znode | None) -> bytes:
    return pointer.data if pointer else b""
