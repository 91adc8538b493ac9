"""The surplus: what the broker's answers hold beyond the requested range. Also how much to ask for, so that it is little.
Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from mapper.decode import Decoded

KEPT_BYTES = 16 << 20  # the most buffers of surplus that are held
SMALL_BYTES = 1 << 20  # an answer this small is kept, however little of it is left
UNKNOWN_BYTES = 1 << 20  # the first answer, while nothing is measured
SPARE = 1.02


@dataclass
class Held:
    """Decoded records of a partition that cover the offsets [start, end)."""

    start: int
    end: int
    decoded: Decoded

    @property
    def bytes(self) -> int:
        """The buffers that these records keep alive, however few of them they are."""
        return self.decoded.records.buffer_bytes


@dataclass
class Surplus:
    """Messages that were read past the ends of ranges, by partition, for the ranges that start there."""

    held: dict[int, Held] = field(default_factory=dict)

    def take(self, partition: int, start: int, end: int) -> Held | None:
        """The messages held from `start` on, if they are at least half of the range. Fewer are cheaper to read again than
        to copy together with the rest."""
        held = self.held.pop(partition, None)
        if held is None or not held.start <= start < held.end or 2 * (min(held.end, end) - start) < end - start:
            return None
        return held

    def keep(self, partition: int, held: Held, end: int) -> None:
        """Keep the messages past `end`, unless they are the small rest of a large buffer. Then forget the oldest, if all
        together are too much."""
        if held.end <= end or (held.bytes > SMALL_BYTES and 2 * (held.end - end) < held.end - held.start):
            return
        self.held.pop(partition, None)
        self.held[partition] = held
        while len(self.held) > 1 and sum(one.bytes for one in self.held.values()) > KEPT_BYTES:
            del self.held[next(iter(self.held))]

    def clear(self) -> None:
        """Forget all."""
        self.held.clear()


@dataclass
class AnswerSize:
    """The bytes of record batches that an offset takes on the wire, and the size of a batch, as measured."""

    per_offset: float = 0.0
    batch: int = 0

    def learn(self, records: bytes | memoryview, offsets: int) -> None:
        """Take an answer into account that covers this many offsets."""
        if offsets > 0 and len(records):
            measured = len(records) / offsets
            self.per_offset += (measured - self.per_offset) * (0.3 if self.per_offset else 1.0)
            self.batch = int.from_bytes(records[8:12], "big") + 12

    def ask(self, offsets: int, limit: int) -> int:
        """The bytes to ask for, so that one answer usually holds that many offsets: rather a batch too many than one too
        few."""
        if not self.per_offset:
            return min(limit, UNKNOWN_BYTES)
        return max(1, min(limit, int(SPARE * self.per_offset * offsets) + self.batch))
