"""Closed rows as Arrow tables: finds the segments that matter, and reads each once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from mars import computing
from mars.adapters.storage import Storage
from mars.algebra import cells, cells_stamps
from mars.errors import ConflictError
from mars.model.commits import QueryCommit, ResultSegment, Segment, gone_us, load_index
from mars.model.plan import QueryPlan, Stream
from mars.results import ranked
from mars.results.open_windows import OpenWindows
from mars.results.pieces import Piece, instant
from mars.results.schema import schema_of
from mars.results.snapshot import Snapshot
from mars.runtime.byte_lru import ByteLru
from mars.runtime.system import SYSTEM, Runtime

CACHE_BYTES = 256 * 1024 * 1024  # of the server's memory, as of each of its caches
INDEXES = 64


class ResultTables:
    """Reads result segments and keeps the last ones used, up to CACHE_BYTES; `open` does so for open cells. Thread-safe."""

    def __init__(self, storage: Storage, runtime: Runtime = SYSTEM) -> None:
        self.storage = storage
        self.open = OpenWindows(storage, runtime)
        self._tables: ByteLru[tuple[Segment, bytes], pa.Table] = ByteLru(CACHE_BYTES, lambda table: table.nbytes)
        self._indexes: OrderedDict[Segment, list[ResultSegment]] = OrderedDict()
        self._lock = runtime.lock()

    def rows(self, result: ResultSegment, plan: QueryPlan, stream: Stream) -> pa.Table:
        """The rows of a result segment, as the plan shows them. ConflictError if they cannot be made of cells, or if this
        Mars must not make them."""
        if not result.rows:
            return schema_of(plan).empty_table()
        key = result.segment, plan.text if result.are_cells else b""
        with self._lock:
            held = self._tables.get(key)
        if held is not None:
            return held
        data, schema = self.storage.read(result.segment), schema_of(plan)
        rows = _finished(data, plan, stream) if result.are_cells else pa.ipc.open_stream(data).read_all()
        table = pa.Table.from_arrays(rows.columns, names=schema.names).cast(schema)
        with self._lock:
            self._tables.put(key, table)
        return table

    def cells(self, result: ResultSegment, plan: QueryPlan, stream: Stream) -> pa.Table:
        """The cells of a result segment that has them. ConflictError if this Mars must not make rows of them."""
        key = result.segment, b"cells"
        with self._lock:
            held = self._tables.get(key)
        if held is None:
            held = _cells(self.storage.read(result.segment), plan, stream)
            with self._lock:
                self._tables.put(key, held)
        return held

    def segments(self, part: QueryCommit) -> list[ResultSegment]:
        """All result segments of a query in a key part, oldest first; an index is read once while it stays the same."""
        index = part.results_index
        if index is None:
            return part.results
        with self._lock:
            older = self._indexes.get(index)
        if older is None:
            older = load_index(self.storage.read(index))
            with self._lock:
                self._indexes[index] = older
                while len(self._indexes) > INDEXES:
                    self._indexes.popitem(last=False)
        return older + part.results

    def gone_us(self, snapshot: Snapshot) -> int | None:
        """Windows that end at or before this time have lost rows to the retention, in some key part; None if none has."""
        return _greatest(gone_us(self.segments(part)) for part in snapshot.committed())

    def closed(self, snapshot: Snapshot, bound_us: int, above_us: int | None = None,
               first_us: int | None = None, last_us: int | None = None, as_of: Sequence[int] | None = None) -> list[Piece]:
        """The pieces that may hold windows closed by the watermark `bound_us` and not yet by `above_us`, with first_us <=
        window_start <= last_us. Their `load` leaves out windows that are not in (above, bound], and windows that have
        lost rows. Each key part deletes its own rows, but a window is given out whole or not at all. Of rows with revisions
        they have the newest one of these commits, `as_of`, or of the snapshot's."""
        delay, gone = snapshot.delay_us, self.gone_us(snapshot)
        above_us = _greatest([above_us, None if gone is None else gone + delay])
        pieces = []
        is_revised = snapshot.query.plan.aggregation.late == "UPDATE"
        for number, part in enumerate(snapshot.parts):
            for result in self.segments(part) if part else ():
                if above_us is not None and result.last_end_us + delay <= above_us:
                    continue
                if (first_us is not None and result.last_start_us < first_us) \
                        or (last_us is not None and result.first_start_us > last_us) or result.rows == 0:
                    continue
                whole = (above_us is None or above_us < result.ends_from_us + delay) \
                    and result.last_end_us + delay <= bound_us
                span = None if whole else (above_us, bound_us, delay)
                load = self._loader(result, snapshot, span)
                if part and is_revised:
                    commit = part.commits if as_of is None else as_of[number]
                    load = self._newest_loader(result, part, snapshot, span, commit)
                pieces.append(Piece(result.first_start_us, result.last_start_us, result.ends_from_us, result.last_end_us,
                                    result.rows, load))
        return ranked.of_pieces(snapshot.query.plan, pieces)

    def _loader(self, result: ResultSegment, snapshot: Snapshot, span: tuple | None) -> Callable[[], pa.Table]:
        def load() -> pa.Table:
            table = self.rows(result, snapshot.query.plan, snapshot.stream)
            return table if span is None else closed_within(table, *span)

        return load

    def _newest_loader(self, result: ResultSegment, part: QueryCommit, snapshot: Snapshot, span: tuple | None, commit: int
                       ) -> Callable[[], pa.Table]:
        """Of the rows of a segment those that no later revision replaces, as of a commit of the key part."""
        def load() -> pa.Table:
            plan, stream = snapshot.query.plan, snapshot.stream
            segments = self.segments(part)
            later = [one for one in segments[segments.index(result) + 1:]
                     if one.rows and one.ends_from_us <= result.last_end_us and one.first_change <= commit]
            found = [_as_of(plan, self.cells(one, plan, stream), commit) for one in (result, *later)]
            newest, rows = cells_stamps.newest(plan.aggregation, stream, found)
            own = newest.filter(pa.array(rows < len(found[0])))
            table = cells.finish(plan, stream, own, ordered=False).cast(schema_of(plan))
            return table if span is None else closed_within(table, *span)

        return load


