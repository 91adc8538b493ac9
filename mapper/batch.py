"""What goes from step to step: messages, the tuples of a batch, the cells of its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from mars.model.plan import Aggregation


@dataclass
class Messages:
    """Message values of one partition, as places in byte buffers. There is never an object per message.

    `buffer` is uint8; message i is buffer[start[i]:start[i]+length[i]] (int64 each), `offset[i]` its Kafka offset, and
    `time_ms[i]` its Kafka timestamp. Null messages are left out (they hold no tuple). Offsets ascend, with gaps.
    """

    buffer: np.ndarray
    start: np.ndarray
    length: np.ndarray
    offset: np.ndarray
    time_ms: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    @property
    def bytes(self) -> int:
        """The bytes of all values."""
        return int(self.length.sum())

    def part(self, first: int, end: int) -> Messages:
        """The messages from number `first` up to `end`, as views."""
        return self.at(slice(first, end))

    def at(self, numbers: np.ndarray | slice) -> Messages:
        """The messages of these numbers, over the same buffer."""
        return Messages(self.buffer, self.start[numbers], self.length[numbers], self.offset[numbers], self.time_ms[numbers])


@dataclass(frozen=True)
class Judged:
    """What one limit of the future says of a batch's tuples (mapper/timing.py). `future`: bool per tuple whose event time
    lies too far ahead of its record's time, or None if there is none. `max_event_time`: the batch's part in its partition's
    watermark, in stream units: the greatest min(event time, time of the record) of the tuples whose event time reads and is
    not future; None if there is none."""

    future: np.ndarray | None = None
    max_event_time: int | None = None


@dataclass
class TaskCells:
    """The result of one task for one batch.

    parts: the cells of each key part, tables that may be empty. tuples = bad + future + filtered + counted, exactly.
    max_event_time: the batch's part in the watermark, by the query's limit of the future.
    bad_reasons: number of tuples by '{column}: {reason}', or by the reason alone for a tuple that cannot be read at all.
    """

    parts: list[pa.Table]
    tuples: int = 0
    bad: int = 0
    future: int = 0
    filtered: int = 0
    counted: int = 0
    bad_reasons: dict[str, int] = field(default_factory=dict)
    max_event_time: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The counters, by the names under which a query shows them."""
        return {"tuples": self.tuples, "bad": self.bad, "future": self.future, "filtered": self.filtered}


@dataclass
class ParsedBatch:
    """The tuples of one batch as Arrow columns of `len(event_time)` rows, read once for all queries.

    columns:    the wanted columns by name (strings dictionary-coded int32 -> string); NULL where the value is NULL or bad
    bad:        by column name, uint8 reason per tuple (index into REASONS, 0 = reads); only columns that have a bad value
    tuple_bad:  uint8 reason per tuple for tuples that do not read at all (and STRICT), or None if there is none
    event_time: int64 in the stream's unit; 0 where it does not read (then bad[time column] or tuple_bad says why; a NULL
                event time is bad with reason 'null event time')
    offset, line: int64 Kafka offset and int32 line in the message of each tuple (line 0 for one tuple a message)
    judged:     what the setting's limit of the future says of the tuples, under None; and that of each query with a limit of
                its own, under its milliseconds. Entered by mapper.timing.judge
    common:     computes tasks with what they have in common; None where that is nothing. Entered by mapper.common
    """

    columns: dict[str, pa.Array]
    event_time: np.ndarray
    offset: np.ndarray
    line: np.ndarray
    bad: dict[str, np.ndarray] = field(default_factory=dict)
    tuple_bad: np.ndarray | None = None
    judged: dict[int | None, Judged] = field(default_factory=lambda: {None: Judged()})
    common: Callable[[Aggregation], TaskCells] | None = None

    def __len__(self) -> int:
        return len(self.event_time)

    @property
    def future(self) -> np.ndarray | None:
        """As the setting's limit says."""
        return self.judged[None].future

    @property
    def max_event_time(self) -> int | None:
        """As the setting's limit says."""
        return self.judged[None].max_event_time


@dataclass(frozen=True)
class TaskResult:
    """One task's cells, encoded, by key part (b'' for none), its counts: tuples, bad, future, filtered, and its part in the
    watermark (`Judged`). Tasks that compute the same have the same objects here."""

    query: str
    parts: list[bytes]
    counts: dict[str, int]
    bad_reasons: dict[str, int]
    max_event_time: int | None = None


def alike(results: Iterable[TaskResult]) -> list[list[TaskResult]]:
    """The tasks in groups of those that have the same cells, in the order of the first of each."""
    found: dict[int, list[TaskResult]] = {}
    for result in results:
        found.setdefault(id(result.parts), []).append(result)
    return list(found.values())


@dataclass(frozen=True)
class CountedBatch:
    """What all queries of one batch make of it, whose tuples were never kept: `results` by query id. `tuples` is how many
    there were; `max_event_time` is what the setting's limit of the future says."""

    results: dict[str, TaskResult]
    tuples: int
    max_event_time: int | None

    def __len__(self) -> int:
        return self.tuples


REASONS = ("", "not a number", "out of range", "not a boolean", "not a date", "not a timestamp", "invalid UTF-8",
           "null event time", "wrong JSON type", "not JSON", "not a JSON object", "unclosed quote", "missing field",
           "extra field", "text after a quote")
