"""Kafka's topics and offsets through confluent-kafka: everything but reading batches.

No call ever creates a topic by asking for it, and each ends within seconds: a broker that is away is NotReadyError.
"""

from __future__ import annotations

import difflib
import logging
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from mars.adapters.catalog_names import how_to_fill
from mars.adapters.kafka.connect import why_refused
from mars.adapters.kafka.security import Security, librdkafka
from mars.errors import MarsError, NotFoundError, NotReadyError

TIMEOUT_S = 5.0
HEARD_S = 1.0  # until a broker has heard of a topic that another one made
ELECTION_S = 5.0
LOG = logging.getLogger(__name__)
MISSING = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION,
           KafkaError.TOPIC_EXCEPTION)
AWAY = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._RESOLVE,
        KafkaError.REQUEST_TIMED_OUT, KafkaError._WAIT_COORD, KafkaError._DESTROY)
# The last two: the broker that is asked knows another leader than our metadata, and one of both is behind.
LEADERLESS = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.FENCED_LEADER_EPOCH,
              KafkaError.UNKNOWN_LEADER_EPOCH)


class LeaderlessError(NotReadyError):
    """A partition has no leader, or its leader does not know of it yet."""


@dataclass(frozen=True)
class Topic:
    """A topic as the broker describes it: its id as UUID text, and its partitions, ascending."""

    name: str
    id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True)
class Message:
    """One record. `value` is None for a null one; `time_ms` is Kafka's own timestamp."""

    partition: int
    offset: int
    time_ms: int
    value: bytes | None


