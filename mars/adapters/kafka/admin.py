"""Topics as Kafka has them at this moment, and a look at their messages.

No call ever creates a topic by asking for it. Each call ends within seconds; if the broker is away it raises
NotReadyError.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import Consumer, TopicPartition

from mars.adapters.catalog_names import did_you_mean, how_to_fill
from mars.adapters.kafka.cluster import TopicInfo
from mars.adapters.kafka.errors import UnknownTopic
from mars.adapters.kafka.security import Security, librdkafka
from mars.adapters.kafka.wire import Wire
from mars.errors import NotFoundError

TIMEOUT_S = 5.0
HEARD_S = 1.0  # how long a broker may take to hear of a topic that another one made
ELECTION_S = 5.0
LOG = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """One record. `value` is None for a null record; `time_ms` is Kafka's own timestamp."""

    partition: int
    offset: int
    time_ms: int
    value: bytes | None


class KafkaAdmin:
    """Requests that are made now and then. Each call has connections of its own, so any thread may call, and no answer
    comes from a connection that has been open for a while. Nor does one come from a leader that was deposed: every broker
    is asked which one leads."""

    def __init__(self, address: str, timeout_s: float = TIMEOUT_S, security: Security | None = None) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.security = security or {}

    def topics(self) -> list[str]:
        """The names of all topics that are not Kafka's own, sorted."""
        return [name for name in self._ask(Wire.topics) if not name.startswith("__")]

    def describe(self, topic: str, patience_s: float = 0.0) -> TopicInfo | None:
        """The topic, or None if no broker has it within `patience_s`. A topic with an impossible name does not exist."""
        with suppress(UnknownTopic):
            return self._ask(lambda wire: wire.topic(topic), patience_s)
        return None

    def describe_new(self, topic: str) -> TopicInfo | None:
        """Like `describe`, for a topic that may have just been created, so that no broker may have heard of it yet."""
        return self.describe(topic, HEARD_S)

    def require(self, topic: str) -> TopicInfo:
        """The topic; NotFoundError with a did-you-mean and how to make it."""
        found = self.describe_new(topic)
        if found is not None:
            return found
        raise NotFoundError("unknown topic", f"Kafka at {self.address} has no topic '{topic}'",
                            did_you_mean(topic, self.topics()) + how_to_fill(topic))

    def create(self, topic: str, partitions: int = 1, settings: dict[str, str] | None = None) -> TopicInfo:
        """Create the topic unless it exists. Returns its description either way."""
        self._ask(lambda wire: wire.create(topic, partitions, settings or {}))
        return self.describe(topic, ELECTION_S) or self.require(topic)

    def start_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The first offset that each partition still holds."""
        return self._ask(lambda wire: wire.start_offsets(topic, partitions), HEARD_S)

    def end_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The last stable offset of each partition: up to it everything is readable at read_committed."""
        return self._ask(lambda wire: wire.end_offsets(topic, partitions), HEARD_S)

    def offsets_at(self, topic: str, partitions: Iterable[int], time_ms: int) -> dict[int, int]:
        """The offset of the first record whose Kafka timestamp is at or after `time_ms`; the end if there is none."""
        def ask(wire: Wire) -> dict[int, int]:
            ends = wire.end_offsets(topic, partitions)
            found = wire.offsets_for_times(topic, dict.fromkeys(ends, time_ms))
            return {p: end if (at := found[p]) is None else min(at, end) for p, end in ends.items()}

        return self._ask(ask, HEARD_S)

    def peek(self, topic: str, count: int, newest: bool = False, wait_s: float = 3.0) -> list[Message]:
        """Up to `count` readable messages, the oldest or the newest of each partition, in the order of their time."""
        found = self.require(topic)
        starts, ends = (call(topic, found.partitions) for call in (self.start_offsets, self.end_offsets))
        share = {p: max(starts[p], ends[p] - count) if newest else starts[p] for p in found.partitions}
        messages = self._read({p: (share[p], ends[p]) for p in share if share[p] < ends[p]}, topic, count, newest, wait_s)
        messages.sort(key=lambda m: (m.time_ms, m.partition, m.offset))
        return messages[-count:] if newest else messages[:count]

    def _read(self, ranges: dict[int, tuple[int, int]], topic: str, count: int, newest: bool,
              wait_s: float) -> list[Message]:
        """The messages of offset ranges: at most `count` of each partition, or the last `count` if `newest`."""
        if not ranges:
            return []
        consumer = Consumer({
            "bootstrap.servers": self.address, "log_level": 0, **librdkafka(self.security),
            "group.id": f"mars-peek-{uuid.uuid4().hex}", "enable.auto.commit": False, "isolation.level": "read_committed",
            "auto.offset.reset": "error", "allow.auto.create.topics": False, "enable.partition.eof": True,
            "fetch.wait.max.ms": 10}, logger=LOG)  # the client reports the end of a partition only after this wait
        try:
            consumer.assign([TopicPartition(topic, p, start) for p, (start, _) in ranges.items()])
            found: dict[int, list[Message]] = {p: [] for p in ranges}
            open_ = set(ranges)
            deadline = time.monotonic() + wait_s
            while open_ and time.monotonic() < deadline:
                # A longer wait would be waited in full wherever there are fewer messages.
                for record in consumer.consume(500, timeout=0.05):
                    _sort_in(record, found, open_, ranges, count, newest)
            return [message for messages in found.values() for message in messages]
        finally:
            consumer.close()

    def _ask(self, call: Callable[[Wire], T], patience_s: float = 0.0) -> T:
        """The result of the call. The call is repeated for `patience_s` while no broker has heard of the topic."""
        wire = Wire(self.address, self.security, self.timeout_s, self.timeout_s, asks_all=True)
        deadline = time.monotonic() + patience_s
        try:
            while True:
                try:
                    return call(wire)
                except UnknownTopic:
                    if time.monotonic() >= deadline:
                        raise
                    time.sleep(0.05)
        finally:
            wire.close()


def _sort_in(record: Any, found: dict, open_: set, ranges: dict, count: int, newest: bool) -> None:
    """Put one polled record where it belongs; a partition that is read through leaves `open_`."""
    partition = record.partition()
    if record.error() is not None or partition not in open_ or record.offset() >= ranges[partition][1]:
        open_.discard(partition)
        return
    messages = found[partition]
    messages.append(Message(partition, record.offset(), record.timestamp()[1], record.value()))
    if newest:
        del messages[:-count]
    elif len(messages) >= count:
        open_.discard(partition)
