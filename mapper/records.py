"""Records that are checked and plain, and still unread: batches in byte buffers, without a place for each record.

A kernel that needs a few fields of each record finds the records on its way over the bytes (mapper/kernels/fused.py).
Whoever needs the place of each value takes `Records.messages`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mapper.batch import Messages
from mapper.kernels import records as layout
from mapper.kernels.wide import WIDTH
from mars.errors import MarsError

PADDING = WIDTH  # kernels read so many bytes at a time, without a look at where the buffer ends


class CorruptRecords(MarsError):
    """Bytes of a record batch that cannot be what a producer wrote; `offset` is the batch's first one, or -1."""

    def __init__(self, detail: str, offset: int = -1) -> None:
        super().__init__("record batch is corrupt", f"{detail}, batch at offset {offset}" if offset >= 0 else detail,
                         "the broker's log or the network is damaged: check the broker's disk")
        self.offset = offset


@dataclass(frozen=True)
class Batches:
    """Record batches in one buffer: `rows` has a row of layout.FIELDS for each, and the records of batch i are
    buffer[begin[i]:end[i]]. At least PADDING bytes follow after each end."""

    buffer: np.ndarray
    rows: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def __post_init__(self) -> None:
        assert not len(self.end) or self.end.max() + PADDING <= len(self.buffer), "kernels would read past the buffer"

    @property
    def lasts(self) -> np.ndarray:
        """The last offset of each batch."""
        return self.rows[:, layout.BASE] + self.rows[:, layout.LAST_DELTA]

    def at(self, chosen: slice) -> Batches:
        """These batches, over the same buffer."""
        return Batches(self.buffer, self.rows[chosen], self.begin[chosen], self.end[chosen])

    def messages(self, start: int, end: int) -> Messages:
        """Where the values with offset in [start, end) lie; null values are left out. Raises CorruptRecords."""
        places = [np.empty(int(self.rows[:, layout.COUNT].sum()), np.int64) for _ in range(4)]
        count = layout.batch_records(self.buffer, self.rows, self.begin, self.end, start, end, *places)
        if count < 0:
            raise self.corrupt()
        return Messages(self.buffer, *(place[:count] for place in places))

    def corrupt(self) -> CorruptRecords:
        """What is raised when a record of theirs does not read."""
        return CorruptRecords("a record whose lengths do not fit", int(self.rows[0, layout.BASE]))


@dataclass(frozen=True)
class Records:
    """The records with offset in [start, end) of one partition, in batches that read-committed consumers see, in the order
    of their offsets. Some of the batches' records may lie outside of [start, end)."""

    parts: tuple[Batches, ...]
    start: int
    end: int

    @property
    def bytes(self) -> int:
        """How many bytes of plain records these are; of a batch that lies in [start, end) only in part its share."""
        total = 0.0
        for part in self.parts:
            first, last = part.rows[:, layout.BASE], part.lasts
            inside = np.minimum(last + 1, self.end) - np.maximum(first, self.start)
            total += float(((part.end - part.begin) * (inside / (last + 1 - first))).sum())
        return int(total)

    @property
    def buffer_bytes(self) -> int:
        """The buffers that these records keep alive, however few of them they are."""
        return sum(len(part.buffer) for part in self.parts)

    @property
    def count_max(self) -> int:
        """How many records these are at most."""
        return sum(int(part.rows[:, layout.COUNT].sum()) for part in self.parts)

    def within(self, start: int, end: int) -> Records:
        """Those of them with offset in [start, end), over the same buffers."""
        start, end = max(start, self.start), min(end, self.end)
        parts = []
        for part in self.parts:
            low = np.searchsorted(part.lasts, start)
            high = np.searchsorted(part.rows[:, layout.BASE], end)
            if low < high:
                parts.append(part.at(slice(low, high)))
        return Records(tuple(parts), start, max(start, end))

    def messages(self) -> Messages:
        """Where the values lie; null values are left out. Raises CorruptRecords."""
        return joined(part.messages(self.start, self.end) for part in self.parts)


def following(parts: Iterable[Records], start: int, end: int) -> Records:
    """The records of [start, end), of several that follow each other."""
    return Records(tuple(part for records in parts for part in records.within(start, end).parts), start, end)


def no_messages() -> Messages:
    """Messages that hold nothing."""
    none = np.empty(0, np.int64)
    return Messages(np.empty(0, np.uint8), none, none, none, none)


def joined(parts: Iterable[Messages]) -> Messages:
    """One Messages of several in offset order; copies only if more than one holds any."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else no_messages()
    buffers, starts, at = [], [], 0
    for part in parts:
        first, last = int(part.start[0]), int(part.start[-1] + part.length[-1])
        buffers.append(part.buffer[first:last])
        starts.append(part.start + (at - first))
        at += last - first
    return Messages(np.concatenate(buffers), np.concatenate(starts), *(
        np.concatenate([getattr(part, name) for part in parts]) for name in ("length", "offset", "time_ms")))


def padded(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The bytes one after the other, with PADDING zeros after them."""
    return np.concatenate([*parts, np.zeros(PADDING, np.uint8)])