class KafkaAdmin:
    """One admin connection; may be used from several threads. Not fork-safe."""

    def __init__(self, address: str, timeout_s: float = TIMEOUT_S, security: Security | None = None) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.security = security or {}
        self._client = {"bootstrap.servers": address, "log_level": 0, **librdkafka(self.security)}
        self._admin = AdminClient({**self._client, "socket.timeout.ms": int(timeout_s * 1000),
                                   "reconnect.backoff.max.ms": 1000}, logger=LOG)

    def topics(self) -> list[str]:
        """The names of all topics that are not Kafka's own, sorted."""
        metadata = self._call(lambda: self._admin.list_topics(timeout=self.timeout_s))
        return sorted(name for name in metadata.topics if not name.startswith("__"))

    def describe(self, topic: str) -> Topic | None:
        """The topic, or None if the broker has no such topic. One with an impossible name does not exist."""
        future = self._call(lambda: self._admin.describe_topics(
            TopicCollection([topic]), request_timeout=self.timeout_s)[topic])
        try:
            found = future.result(self.timeout_s + 1)
        except KafkaException as error:
            if error.args[0].code() in MISSING:
                return None
            raise self.translate(error) from error
        except TimeoutError as error:
            raise self._away(str(error)) from error
        return Topic(topic, _uuid_text(found.topic_id), tuple(sorted(p.id for p in found.partitions)))

    def describe_new(self, topic: str, patience_s: float = HEARD_S) -> Topic | None:
        """Like `describe`, for a topic that may just have been made: the broker that is asked may not have heard of it."""
        deadline = time.monotonic() + patience_s
        while (found := self.describe(topic)) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def require(self, topic: str) -> Topic:
        """The topic; NotFoundError with a did-you-mean and how to make it."""
        found = self.describe_new(topic)
        if found is not None:
            return found
        near = difflib.get_close_matches(topic, self.topics(), n=1, cutoff=0.6)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise NotFoundError("unknown topic", f"Kafka at {self.address} has no topic '{topic}'", meant + how_to_fill(topic))

    def create(self, topic: str, partitions: int = 1, settings: dict[str, str] | None = None) -> Topic:
        """Make the topic unless it is there; either way its description."""
        new = NewTopic(topic, num_partitions=partitions, replication_factor=-1, config=settings or {})
        future = self._admin.create_topics([new], operation_timeout=self.timeout_s,
                                           request_timeout=self.timeout_s)[topic]
        try:
            future.result(self.timeout_s + 1)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self.translate(error) from error
        except TimeoutError as error:
            raise self._away(str(error)) from error
        return self.describe_new(topic, ELECTION_S) or self.require(topic)

    def start_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The first offset that each partition still holds."""
        return dict(self._offsets(topic, partitions, OffsetSpec.earliest()).items())

    def end_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The last stable offset of each partition: up to it everything is readable at read_committed."""
        return self._offsets(topic, partitions, OffsetSpec.latest())

    def offsets_at(self, topic: str, partitions: Iterable[int], time_ms: int) -> dict[int, int]:
        """The offset of the first record whose Kafka timestamp is at or after `time_ms`; the end if there is none."""
        partitions = list(partitions)
        ends = self.end_offsets(topic, partitions)
        found = self._offsets(topic, partitions, OffsetSpec.for_timestamp(time_ms))
        return {p: min(found[p], ends[p]) if found[p] >= 0 else ends[p] for p in partitions}

    def peek(self, topic: str, count: int, newest: bool = False, wait_s: float = 3.0) -> list[Message]:
        """Up to `count` readable messages, the oldest or the newest of each partition, in the order of their time."""
        found = self.require(topic)
        starts, ends = (call(topic, found.partitions) for call in (self.start_offsets, self.end_offsets))
        share = {p: max(starts[p], ends[p] - count) if newest else starts[p] for p in found.partitions}
        messages = self._read({p: (share[p], ends[p]) for p in share if share[p] < ends[p]}, topic, count, newest, wait_s)
        messages.sort(key=lambda m: (m.time_ms, m.partition, m.offset))
        return messages[-count:] if newest else messages[:count]

    def consumer(self) -> Consumer:
        """A consumer of what is committed, with a connection of its own, which tells where a partition ends and that an
        offset is gone. The caller assigns and closes it."""
        return Consumer({**self._client, "group.id": f"mars-peek-{uuid.uuid4().hex}",
                         "enable.auto.commit": False, "isolation.level": "read_committed", "auto.offset.reset": "error",
                         "allow.auto.create.topics": False, "enable.partition.eof": True,
                         "fetch.wait.max.ms": 10,  # the end of a partition is told only after this wait
                         }, logger=LOG)

    def close(self) -> None:
        """Wait for what is under way; the connection ends with the object."""
        self._admin.poll(0)

    def _read(self, ranges: dict[int, tuple[int, int]], topic: str, count: int, newest: bool,
              wait_s: float) -> list[Message]:
        """The messages of offset ranges; of each partition at most `count`, or the last `count` if `newest`."""
        if not ranges:
            return []
        consumer = self.consumer()
        try:
            consumer.assign([TopicPartition(topic, p, start) for p, (start, _) in ranges.items()])
            found: dict[int, list[Message]] = {p: [] for p in ranges}
            open_ = set(ranges)
            deadline = time.monotonic() + wait_s
            while open_ and time.monotonic() < deadline:
                # A longer wait would be waited in full wherever fewer messages are there.
                for record in consumer.consume(500, timeout=0.05):
                    _sort_in(record, found, open_, ranges, count, newest)
            return [message for messages in found.values() for message in messages]
        finally:
            consumer.close()

    def _offsets(self, topic: str, partitions: Iterable[int], spec: OffsetSpec) -> dict[int, int]:
        asked = {TopicPartition(topic, p): spec for p in partitions}
        if not asked:
            return {}
        began = time.monotonic()
        while True:
            futures = self._call(lambda: self._admin.list_offsets(
                asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self.timeout_s))
            try:
                return {where.partition: self._result(future).offset for where, future in futures.items()}
            except (LeaderlessError, NotFoundError) as error:  # so it is for a moment with a topic that was just made
                if time.monotonic() - began > (ELECTION_S if isinstance(error, LeaderlessError) else HEARD_S):
                    raise
                time.sleep(0.1)

    def _result(self, future: Future):
        return self._call(lambda: future.result(self.timeout_s + 1))

    def _call(self, function: Callable):
        try:
            return function()
        except KafkaException as error:
            raise self.translate(error) from error
        except TimeoutError as error:
            raise self._away(str(error)) from error

    def translate(self, error: KafkaException) -> MarsError:
        """The same error in Mars's words."""
        cause = error.args[0]
        if cause.code() in MISSING:
            return NotFoundError("unknown topic or partition", cause.str(), "see `SHOW STREAMS` and Kafka's own tools")
        if cause.code() in LEADERLESS:
            return LeaderlessError("a partition has no leader", cause.str(),
                                   "try again; if it does not end, see the broker's log")
        if cause.code() in AWAY or cause.retriable():
            return self._away(cause.str())
        return NotReadyError("Kafka refused a request", cause.str(), "see the broker's log")

    def _away(self, detail: str) -> NotReadyError:
        # librdkafka merely times out where certificates or passwords are wrong.
        refused = why_refused(self.address, self.security)
        return refused or NotReadyError(f"Kafka does not answer at {self.address}", detail,
                                        "is it running, and is kafka_security_protocol right? see `mars status`")


def _sort_in(record, found: dict, open_: set, ranges: dict, count: int, newest: bool) -> None:
    """Put one polled record where it belongs; a partition that is read through leaves `open_`."""
    error, partition = record.error(), record.partition()
    if error is not None:
        open_.discard(partition)
        return
    if partition not in open_ or record.offset() >= ranges[partition][1]:
        open_.discard(partition)
        return
    messages = found[partition]
    messages.append(Message(partition, record.offset(), record.timestamp()[1], record.value()))
    if newest:
        del messages[:-count]
    elif len(messages) >= count:
        open_.discard(partition)


def _uuid_text(id_: Uuid) -> str:
    bits = ((id_.get_most_significant_bits() & (2**64 - 1)) << 64) | (id_.get_least_significant_bits() & (2**64 - 1))
    return str(uuid.UUID(int=bits))
