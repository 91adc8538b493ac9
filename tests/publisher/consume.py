"""What consumers of a topic get."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition


def read(address: str, topic: str, isolation: str = "read_committed") -> list[tuple[bytes, bytes]]:
    """(key, value) of all messages that a consumer of this isolation gets, partition by partition."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "tests", "isolation.level": isolation,
                         "auto.offset.reset": "earliest", "enable.auto.commit": False, "enable.partition.eof": True})
    try:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        found, open_ = [], set(partitions)
        while open_:
            message = consumer.poll(20)
            assert message is not None, "the end of the partition did not come"
            if message.error():
                open_.discard(message.partition())
            else:
                found.append((message.key(), message.value()))
        return found
    finally:
        consumer.close()
