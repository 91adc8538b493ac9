"""Cells of the simulation: sorted lists of window and tuple id, so that a loss and a double cannot cancel each other.

A cell is one number, the window's start above `ID_BITS` bits of the id: tables are split by bisection and encoded as they
lie in memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from types import SimpleNamespace

from mapper.aggregate import TaskCells
from mars.commits import ResultSegment, Segment
from mars.plan import QueryPlan, Stream

WINDOW_MS = 200
ID_BITS = 20
IDS = (1 << ID_BITS) - 1


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
    """A parsed batch: (offset, id, time)."""

    records: list[tuple[int, int, int]]

    def __len__(self) -> int:
        return len(self.records)


class Parser:
    """Stands for mapper.parse.Parser."""

    def __init__(self, stream: Stream, columns: tuple[str, ...]) -> None:
        pass

    def parse(self, messages: object) -> Batch:
        return Batch(messages.records)


def cell(id_: int, time: int) -> int:
    """The cell of a tuple."""
    return (time // WINDOW_MS * WINDOW_MS << ID_BITS) | id_


def aggregate_task(plan: QueryPlan, stream: Stream, batch: Batch, partition: int, now_ms: int,
                   future_limit_ms: int) -> TaskCells:
    """Stands for mapper.aggregate.aggregate_task."""
    limit, parts = now_ms + future_limit_ms, [[] for _ in range(stream.key_parts)]
    for _, id_, time in batch.records:
        if time <= limit:
            parts[id_ % stream.key_parts].append(cell(id_, time))
    timely = sum(map(len, parts))
    return TaskCells([Table(sorted(part)) for part in parts], len(batch), 0, len(batch) - timely, 0, timely)


def max_event_time(stream: Stream, batch: Batch, now_ms: int, future_limit_ms: int) -> int | None:
    """Stands for mapper.aggregate.max_event_time."""
    times = [time for _, _, time in batch.records if time <= now_ms + future_limit_ms]
    return min(max(times), now_ms) if times else None


def encode(table: Table) -> bytes:
    """Stands for mars.cells_wire.encode."""
    return array("q", table).tobytes()


def decode(data: bytes, expected: object = None) -> Table:
    """Stands for mars.cells_wire.decode."""
    return Table(array("q", data))


def merge(plan: QueryPlan, stream: Stream, tables: list[Table]) -> Table:
    """Stands for mars.cells.merge; doubles stay visible."""
    return Table(sorted(cell for table in tables for cell in table))


def open_from(closed_up_to: int) -> int:
    """The least cell of a window that this watermark leaves open."""
    return (closed_up_to - WINDOW_MS + 1) << ID_BITS


def late_split(plan: QueryPlan, stream: Stream, table: Table, closed_up_to: int) -> tuple[Table, Table]:
    """Stands for mars.cells.late_split."""
    at = bisect_left(table, open_from(closed_up_to))
    return Table(table[:at]), Table(table[at:])


def ids(table: Table) -> list[int]:
    """The tuples of the cells."""
    return [cell & IDS for cell in table]


def first_start(table: Table) -> int:
    """Stands for reducer.merge._first_start."""
    return table[0] >> ID_BITS


def describe(table: Table, segment: Segment) -> ResultSegment:
    """Stands for reducer.commit.describe."""
    return ResultSegment(segment, len(table), 0, 0, 0, 0)


CELLS = SimpleNamespace(merge=merge, late_split=late_split)
FINISH = SimpleNamespace(finish=lambda plan, stream, table: table)
# Stand for the module mars.window, of which reducer.merge asks for one window's end, and for numpy, which it takes for that.
WINDOW = SimpleNamespace(end=lambda window, stream, starts: [start + WINDOW_MS for start in starts])
NUMPY = SimpleNamespace(array=lambda values, dtype: values, int64=int)
