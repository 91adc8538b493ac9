"""Cells of the simulation: sorted lists of window and tuple id, so that a loss and a double cannot cancel each other.

A cell is one number, the window's start above `ID_BITS` bits, of which the first says whether the clock has closed the
window and the others are the id: tables are split by bisection and encoded as they lie in memory.
"""

from __future__ import annotations

import operator
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from types import SimpleNamespace

import pyarrow as pa

from mapper.batch import Judged, TaskCells
from mapper.timing import Limits
from mars.model.commits import ResultSegment, Segment
from mars.model.plan import QueryPlan, Stream
from mars.model.types import to_arrow

WINDOW_MS = 200
ID_BITS = 21
TIMED_OUT = 1 << (ID_BITS - 1)
IDS = TIMED_OUT - 1
INSTANT = to_arrow("TIMESTAMP")


class Table(tuple):
    """The cells, in order."""

    __slots__ = ()

    @property
    def num_rows(self) -> int:
        return len(self)

    @property
    def nbytes(self) -> int:
        return 16 * len(self)


@dataclass
class Batch:
    """A parsed batch: (offset, id, time, Kafka timestamp), and as judged."""

    records: list[tuple[int, int, int, int]]
    judged: dict[int | None, Judged] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def max_event_time(self) -> int | None:
        return self.judged[None].max_event_time

    def timely(self, limit: int | None) -> list[tuple[int, int, int, int]]:
        """The records that are not future by this limit."""
        return [record for record in self.records if record[1] not in self.judged[limit].future]


class Parser:
    """Stands for mapper.parse.Parser."""

    def __init__(self, stream: Stream, columns: tuple[str, ...]) -> None:
        pass

    def parse(self, messages: object) -> Batch:
        return Batch(messages.records)


