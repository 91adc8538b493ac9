"""What a reducer's commit says: the truth of one key part (design: window state, positions, results, one pointer).

A commit is a manifest plus the segments that it names; a ZooKeeper pointer makes it the truth. Reading a manifest needs only
the storage. All times are in the stream's unit unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import orjson
from pydantic import BeforeValidator, Field, TypeAdapter

TRACK = ("positions", "max_event_time", "leader_epochs")  # how far a query has read
COUNTERS = ("tuples", "bad", "late", "future", "filtered", "duplicates_skipped")


@dataclass(frozen=True)
class Segment:
    """Bytes [start, start + length) of a file under the state URI, with their CRC-32C."""

    path: str
    start: int
    length: int
    crc: int


@dataclass(frozen=True)
class ResultSegment:
    """Closed windows of one query: how many rows they are at most, the least and greatest window_start in it, the greatest
    window_end, when it was committed, and the least window_end (None if an earlier version wrote it). It holds their cells
    (mars/algebra/cells_wire.py) if `are_cells`, else their rows (an Arrow IPC stream of mars.algebra.cells.finish's table).
    The first one of an index may have no rows: then it describes the segments that the retention has deleted."""

    segment: Segment
    rows: int
    first_start_us: int
    last_start_us: int
    last_end_us: int
    committed_ms: int
    first_end_us: int | None = None
    are_cells: bool = False

    @property
    def ends_from_us(self) -> int:
        """No window in it ends before this."""
        return self.first_start_us if self.first_end_us is None else self.first_end_us

    @property
    def first_change(self) -> int:
        """The first of the query's commits that its cells are of, where rows change; 0 where they do not."""
        return 0

    @property
    def last_change(self) -> int:
        """The last one of them."""
        return 0


@dataclass(frozen=True)
class ChangingResults(ResultSegment):
    """Closed windows of a query whose rows change: of the first and the last of these commits."""

    changes: tuple[int, int] = field(kw_only=True)

    @property
    def first_change(self) -> int:
        return self.changes[0]

    @property
    def last_change(self) -> int:
        return self.changes[1]


Results = Annotated[ChangingResults | ResultSegment, Field(union_mode="left_to_right")]


def _with_offsets(epochs: dict) -> dict:
    """Leaves out epochs from before version 0.1.0: they were kept without their offset and are of no use."""
    return {partition: pairs for partition, pairs in epochs.items() if isinstance(pairs, list)}


@dataclass
class QueryCommit:
    """One query in one key part as of a commit.

    positions:      partition -> offset up to which everything is merged (exclusive)
    max_event_time: partition -> greatest min(event time, time of the record) up to the position
    leader_epochs:  partition -> [[leader epoch, offset], ...], ascending: up to each offset, the records were of the log
                    of that epoch (see mars.model.log_epochs)
    watermark:      the published watermark; windows with end + grace at or below it are closed; never goes back
    state:          segments of cells (a base, then deltas); their rows of closed windows no longer count. A commit leaves
                    out segments whose windows have all closed, or replaces all segments by one new base
    results:        recent result segments; `results_index` names a segment with the JSON list of the older ones
    commits:        how many commits changed this query here
    published:      after a fall-back (rule 25), the watermark that readers knew: windows are computed again up to it.
                    Otherwise None
    fell_at:        the commit number of the key part at which it last fell back; 0 if it never did
    late:           of LATE TO: segments that say which tuples came late (mars/algebra/cells_late.py), in the form of
                    `results`, and `late_index` as `results_index`
    revised_from:   of LATE UPDATE, after a fall-back: revisions of windows that were closed at `revised_until`, the
                    watermark that readers knew, have this number or a greater one, which nobody has seen
    """

    incarnation: int
    positions: dict[int, int] = field(default_factory=dict)
    max_event_time: dict[int, int] = field(default_factory=dict)
    leader_epochs: Annotated[dict[int, list[tuple[int, int]]], BeforeValidator(_with_offsets)] = field(default_factory=dict)
    watermark: int | None = None
    counters: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    bad_reasons: dict[str, int] = field(default_factory=dict)
    state: list[Segment] = field(default_factory=list)
    results: list[Results] = field(default_factory=list)
    results_index: Segment | None = None
    commits: int = 0
    published: int | None = None
    fell_at: int = 0
    revised_from: int = 0
    revised_until: int | None = None
    late: list[Results] = field(default_factory=list)
    late_index: Segment | None = None

    @property
    def of_late(self) -> QueryCommit:
        """What is kept of late tuples, in the form of a commit's results."""
        return QueryCommit(self.incarnation, results=self.late, results_index=self.late_index)

    def copy(self) -> QueryCommit:
        """An independent copy. It shares the segments, which never change."""
        return QueryCommit(**{
            **self.__dict__, "positions": dict(self.positions), "max_event_time": dict(self.max_event_time),
            "leader_epochs": {p: list(pairs) for p, pairs in self.leader_epochs.items()},
            "counters": dict(self.counters), "bad_reasons": dict(self.bad_reasons), "state": list(self.state),
            "results": list(self.results), "late": list(self.late)})


@dataclass
class Manifest:
    """Commit `commit` of a key part, made at `generation`."""

    stream_id: int
    key_part: int
    commit: int = 0
    generation: int = 0
    queries: dict[str, QueryCommit] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Where the key part's files lie, under the state URI."""
        return f"{self.stream_id}/{self.key_part}"

    def dump(self) -> bytes:
        """The manifest as it is written. How far queries have read takes most of it, and queries that read together have
        read equally far. So `tracks` has each track once, and a query names its own by number."""
        tracks: dict[bytes, int] = {}
        queries = {}
        for id_, query in self.queries.items():
            entry = dict(query.__dict__)
            if query.revised_until is None:  # as almost always
                del entry["revised_from"], entry["revised_until"]
            if not (query.late or query.late_index):
                del entry["late"], entry["late_index"]
            track = _dump({name: entry.pop(name) for name in TRACK})
            queries[id_] = {**entry, "track": tracks.setdefault(track, len(tracks))}
        return _dump({**self.__dict__, "queries": queries, "tracks": [orjson.Fragment(track) for track in tracks]})

    @staticmethod
    def load(data: bytes) -> Manifest:
        """The manifest from its data; also from that of version 0.1.0, in which each query has its whole track."""
        raw = orjson.loads(data)
        tracks = raw.get("tracks")
        queries = {id_: _QUERY_COMMIT.validate_python({**query, **tracks[query["track"]]} if tracks else query)
                   for id_, query in raw["queries"].items()}
        return Manifest(raw["stream_id"], raw["key_part"], raw["commit"], raw["generation"], queries)


@dataclass(frozen=True)
class Earlier:
    """A commit before the last one, to which its key part can fall back; `manifest` is None for the one before the first."""

    manifest: Segment | None
    commit: int


@dataclass(frozen=True)
class Pointer:
    """A key part's znode: which manifest is the truth, and its commit number for readers that only compare.

    Two fields are for a damaged file (rule 25): `earlier`, commits whose files are kept, the last one first; and
    `published`, the watermark of each query of the manifest."""

    manifest: Segment
    commit: int
    earlier: tuple[Earlier, ...] = ()
    published: dict[str, int | None] = field(default_factory=dict)

    def dump(self) -> bytes:
        """The znode's data."""
        return _dump(self)

    @staticmethod
    def load(data: bytes) -> Pointer | None:
        """The pointer of a znode's data; None before the first commit."""
        return _POINTER.validate_json(data) if data else None


_QUERY_COMMIT, _POINTER, _INDEX = TypeAdapter(QueryCommit), TypeAdapter(Pointer), TypeAdapter(list[Results])


def gone_us(results: list[ResultSegment]) -> int | None:
    """The window_end up to which windows have lost rows to the retention; None if none has. Takes all result segments of a
    query in a key part, the oldest first."""
    return results[0].last_end_us if results and not results[0].rows else None


def dump_index(results: list[ResultSegment]) -> bytes:
    """The content of a results index segment."""
    return _dump(results)


def load_index(data: bytes) -> list[ResultSegment]:
    """The result segments of an index segment's content."""
    return _INDEX.validate_json(data)


def _dump(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS)
