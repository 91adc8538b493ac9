"""Ranges of offsets of a real broker: whole, or an error."""

from __future__ import annotations

import signal
import threading
import time

import psutil
import pytest
from confluent_kafka import Producer, TopicPartition

from mars.adapters.kafka import ranges
from mars.errors import MarsError, NotReadyError

pytestmark = pytest.mark.services


def test_ranges_end_where_they_are_to(kafka, stack, fresh_name):
    name = kafka.create(fresh_name("t"), 3).name
    for partition in range(2):
        stack.produce(name, [b"%d" % i for i in range(20)], partition)
    read = list(ranges.read(kafka, name, {0: (5, 9), 1: (0, 20), 2: (0, 0)}))
    assert [m.value for m in read if m.partition == 0] == [b"5", b"6", b"7", b"8"]
    assert [m.offset for m in read if m.partition == 1] == list(range(20))
    assert len(read) == 24


def test_a_range_may_end_in_a_gap(kafka, stack, fresh_name):
    """Behind the last message lies the marker of a transaction, before it those of one that was aborted."""
    name = kafka.create(fresh_name("t")).name
    producer = Producer({"bootstrap.servers": stack.config.kafka_address, "transactional.id": name})
    producer.init_transactions(30)
    for value, end in ((b"a", producer.commit_transaction), (b"b", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(name, value)
        producer.flush(30)
        end(30)
    deadline = time.monotonic() + 30
    while (ends := kafka.end_offsets(name, [0])) != {0: 4}:  # markers come after the producer has its answer
        assert time.monotonic() < deadline
    for end in range(1, ends[0] + 1):
        assert [m.value for m in ranges.read(kafka, name, {0: (0, end)}, 60)] == [b"a"]


def test_a_broker_that_is_silent_for_a_while_is_waited_for(kafka, stack, fresh_name):
    name = kafka.create(fresh_name("t")).name
    stack.produce(name, [b"x" * 1_000] * 20_000)
    broker = psutil.Process(stack.services.kafka.pid)
    reader = ranges.read(kafka, name, {0: (0, 20_000)}, 60)
    next(reader)
    broker.send_signal(signal.SIGSTOP)
    try:
        threading.Timer(5, broker.send_signal, [signal.SIGCONT]).start()
        assert sum(1 for _ in reader) == 19_999
        broker.send_signal(signal.SIGSTOP)
        with pytest.raises(NotReadyError, match="partition 0 before offset 20000"):
            list(ranges.read(kafka, name, {0: (0, 20_000)}, 1))
    finally:
        broker.send_signal(signal.SIGCONT)


def test_what_kafka_has_deleted_is_an_error(kafka, stack, fresh_name):
    name = kafka.create(fresh_name("t")).name
    stack.produce(name, [b"a"] * 10)
    kafka._admin.delete_records([TopicPartition(name, 0, 4)])[TopicPartition(name, 0)].result(30)
    with pytest.raises(MarsError, match="deleted messages"):
        list(ranges.read(kafka, name, {0: (2, 10)}, 60))
    assert len(list(ranges.read(kafka, name, {0: (4, 10)}, 60))) == 6
