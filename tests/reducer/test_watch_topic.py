"""What the leader publishes of a topic, with a broker and an exchange that are told what to say."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mars.adapters.kafka_wire import TopicInfo
from mars.adapters.view import StreamView
from mars.config import Config
from mars.registry import QuerySet
from reducer import watch_topic
from reducer.watch_topic import TopicWatch
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(replace(STREAM, topic_id="t1"), QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)


class Broker:
    """Stands for Wire: a topic of two partitions that never moves."""

    def __init__(self, *_: object, **__: object) -> None:
        self.partitions = (0, 1)

    def topic(self, name: str) -> TopicInfo:
        return TopicInfo(name, "t1", dict.fromkeys(self.partitions, (1, 0)))

    def high_watermarks(self, topic: str, partitions: list[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, 5)


class Told(list):
    """Stands for the exchange: keeps what is published."""

    def publish_facts(self, stream_id: int, generation: int, epoch: int, facts: dict) -> None:
        self.append(facts)

    def least_positions(self, stream_id: int, key_parts: int) -> dict:
        return {}


@pytest.fixture
def told(monkeypatch) -> Told:
    """What leaders publish, in order."""
    monkeypatch.setattr(watch_topic, "Wire", Broker)
    return Told()


def look(told: Told, epoch: int, times: int) -> None:
    """A leader of this epoch checks the topic so many times."""
    watch = TopicWatch(Config(), told)
    for _ in range(times):
        watch.look(VIEW, SimpleNamespace(epoch=epoch), None)


def test_a_check_is_numbered_before_the_broker_is_asked_and_done_afterwards(told):
    look(told, 1, 2)
    assert [list(facts)[0] for facts in told] == ["begun", "done"] * 2
    assert told[0]["begun"] == told[1]["done"] < told[2]["begun"] == told[3]["done"]


def test_the_numbers_of_the_next_leader_are_higher_whatever_its_clock_says(told, monkeypatch):
    look(told, 3, 3)
    monkeypatch.setattr(watch_topic.time, "time_ns", lambda: 0)
    look(told, 4, 1)
    assert told[-2]["begun"] > told[-3]["done"]
