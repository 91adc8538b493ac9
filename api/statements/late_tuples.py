"""Late tuples of queries with LATE TO name, as people select them: read again from Kafka, by what commits say of them.

A commit keeps which groups of which ranges came too late (mars/algebra/cells_late.py), and not the tuples themselves.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from api.statements import adhoc_job
from api.statements.context import Context
from mars.algebra import cells_late, windows
from mars.algebra.cells_finish import instants
from mars.algebra.cells_wire import decode
from mars.algebra.evaluate import evaluate
from mars.algebra.evaluation.arrays import plain, single
from mars.model import types
from mars.model.commits import Segment
from mars.model.free_names import FreeNames
from mars.model.plan import Stream
from mars.results.embedded.scan import Closed
from mars.results.pieces import Piece
from mars.results.snapshot import Snapshot

COLUMNS = (("window_start", "TIMESTAMP"), ("window_end", "TIMESTAMP"), ("windows", "BIGINT"), ("partition", "INT"),
           ("offset", "BIGINT"), ("line", "INT"))
HELD_EACH = 2  # segments of a key part are held: the next ranges are in them too


def schema(stream: Stream) -> pa.Schema:
    """The columns of late tuples: the windows that they missed (the first start, the last end, and how many), their places,
    and their own columns."""
    names = FreeNames(name for name, _ in COLUMNS)
    own = [(names.take(column.name), column.type) for column in stream.columns]
    return pa.schema([(name, types.to_arrow(type_)) for name, type_ in (*COLUMNS, *own)])


@dataclass(frozen=True)
class Cells:
    """Late cells that are all of one range, of one key part: their place in a segment, and the windows that they missed, in
    microseconds: the least and the greatest start, and end."""

    segment: Segment
    first: int
    length: int
    spans: tuple[int, int, int, int]


@dataclass
class LateTuples:
    """Those of one query, as of one moment; close it. `gone` counts those that Kafka had no more when they were read."""

    context: Context
    snapshot: Snapshot
    is_stopped: Callable[[], bool]
    gone: int = 0
    _reader: adhoc_job.RangeReader | None = None
    _held: OrderedDict[Segment, pa.Table] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def of(context: Context, name: str, is_stopped: Callable[[], bool]) -> LateTuples:
        """The late tuples of that name; NotFoundError if no query has LATE TO it."""
        return LateTuples(context, context.snapshots.read_whole(*context.catalog.late(name)), is_stopped)

    def closed(self) -> Closed:
        """The rows, not read yet: a piece for each range of offsets with late tuples, which is read once for all key
        parts."""
        segments = [result.segment for part in self.snapshot.committed()
                    for result in self.context.tables.segments(part.of_late) if result.rows]
        ranges: dict[adhoc_job.OffsetRange, list[Cells]] = {}
        for segment in segments:
            for range_, found in self._cells(segment):
                ranges.setdefault(range_, []).append(found)
        return Closed(schema(self.snapshot.stream), tuple(self._piece(range_, found) for range_, found in ranges.items()))

    def why_none(self) -> str:
        """A sentence that says why there is no row."""
        query, late = self.snapshot.query, self.snapshot.counters()["late"]
        if not late:
            return f"No tuple of {query.name} has come too late."
        return (f"{late:,} tuples of {query.name} have come too late, and none of them is shown: the statement leaves them "
                f"out, Kafka has them no more, or they are older than {self.context.config.result_retention_days} days.")

    def close(self) -> None:
        """End the connections."""
        if self._reader is not None:
            self._reader.close()

    def _cells(self, segment: Segment) -> Iterator[tuple[adhoc_job.OffsetRange, Cells]]:
        late = self._late(segment)
        place = np.stack([single(late[name]).to_numpy().astype(np.int64) for name in cells_late.RANGE.names])
        begins = np.flatnonzero(np.append(True, (np.diff(place) != 0).any(axis=0)))
        edges = (instants(self.snapshot.stream, edge).cast(pa.int64()).to_numpy() for edge in self._missed(late)[:2])
        spans = np.stack([fold.reduceat(edge, begins) for edge in edges for fold in (np.minimum, np.maximum)]).T.tolist()
        lengths = np.diff(np.append(begins, len(late))).tolist()
        for range_, first, length, span in zip(place.T[begins].tolist(), begins.tolist(), lengths, spans, strict=True):
            yield tuple(range_), Cells(segment, first, length, tuple(span))

    def _piece(self, range_: adhoc_job.OffsetRange, found: list[Cells]) -> Piece:
        starts, last_starts, ends, last_ends = zip(*(cells.spans for cells in found), strict=True)
        return Piece(min(starts), max(last_starts), min(ends), max(last_ends), sum(cells.length for cells in found),
                     partial(self._load, range_, found))

    def _missed(self, late: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return cells_late.missed(windows.of(self.snapshot.query.plan.aggregation, self.snapshot.stream), late)

    def _late(self, segment: Segment) -> pa.Table:
        """A segment's late cells, in the order of their ranges; the last ones are held, as they are asked for range by
        range."""
        if segment not in self._held:
            kept = self.snapshot.query.plan.aggregation
            late = decode(self.context.storage.read(segment), cells_late.schema(kept, self.snapshot.stream))
            self._held[segment] = late.sort_by([(name, "ascending") for name in cells_late.RANGE.names]).combine_chunks()
            if len(self._held) > HELD_EACH * self.snapshot.stream.key_parts:
                self._held.popitem(last=False)
        self._held.move_to_end(segment)
        return self._held[segment]

    def _load(self, range_: adhoc_job.OffsetRange, found: list[Cells]) -> pa.Table:
        """The tuples of late cells that are all of one range, in the order of their places."""
        kept, stream = self.snapshot.query.plan.aggregation, self.snapshot.stream
        with self._lock:  # the engine may read the same rows twice at once
            late = cells_late.together(kept, stream, [self._late(cells.segment).slice(cells.first, cells.length)
                                                      for cells in found])
            rows = pa.concat_tables([schema(stream).empty_table(), *self._rows(range_, late)])
            self.gone += int(single(late["n"]).to_numpy().sum()) - len(rows)
            return rows

    def _rows(self, range_: adhoc_job.OffsetRange, late: pa.Table) -> Iterator[pa.Table]:
        stream, plan = self.snapshot.stream, self.snapshot.query.plan
        if self._reader is None:
            self._reader = adhoc_job.RangeReader(self.context.config, stream, plan)
        for batch, counts in self._reader.counted(range_, self.is_stopped):
            given = {name: single(column).filter(pa.array(counts)) for name, column in batch.columns.items()}
            length = int(np.count_nonzero(counts))
            keys = [evaluate(key.expression, given, length) for key in plan.aggregation.keys]
            cell = cells_late.found(plan.aggregation, stream, late, keys, batch.event_time[counts])
            place = [np.full(length, range_[0]), batch.offset[counts], batch.line[counts]]
            yield self._shown(late, cell, place, given)

    def _shown(self, late: pa.Table, cell: np.ndarray, place: Sequence[np.ndarray], given: dict[str, pa.Array]) -> pa.Table:
        """The tuples that are in a late cell."""
        stream, hit = self.snapshot.stream, np.flatnonzero(cell >= 0)
        starts, ends, counts = (found[cell[hit]] for found in self._missed(late))
        rows, wanted = pa.array(hit), schema(stream)
        arrays = [instants(stream, starts), instants(stream, ends), pa.array(counts),
                  *(pa.array(column[hit]) for column in place),
                  *(plain(given[column.name].take(rows)) for column in stream.columns)]
        return pa.Table.from_arrays([array.cast(field.type) for array, field in zip(arrays, wanted, strict=True)],
                                    schema=wanted)


def gone_notes(read: Sequence[Snapshot | LateTuples]) -> list[str]:
    """What is missing among late tuples, in words."""
    return [f"{one.gone:,} late tuples of {one.snapshot.query.name} are left out: Kafka has their records no more."
            for one in read if isinstance(one, LateTuples) and one.gone > 0]
