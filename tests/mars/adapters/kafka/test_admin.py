"""Topics and offsets of a real broker."""

from __future__ import annotations

import time
import uuid

import pytest
from confluent_kafka import Producer

from mars.adapters.kafka import admin
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.cluster import TopicInfo
from mars.adapters.kafka.errors import FENCED_OR_MOVED, UnknownTopic
from mars.adapters.kafka.wire import Wire
from mars.errors import NotFoundError, NotReadyError

pytestmark = pytest.mark.services


def test_asking_for_a_topic_does_not_make_it(kafka, fresh_name):
    name = fresh_name("never")
    assert kafka.describe(name) is None
    with pytest.raises(NotFoundError):
        kafka.require(name)
    assert name not in kafka.topics()
    assert kafka.describe("no topic, as it has blanks") is None


def test_a_topic_has_an_id_and_partitions(kafka, fresh_name):
    made = kafka.create(fresh_name("t"), 3)
    assert str(uuid.UUID(made.topic_id)) == made.topic_id
    assert list(made.partitions) == [0, 1, 2]
    assert kafka.create(made.name, 3).topic_id == made.topic_id


def test_the_end_is_the_last_stable_offset(kafka, stack, fresh_name):
    name = kafka.create(fresh_name("t")).name
    stack.produce(name, [b"a", b"b"])
    producer = Producer({"bootstrap.servers": stack.config.kafka_address, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(name, b"open")
    producer.flush(30)
    assert kafka.end_offsets(name, [0]) == {0: 2}
    assert [m.value for m in kafka.peek(name, 10)] == [b"a", b"b"]
    producer.abort_transaction(30)
    stack.produce(name, [None])
    deadline = time.monotonic() + 30
    while kafka.end_offsets(name, [0]) != {0: 5}:  # the abort's marker comes after the producer has its answer
        assert time.monotonic() < deadline
    assert [m.value for m in kafka.peek(name, 10, newest=True)] == [b"a", b"b", None]


def test_offsets_by_time(kafka, stack, fresh_name):
    name = kafka.create(fresh_name("t")).name
    stack.produce(name, [b"a"])
    time.sleep(0.05)
    middle = time.time_ns() // 1_000_000
    time.sleep(0.05)
    stack.produce(name, [b"b"])
    assert kafka.offsets_at(name, [0], middle) == {0: 1}
    assert kafka.offsets_at(name, [0], 0) == {0: 0}
    assert kafka.offsets_at(name, [0], middle + 3_600_000) == {0: 2}


def test_peek_takes_the_oldest_or_the_newest(kafka, stack, fresh_name):
    name = kafka.create(fresh_name("t"), 2).name
    stack.produce(name, [b"%d" % i for i in range(20)])
    assert [m.value for m in kafka.peek(name, 3)] == [b"0", b"1", b"2"]
    began = time.monotonic()
    assert [m.value for m in kafka.peek(name, 3, newest=True, wait_s=30.0)] == [b"17", b"18", b"19"]
    assert time.monotonic() - began < 20, "it waited for more than there is"


def test_a_dead_broker_is_said_so_in_seconds():
    away = KafkaAdmin("127.0.0.1:1", timeout_s=0.3)
    began = time.monotonic()
    for call in (away.topics, lambda: away.describe("t"), lambda: away.end_offsets("t", [0]), lambda: away.peek("t", 1)):
        with pytest.raises(NotReadyError, match=r"127\.0\.0\.1:1"):
            call()
    assert time.monotonic() - began < 30


def test_a_topic_that_the_broker_hears_of_late_is_waited_for(kafka, monkeypatch):
    answers = [UnknownTopic("late"), UnknownTopic("late"), TopicInfo("late", "id", {0: (1, 0)})]

    def topic(_wire: Wire, _name: str) -> TopicInfo:
        answer = answers.pop(0)
        if isinstance(answer, TopicInfo):
            return answer
        raise answer

    monkeypatch.setattr(Wire, "topic", topic)
    assert kafka.describe("late", 60).topic_id == "id"
    assert admin.HEARD_S <= 1, "who mistypes a name waits no longer than that"


@pytest.mark.parametrize("code", FENCED_OR_MOVED)
def test_a_leader_that_is_not_known_everywhere_is_waited_for(kafka, fresh_name, monkeypatch, code):
    """So it is with a topic that was just made: the broker's first answers are errors."""
    name, check, codes = kafka.create(fresh_name("t")).name, Wire._check, [code, code]

    def failing_first(self, topic: str, found: int, partition: int) -> None:
        check(self, topic, codes.pop() if codes and partition >= 0 else found, partition)

    monkeypatch.setattr(Wire, "_check", failing_first)
    assert kafka.end_offsets(name, [0]) == {0: 0}
    assert not codes
