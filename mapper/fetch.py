"""Offset ranges of a topic as messages: all that a read-committed consumer sees of [start, end), or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mapper.batch import Messages
from mapper.decode import CorruptRecords, Decoded, decode, no_messages
from mars.adapters.kafka_errors import KafkaUnreachable
from mars.adapters.kafka_wire import FetchedPartition, Want, Wire

KEPT_PARTITIONS = 4  # so many partitions' surplus is kept
LISTED_S = 1.0  # so long a list of partitions is believed
PAUSES_S = (0.05, 1.0)  # between tries while Kafka is away: first and longest


@dataclass
class Range:
    """All visible messages of [start, end) of a partition, possibly none; `leader_epoch` is that of the last record
    batch before `end`, to be kept with the position and given as `last_epoch` for the range that starts there."""

    partition: int
    start: int
    end: int
    messages: Messages
    leader_epoch: int = -1


class Reader(Protocol):
    """Reads ranges of one topic; one thread at a time, in the process that made it."""

    def partitions(self) -> list[int]:
        """The topic's partitions, asked anew. Raises TopicRecreated if the topic is another one by now."""

    def last_stable_offsets(self) -> dict[int, int]:
        """Each partition's last stable offset: no range may end past it."""

    def read(self, partition: int, start: int, end: int, limit_bytes: int, last_epoch: int = -1,
             should_stop: Callable[[], bool] = bool) -> Range | None:
        """The range [start, end), end being at most a last stable offset seen before; None if should_stop() says so.

        Waits with back-off while Kafka is away. `limit_bytes` is for one answer of the broker: a larger record batch
        comes whole, and a larger range in several answers. Raises what can go wrong by name.
        """

    def close(self) -> None:
        """Ends the connections."""


@dataclass
class _Held:
    """Decoded messages of a partition that cover the offsets [start, end)."""

    start: int
    end: int
    decoded: Decoded


class RawReader:
    """Reader on raw Fetch responses.

    What an answer holds past the range's end is kept, decoded, for the next read that starts there, for at most
    KEPT_PARTITIONS partitions: memory is bounded by that many answers.
    """

    def __init__(self, wire: Wire, topic: str, topic_id: str) -> None:
        self.wire = wire
        self.topic = topic
        self.topic_id = topic_id
        self._held: dict[int, _Held] = {}
        self._listed: list[int] = []
        self._listed_at = 0.0

    def partitions(self) -> list[int]:
        self._listed = list(self.wire.topic(self.topic, self.topic_id).partitions)
        self._listed_at = time.monotonic()
        return self._listed

    def last_stable_offsets(self) -> dict[int, int]:
        # An idle mapper asks many times a second; new partitions are rare.
        listed = self._listed if time.monotonic() - self._listed_at < LISTED_S else self.partitions()
        return self.wire.end_offsets(self.topic, listed)

    def read(self, partition: int, start: int, end: int, limit_bytes: int, last_epoch: int = -1,
             should_stop: Callable[[], bool] = bool) -> Range | None:
        held = self._held.pop(partition, None)
        if held is None or not held.start <= start < held.end:
            held = _Held(start, start, Decoded(no_messages(), start))
        parts, at, epoch = [], start, last_epoch
        while True:
            parts.append(_slice(held.decoded.messages, at, end))
            at = max(at, held.end)
            found = held.decoded.epoch_before(min(at, end))
            epoch = epoch if found is None else found
            if at >= end:
                break
            held = self._next(partition, at, end, limit_bytes, epoch, should_stop)
            if held is None:
                return None
        self._keep(partition, held, end)
        return Range(partition, start, end, _join(parts), epoch)

    def close(self) -> None:
        self._held.clear()
        self.wire.close()

    def _keep(self, partition: int, held: _Held, end: int) -> None:
        """Keeps what lies past `end`, and forgets the partition that was read longest ago if they are too many."""
        if held.end > end:
            self._held[partition] = held
        while len(self._held) > KEPT_PARTITIONS:
            del self._held[next(iter(self._held))]

    def _next(self, partition: int, start: int, end: int, limit_bytes: int, epoch: int,
              should_stop: Callable[[], bool]) -> _Held | None:
        """What follows from `start` on, at least one offset of it; None to stop."""
        pause = PAUSES_S[0]
        while not should_stop():
            try:
                fetched, = self.wire.fetch(self.topic, self.topic_id, {partition: Want(start, epoch, limit_bytes)})
            except KafkaUnreachable:
                time.sleep(pause)
                pause = min(2 * pause, PAUSES_S[1])
                continue
            decoded = self._decode(fetched, start)
            if decoded.next_offset > start:
                return _Held(start, decoded.next_offset, decoded)
            if fetched.records:
                limit_bytes *= 2  # cut inside its first batch
            elif not fetched.throttled and fetched.last_stable_offset >= end:
                return _Held(start, end, decoded)
        return None

    def _decode(self, fetched: FetchedPartition, start: int) -> Decoded:
        """The messages of one answer; a corrupt batch is named with its topic and partition."""
        try:
            return decode(fetched.records, start, aborted=fetched.aborted)
        except CorruptRecords as error:
            raise CorruptRecords(f"topic {self.topic}, partition {fetched.partition}: {error.detail}",
                                 error.offset) from error


def _slice(messages: Messages, start: int, end: int) -> Messages:
    """The messages with offset in [start, end), as views."""
    low, high = np.searchsorted(messages.offset, (start, end))
    return Messages(messages.buffer, messages.start[low:high], messages.length[low:high], messages.offset[low:high],
                    messages.time_ms[low:high])


def _join(parts: list[Messages]) -> Messages:
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