def _as_of(plan: QueryPlan, table: pa.Table, commit: int) -> pa.Table:
    chosen = cells_stamps.stamps_of(plan.aggregation, table, "changed") <= commit
    return table if chosen.all() else table.filter(pa.array(chosen))


def _cells(data: bytes, plan: QueryPlan, stream: Stream) -> pa.Table:
    if reason := computing.refusal(plan, stream):
        raise ConflictError("this Mars must not compute the query's rows", reason)
    return cells.decode(data, cells.schema(plan.aggregation, stream))


def _finished(data: bytes, plan: QueryPlan, stream: Stream) -> pa.Table:
    closed = _cells(data, plan, stream)
    try:
        return cells.finish(plan, stream, closed, ordered=False)
    except Exception as error:
        raise ConflictError("the rows of closed windows cannot be computed", f"{type(error).__name__}: {error}",
                            "ask for other windows, or ALTER QUERY to columns that can be computed") from error


def _greatest(numbers: Iterable[int | None]) -> int | None:
    return max((number for number in numbers if number is not None), default=None)


def closed_within(table: pa.Table, above_us: int | None, bound_us: int | None, delay_us: int) -> pa.Table:
    """The rows whose window closes at a watermark in (above_us, bound_us]; None leaves that side open."""
    closes = pc.add(table["window_end"].cast(pa.int64()), instant(delay_us))
    if bound_us is not None:
        keep = pc.less_equal(closes, instant(bound_us))
        table, closes = table.filter(keep), closes.filter(keep)
    return table if above_us is None else table.filter(pc.greater(closes, instant(above_us)))
