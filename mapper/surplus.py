"""What answers of the broker hold beyond what was asked, and how much to ask so that it is little. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from mapper.decode import Decoded

KEPT_BYTES = 16 << 20  # buffers of surplus that are held at most
SMALL_BYTES = 1 << 20  # an answer so small is kept whatever is left of it
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
    """What was read past the ends of ranges, by partition, for the ranges that start there."""

    held: dict[int, Held] = field(default_factory=dict)

    def take(self, partition: int, start: int, end: int) -> Held | None:
        """What is held from `start` on, if it is worth it: less than half of the range is cheaper to be read again than
        to be copied together with the rest."""
        held = self.held.pop(partition, None)
        if held is None or not held.start <= start < held.end or 2 * (min(held.end, end) - start) < end - start:
            return None
        return held

    def keep(self, partition: int, held: Held, end: int) -> None:
        """Keep what lies past `end`, unless it is the small rest of a large buffer; then forget what was read longest
        ago if it is too much together."""
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
    """How many bytes of record batches an offset takes on the wire, and how large a batch is, as measured."""

    per_offset: float = 0.0
    batch: int = 0

    def learn(self, records: bytes | memoryview, offsets: int) -> None:
        """Take an answer into account that covers so many offsets."""
        if offsets > 0 and len(records):
            measured = len(records) / offsets
            self.per_offset += (measured - self.per_offset) * (0.3 if self.per_offset else 1.0)
            self.batch = int.from_bytes(records[8:12], "big") + 12

    def ask(self, offsets: int, limit: int) -> int:
        """Bytes to ask for, so that one answer holds that many offsets as a rule: a batch too many, not one too few."""
        if not self.per_offset:
            return min(limit, UNKNOWN_BYTES)
        return max(1, min(limit, int(SPARE * self.per_offset * offsets) + self.batch))
