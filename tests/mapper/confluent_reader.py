"""A reader on confluent-kafka: the oracle of Mars's own one.

It makes an object per message, so it is several times slower; it checks the topic id only when partitions are asked
for, sees no leader epochs, waits for Kafka without end, and reads ranges of any size.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable

import numpy as np
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from mapper.batch import Messages
from mapper.fetch import Range
from mapper.records import no_messages
from mars.adapters.kafka.errors import KafkaRefused, KafkaUnreachable, OffsetOutOfRange, TopicRecreated, UnknownTopic
from mars.adapters.kafka.security import Security, librdkafka

TIMEOUT_S = 10.0
POLL_S = 0.2
ASKED_MS = 40  # between questions for the end offsets
CHUNK = 1000  # messages asked of the library at a time
UNKNOWN_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)


class ConfluentReader:
    """Reader (see mapper.fetch) on librdkafka's consumer: assigned, never subscribed, with no offset reset."""

    def __init__(self, bootstrap: str, security: Security, topic: str, topic_id: str) -> None:
        config = {"bootstrap.servers": bootstrap, **librdkafka(security)}
        self.topic = topic
        self.topic_id = topic_id
        self._admin = AdminClient(config)
        self._consumer = Consumer({
            **config, "group.id": "mars-reader-unused", "enable.auto.commit": False, "isolation.level": "read_committed",
            "auto.offset.reset": "error", "enable.partition.eof": True, "check.crcs": True})
        self._assigned: tuple[int, int] | None = None  # partition, next offset that the consumer gives
        self._surplus: list[Message] = []

    def partitions(self) -> list[int]:
        future, = self._admin.describe_topics(TopicCollection([self.topic]), request_timeout=TIMEOUT_S).values()
        found = self._result(future)
        id_ = found.topic_id
        mask = 2**64 - 1
        number = (id_.get_most_significant_bits() & mask) << 64 | (id_.get_least_significant_bits() & mask)
        if str(uuid.UUID(int=number)) != self.topic_id:
            raise TopicRecreated(self.topic, self.topic_id, str(uuid.UUID(int=number)))
        return sorted(partition.id for partition in found.partitions)

    def last_stable_offsets(self) -> dict[int, int]:
        return self._offsets(OffsetSpec.latest(), self.partitions())

    def await_tuples(self, ends: dict[int, int], epochs: dict[int, int], wait_ms: int, offsets: int = 1) -> dict[int, int]:
        time.sleep(min(wait_ms, ASKED_MS) / 1000)
        return self._offsets(OffsetSpec.latest(), list(ends))

    def read(self, partition: int, start: int, end: int, limit_bytes: int, last_epoch: int = -1,
             should_stop: Callable[[], bool] = bool, range_bytes_max: float = math.inf) -> Range | None:
        if self._assigned != (partition, start):
            self._consumer.assign([TopicPartition(self.topic, partition, start)])
            self._surplus = []
        self._assigned = None
        found, at = [], start
        while at < end:
            if should_stop():
                return None
            batch = self._surplus or self._consumer.consume(CHUNK, POLL_S)
            self._surplus = []
            for i, message in enumerate(batch):
                at = self._position(message, partition, at)
                if at > end and message.error() is None and message.offset() >= end:
                    self._surplus, at = batch[i:], message.offset()
                    break
                if message.error() is None:
                    found.append(message)
        self._assigned = (partition, end)
        return Range(partition, start, end, _messages(found), -1)

    def close(self) -> None:
        self._consumer.close()

    def _position(self, message: Message, partition: int, at: int) -> int:
        """All offsets below it have been given: past a message, where the partition ends, or still `at`. Raises what is
        final."""
        error = message.error()
        if error is None:
            return message.offset() + 1
        if error.code() == KafkaError._PARTITION_EOF:
            return message.offset()
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            first, last = (
                self._offsets(spec, [partition])[partition]
                for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
            )
            raise OffsetOutOfRange(self.topic, partition, at, first, last)
        if error.code() in UNKNOWN_TOPIC:
            raise UnknownTopic(self.topic)
        if error.fatal() or not (error.retriable() or error.code() < 0):
            raise KafkaRefused(self.topic, partition, error.str())
        time.sleep(POLL_S)
        return at

    def _offsets(self, spec: OffsetSpec, partitions: list[int]) -> dict[int, int]:
        """Each partition's offset of that kind, read committed."""
        asked = {TopicPartition(self.topic, partition): spec for partition in partitions}
        futures = self._admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT_S)
        return {place.partition: self._result(future).offset for place, future in futures.items()}

    def _result(self, future):
        """The result of an admin call, or its error by name."""
        try:
            return future.result(TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() in UNKNOWN_TOPIC:
                raise UnknownTopic(self.topic) from error
            raise KafkaUnreachable(self.topic, -1, error.args[0].str()) from error


def _messages(found: list[Message]) -> Messages:
    """The values of these messages, joined; null values are left out."""
    found = [message for message in found if message.value() is not None]
    if not found:
        return no_messages()
    values = [message.value() for message in found]
    length = np.fromiter(map(len, values), np.int64, len(values))
    return Messages(np.frombuffer(b"".join(values), np.uint8), np.cumsum(length) - length, length,
                    np.fromiter((message.offset() for message in found), np.int64, len(values)),
                    np.fromiter((message.timestamp()[1] for message in found), np.int64, len(values)))
