"""Cells of the simulation: lists of (window, tuple id), so that a loss and a double cannot cancel each other."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from mapper.aggregate import TaskCells
from mars.commits import ResultSegment, Segment
from mars.plan import QueryPlan, Stream
from tests.simulate.kafka import Records

WINDOW_MS = 200


class Table(tuple):
    """(window start, id) of each tuple."""

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

    def parse(self, messages: Records) -> Batch:
        return Batch(messages.records)


def window(time: int) -> int:
    """The start of the window that a tuple of this time lies in."""
    return time // WINDOW_MS * WINDOW_MS


def aggregate_task(plan: QueryPlan, stream: Stream, batch: Batch, partition: int, now_ms: int,
                   future_limit_ms: int) -> TaskCells:
    """Stands for mapper.aggregate.aggregate_task."""
    timely = [(window(time), id_) for _, id_, time in batch.records if time <= now_ms + future_limit_ms]
    parts = [Table(cell for cell in timely if cell[1] % stream.key_parts == k) for k in range(stream.key_parts)]
    return TaskCells(parts, len(batch), 0, len(batch) - len(timely), 0, len(timely))


def max_event_time(stream: Stream, batch: Batch, now_ms: int, future_limit_ms: int) -> int | None:
    """Stands for mapper.aggregate.max_event_time."""
    times = [time for _, _, time in batch.records if time <= now_ms + future_limit_ms]
    return min(max(times), now_ms) if times else None


def encode(table: Table) -> bytes:
    """Stands for mars.cells_wire.encode."""
    return b"".join(b"%d %d;" % cell for cell in table)


def decode(data: bytes, expected: object = None) -> Table:
    """Stands for mars.cells_wire.decode."""
    return Table(tuple(map(int, cell.split())) for cell in bytes(data).split(b";")[:-1])


def merge(plan: QueryPlan, stream: Stream, tables: list[Table]) -> Table:
    """Stands for mars.cells.merge; doubles stay visible."""
    return Table(sorted(cell for table in tables for cell in table))


def late_split(plan: QueryPlan, stream: Stream, table: Table, closed_up_to: int) -> tuple[Table, Table]:
    """Stands for mars.cells.late_split."""
    closed = Table(cell for cell in table if cell[0] + WINDOW_MS <= closed_up_to)
    return closed, Table(cell for cell in table if cell[0] + WINDOW_MS > closed_up_to)


def first_start(table: Table) -> int:
    """Stands for reducer.merge._first_start."""
    return min(start for start, _ in table)


def describe(table: Table, segment: Segment) -> ResultSegment:
    """Stands for reducer.commit.describe."""
    return ResultSegment(segment, len(table), 0, 0, 0, 0)


CELLS = SimpleNamespace(merge=merge, late_split=late_split)
FINISH = SimpleNamespace(finish=lambda plan, stream, table: table)
