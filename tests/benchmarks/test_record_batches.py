"""Record batches made by hand are what Kafka's own clients read."""

import numpy as np
import pytest
from confluent_kafka import Consumer, TopicPartition
from kafka.record import MemoryRecords

from benchmarks.feed import Feeder, pack
from benchmarks.record_batches import CODECS, encode, varint
from mars.adapters.kafka.admin import KafkaAdmin


def rows(count: int, size: int) -> np.ndarray:
    numbers = np.arange(count * size, dtype=np.uint64) * 31 % 251
    return numbers.astype(np.uint8).reshape(count, size)


@pytest.mark.parametrize(("count", "size"), [(1, 1), (63, 5), (64, 148), (65, 148), (8_191, 3), (9_000, 40), (2, 9_000)])
def test_another_reader_finds_the_same_values(count, size):
    values = rows(count, size)
    records = MemoryRecords(encode(values, 1_700_000_000_123))
    batch = records.next_batch()
    assert batch.validate_crc()
    found = list(batch)
    assert [record.offset for record in found] == list(range(count))
    assert [record.value for record in found] == [bytes(value) for value in values]
    assert {record.timestamp for record in found} == {1_700_000_000_123}
    assert not records.has_next()


@pytest.mark.services
@pytest.mark.parametrize("codec", sorted(CODECS))
def test_the_broker_and_its_clients_take_every_codec(stack, fresh_name, codec):
    topic = fresh_name("codec")
    KafkaAdmin(stack.config.kafka_address).create(topic)
    values = rows(5_000, 148)
    Feeder(stack.config.kafka_address, topic).send(0, encode(values, 1_700_000_000_123, codec))
    consumer = Consumer({"bootstrap.servers": stack.config.kafka_address, "group.id": topic, "check.crcs": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = consumer.consume(5_000, timeout=20)
    consumer.close()
    assert [message.value() for message in found] == [bytes(value) for value in values]


@pytest.mark.parametrize(("value", "text"), [(0, "00"), (-1, "01"), (63, "7e"), (64, "8001"), (-65, "8101")])
def test_varints_are_zigzag(value, text):
    assert varint(value).hex() == text


def test_packed_lines_end_each_with_a_line_feed():
    packed = pack(rows(6, 2), 3)
    assert [bytes(message).count(b"\n") >= 3 for message in packed] == [True, True]
    assert bytes(packed[0]) == b"".join(bytes(row) + b"\n" for row in rows(6, 2)[:3])