def cell(id_: int, time: int) -> int:
    """The cell of a tuple."""
    return (time // WINDOW_MS * WINDOW_MS << ID_BITS) | id_


def judge(stream: Stream, batch: Batch, messages: object, limits: Limits) -> Batch:
    """Stands for mapper.timing.judge."""
    for limit in (None, *limits.own_ms):
        most = limits.setting_ms if limit is None else limit
        future = {id_ for _, id_, time, written in batch.records if time > written + most}
        seen = [min(time, written) for _, id_, time, written in batch.records if id_ not in future]
        batch.judged[limit] = Judged(future, max(seen, default=None))
    return batch


def aggregate_task(plan: QueryPlan, stream: Stream, batch: Batch, partition: int) -> TaskCells:
    """Stands for mapper.aggregate.aggregate_task."""
    parts = [[] for _ in range(stream.key_parts)]
    limit = plan.aggregation.max_ahead_ms
    for _, id_, time, _ in batch.timely(limit):
        parts[id_ % stream.key_parts].append(cell(id_, time))
    timely = sum(map(len, parts))
    return TaskCells([Table(sorted(part)) for part in parts], len(batch), 0, len(batch) - timely, 0, timely,
                     max_event_time=batch.judged[limit].max_event_time)


def encode(table: Table) -> bytes:
    """Stands for mars.algebra.cells_wire.encode."""
    return array("q", table).tobytes()


def decode(data: bytes, expected: object = None) -> Table:
    """Stands for mars.algebra.cells_wire.decode."""
    return Table(array("q", data))


def merge(plan: QueryPlan, stream: Stream, tables: list[Table]) -> Table:
    """Stands for mars.algebra.cells.merge; doubles stay visible."""
    return Table(sorted(cell for table in tables for cell in table))


def open_from(closed_up_to: int) -> int:
    """The least cell of a window that this watermark leaves open."""
    return (closed_up_to - WINDOW_MS + 1) << ID_BITS


def late_split(plan: QueryPlan, stream: Stream, table: Table, closed_up_to: int,
               held: object = ()) -> tuple[Table, Table]:
    """Stands for mars.algebra.cells.late_split."""
    at = bisect_left(table, open_from(closed_up_to))
    return Table(table[:at]), Table(table[at:])


def unclosed(plan: QueryPlan, stream: Stream, tables: list[Table], watermark: int) -> list[Table]:
    """Stands for mars.algebra.cells.unclosed."""
    return [late_split(plan, stream, table, watermark)[1] for table in tables]


def ids(table: Table) -> list[int]:
    """The tuples of the cells."""
    return [cell & IDS for cell in table]


def close(plan: QueryPlan, stream: Stream, tables: list[Table], before: int | None,
          watermark: int) -> tuple[list[Table], list[Table]]:
    """Stands for mars.algebra.cells.close."""
    split = [late_split(plan, stream, table, watermark) for table in tables]
    return [closed for closed, _ in split if closed], [rest for _, rest in split]


def stamped(plan: QueryPlan, table: Table, timed_out: int) -> Table:
    """Stands for mars.algebra.cells_stamps.stamped."""
    return Table(cell | TIMED_OUT * timed_out for cell in table)


def first_pane(table: Table) -> int:
    """Stands for mars.algebra.cells.first_pane."""
    return table[0] >> ID_BITS


def would_close(plan: QueryPlan, stream: Stream, pane: int, before: int | None, watermark: int) -> bool:
    """Stands for mars.algebra.cells.would_close."""
    return pane + WINDOW_MS <= watermark


@dataclass(frozen=True)
class Closed:
    """Stands for reducer.committing.closed.Closed."""

    plan: QueryPlan
    stream: Stream
    table: Table

    @staticmethod
    def of(plan: QueryPlan, stream: Stream, closed: Table, once: object) -> Closed:
        return Closed(plan, stream, closed)

    def together(self, blobs: list[bytes], are_cells: bool) -> Closed:
        return Closed(self.plan, self.stream, Table(cell for data in blobs for cell in decode(data)))

    def none(self) -> Closed:
        return Closed(self.plan, self.stream, Table())

    def blob(self) -> bytes:
        return encode(self.table)

    def describe(self, segment: Segment, now_ms: int) -> ResultSegment:
        first, last = (cell >> ID_BITS for cell in (self.table[0], self.table[-1]))
        return ResultSegment(segment, len(self.table), first * 1000, last * 1000, (last + WINDOW_MS) * 1000, 0,
                             (first + WINDOW_MS) * 1000, True)


def rows(plan: QueryPlan, stream: Stream, table: Table, ordered: bool = True) -> pa.Table:
    """Stands for mars.algebra.cells_finish.finish, for readers: a row for each tuple."""
    starts = [(cell >> ID_BITS) * 1000 for cell in table]
    ends = [start + WINDOW_MS * 1000 for start in starts]
    return pa.table([pa.array(starts, INSTANT), pa.array(ends, INSTANT), pa.array(ids(table), pa.int64())], ROWS)


# What readers see as columns of a result.
ROWS = ["window_start", "window_end", "id"]
# Stands for mars.algebra.cells where readers merge what is open and make rows of what is closed.
OPEN = SimpleNamespace(schema=lambda *_: None, decode=decode, merge=merge, unclosed=unclosed, finish=rows,
                       of_windows=lambda plan, stream, table, before=None: table)
CELLS = SimpleNamespace(merge=merge, late_split=late_split, unclosed=unclosed, close=close, first_pane=first_pane,
                        would_close=would_close, reaches_back=lambda *_: False, looks_back=lambda _: False,
                        settle=lambda _aggregation, _stream, table, _watermark: table, equal=operator.eq, tuple_count=len)
STAMPS = SimpleNamespace(stamped=stamped)
# Stand for mars.algebra.cells_late and reducer.committing.closed.Late.
LATE = SimpleNamespace(of_range=lambda kept, stream, late, partition, start, end: late)
KEPT = SimpleNamespace(of_tables=lambda plan, stream, tables, once: Closed(plan, stream, merge(plan, stream, tables)))
