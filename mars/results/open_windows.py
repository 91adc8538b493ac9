"""The merged cells of open windows, kept from one read to the next, so that a read costs only what was committed since
the last."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from mars.adapters.storage import RESTORE, CorruptFileError, Storage
from mars.algebra import cells
from mars.errors import Remedy
from mars.model.commits import QueryCommit, Segment
from mars.results.schema import schema_of
from mars.results.snapshot import Same, Snapshot
from mars.runtime.byte_lru import ByteLru
from mars.runtime.shared import Shared
from mars.runtime.system import SYSTEM, Runtime

KEPT_BYTES = 256 * 1024 * 1024  # of the server's memory, as of each of its caches


class OpenFileError(CorruptFileError):
    """A file with the state of open windows is damaged or missing. As a rule this passes by itself."""

    remedy = Remedy.RETRY

    def __init__(self, damage: CorruptFileError) -> None:
        super().__init__("the open windows cannot be read", damage.detail,
                         "ask again, or for closed windows alone: the key part falls back to an earlier commit and reads "
                         f"again, or closes these windows. If neither comes, {RESTORE}")


@dataclass(frozen=True)
class _Open:
    """What was merged from a key part's commit: how many commits had changed the query, its state segments, its
    watermark, when it last fell back, the open cells and their rows. Readers of changes make rows of few cells, so there are
    none of theirs."""

    commits: int
    segments: tuple[Segment, ...]
    watermark: int | None
    fell_at: int
    cells: pa.Table
    rows: pa.Table | None


def _bytes(one: _Open) -> int:
    return one.cells.nbytes + (0 if one.rows is None else one.rows.nbytes) + 1


class OpenWindows:
    """Reads the open windows of key parts and keeps the newest ones, up to KEPT_BYTES. Thread-safe.

    A reader may come with an older commit than an earlier reader had. It continues only from what is older than its own
    commit, and its result never replaces a newer one."""

    def __init__(self, storage: Storage, runtime: Runtime = SYSTEM, kept_bytes: int = KEPT_BYTES) -> None:
        self.storage = storage
        self._held: ByteLru[tuple[str, int], _Open] = ByteLru(kept_bytes, _bytes)
        self._reads: Shared[tuple, _Open] = Shared(0, _bytes, runtime)  # of a commit that several readers meet at once
        self._lock = runtime.lock()

    def rows(self, snapshot: Snapshot, number: int, part: QueryCommit) -> pa.Table:
        """The rows that the open windows of key part `number` would give if they closed now, in no order. OpenFileError
        if a file with their state cannot be read."""
        held = self._of(snapshot, number, part)
        return _rows(snapshot, held.cells, held.watermark) if held.rows is None else held.rows

    def cells(self, snapshot: Snapshot, number: int, part: QueryCommit) -> pa.Table:
        """The cells of these windows, with their stamps."""
        held = self._of(snapshot, number, part)
        return cells.of_windows(snapshot.query.plan.aggregation, snapshot.stream, held.cells, before=part.watermark)

    def _of(self, snapshot: Snapshot, number: int, part: QueryCommit) -> _Open:
        key, segments = (snapshot.query.shown_id, number), tuple(part.state)
        with self._lock:
            held = self._held.get(key)
        if held is not None and (held.fell_at != part.fell_at or held.commits > part.commits):
            held = None
        if held is None or (held.segments, held.watermark) != (segments, part.watermark):
            older = held

            def read() -> _Open:
                found = self._read(snapshot, older, segments, part)
                self._keep(key, found)
                return found

            held = self._reads.get((key, Same((part,))), read)
        return held

    def _read(self, snapshot: Snapshot, held: _Open | None, segments: tuple[Segment, ...], part: QueryCommit) -> _Open:
        """A commit leaves out a segment when all its windows have closed, or leaves out all for a new base (commits.py).
        So if one of the merged segments is still named, the merged cells hold everything that is still open of the
        others. Only a fall-back leaves out segments that are merged again; then `held` is None."""
        stream, plan, watermark = snapshot.stream, snapshot.query.plan, part.watermark
        known: set[Segment] = set()
        tables: list[pa.Table] = []
        if held is not None and _not_before(watermark, held.watermark) and set(held.segments) & set(segments):
            known, tables = set(held.segments), [held.cells]
        schema = cells.schema(plan.aggregation, stream)
        try:
            tables += [cells.decode(self.storage.read(segment), schema) for segment in segments if segment not in known]
        except CorruptFileError as damage:
            raise OpenFileError(damage) from damage
        merged = cells.merge(plan.aggregation, stream, tables)
        if watermark is not None:
            [merged] = cells.unclosed(plan.aggregation, stream, [merged], watermark)
        rows = None if plan.presentation.emission == "CHANGES" else _rows(snapshot, merged, watermark)
        return _Open(part.commits, segments, watermark, part.fell_at, merged, rows)

    def _keep(self, key: tuple[str, int], found: _Open) -> None:
        with self._lock:
            newer = self._held.peek(key)
            if newer is None or newer.commits <= found.commits:
                self._held.put(key, found)


def _rows(snapshot: Snapshot, merged: pa.Table, watermark: int | None) -> pa.Table:
    stream, plan = snapshot.stream, snapshot.query.plan
    found = cells.of_windows(plan.aggregation, stream, merged, before=watermark)
    return cells.finish(plan, stream, found, ordered=False).cast(schema_of(plan))


def _not_before(watermark: int | None, other: int | None) -> bool:
    return other is None or (watermark is not None and watermark >= other)
