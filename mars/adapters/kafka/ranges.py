"""Ranges of a topic's offsets, read whole by confluent-kafka, or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Record

from mars.adapters.kafka.admin import AWAY, LEADERLESS, KafkaAdmin, Message
from mars.errors import MarsError, NotReadyError

SILENCE_S = 60.0  # longer than a broker's restart


def read(admin: KafkaAdmin, topic: str, ranges: dict[int, tuple[int, int]],
         silence_s: float = SILENCE_S) -> Iterator[Message]:
    """Every readable message of these ranges [start, end), those of a partition in the order of their offsets; ends only
    when all were given. No end may lie beyond the last stable offset.

    MarsError if Kafka deleted some before they were read, NotReadyError if nothing comes for `silence_s`."""
    ends = {p: end for p, (start, end) in ranges.items() if start < end}
    if not ends:
        return
    consumer = admin.consumer()
    try:
        consumer.assign([TopicPartition(topic, p, ranges[p][0]) for p in ends])
        deadline = time.monotonic() + silence_s
        while ends:
            # A longer wait would be waited in full wherever fewer messages are there.
            for record in consumer.consume(1_000, timeout=0.05):
                partition, reached = record.partition(), _reached(record, admin, topic)
                if reached is None or partition not in ends:
                    continue
                deadline = time.monotonic() + silence_s
                if record.error() is None and record.offset() < ends[partition]:
                    yield Message(partition, record.offset(), record.timestamp()[1], record.value())
                if reached >= ends[partition]:
                    del ends[partition]
                    consumer.pause([TopicPartition(topic, partition)])
            if time.monotonic() > deadline:
                unread = ", ".join(f"partition {p} before offset {end}" for p, end in sorted(ends.items()))
                raise NotReadyError(f"Kafka gives no more of {topic}", f"nothing for {silence_s:.0f} s; not read: {unread}",
                                    "see the broker's log")
    finally:
        consumer.close()


def _reached(record: Record, admin: KafkaAdmin, topic: str) -> int | None:
    """The offset up to which its partition is read with it; None if it only tells that a broker is away. Raises what else it
    tells."""
    error = record.error()
    if error is None:
        return record.offset() + 1
    if error.code() == KafkaError._PARTITION_EOF:  # behind the last message lie markers of transactions
        return record.offset()
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise MarsError(f"Kafka deleted messages of {topic} before they were read", error.str(),
                        "lengthen the topic's retention")
    if error.code() in (*AWAY, *LEADERLESS) or error.retriable():
        return None
    raise admin.translate(KafkaException(error))
