"""What the leader publishes of a topic, with a broker and an exchange that are told what to say."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, KafkaException

from mars.adapters.kafka.cluster import TopicInfo
from mars.adapters.kafka.errors import KafkaUnreachable, TopicRecreated, UnknownTopic
from mars.adapters.view import StreamView
from mars.model.registry import QuerySet
from reducer import connections
from reducer.leading import watch_topic
from reducer.leading.watch_topic import Seen, TopicWatch
from tests.clock import ManualClock
from tests.reducer import handed
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(replace(STREAM, topic_id="t1"), QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)

GONE, AWAY = UnknownTopic("t"), KafkaUnreachable("t", 0, "no answer")


class Broker:
    """Stands for Wire: a topic of two partitions that never moves."""

    def __init__(self) -> None:
        self.partitions = (0, 1)

    def topic(self, name: str, topic_id: str) -> TopicInfo:
        return TopicInfo(name, topic_id, dict.fromkeys(self.partitions, (1, 0)))

    def newest(self, name: str, topic_id: str) -> TopicInfo | None:
        return self.topic(name, topic_id)

    def newest_ends(self, name: str, topic_id: str) -> tuple[TopicInfo, dict[int, int]] | None:
        info = self.topic(name, topic_id)
        return info, dict.fromkeys(info.partitions, 5)


class Told(list):
    """Stands for the exchange and for its streams as the leader has them: keeps what is published."""

    def lead(self, stream_id: int, **_: int) -> Told:
        return self

    def publish_facts(self, facts: dict) -> None:
        self.append(facts)

    def least_positions(self, stream_id: int, key_parts: int) -> dict:
        return {}


@pytest.fixture
def told() -> Told:
    """What leaders publish, in order."""
    return Told()


def watch_of(told: Told | None, clock: ManualClock | None = None, open_group: Callable | None = None) -> TopicWatch:
    """One that asks a Broker, and tells Kafka nothing unless it may open a group."""
    known = handed.connections(exchange=told, wire=Broker(), open_group=open_group or Group)
    return TopicWatch(known, handed.runtime(clock))


def look(told: Told, epoch: int, times: int) -> None:
    """A leader of this epoch checks the topic so many times."""
    watch = watch_of(told)
    for _ in range(times):
        watch.look(VIEW, SimpleNamespace(epoch=epoch), None)


def test_a_check_is_numbered_before_the_broker_is_asked_and_done_afterwards(told):
    look(told, 1, 2)
    assert [next(iter(facts)) for facts in told] == ["begun", "done"] * 2
    assert told[0]["begun"] == told[1]["done"] < told[2]["begun"] == told[3]["done"]


def test_the_numbers_of_the_next_leader_are_higher_whatever_its_clock_says(told):
    look(told, 3, 3)
    watch_of(told, ManualClock(0.0)).look(VIEW, SimpleNamespace(epoch=4), None)
    assert told[-2]["begun"] > told[-3]["done"]


class Group:
    """Stands for the Consumer of a group: what was committed, and who was closed."""

    committed: list[dict[int, int]]
    closed: threading.Event
    polled: int
    refuses = False

    def __init__(self, stream: object) -> None:
        if self.refuses:
            raise KafkaException("no such certificate")

    def commit(self, offsets: list, asynchronous: bool) -> None:
        self.committed.append({place.partition: place.offset for place in offsets})

    def poll(self, timeout: float) -> None:
        type(self).polled += 1
        assert timeout == 0

    def close(self) -> None:
        self.closed.wait(10)


@pytest.fixture
def group(told, monkeypatch) -> type[Group]:
    """What Kafka hears of a query whose committed positions stand at 5."""
    monkeypatch.setattr(told, "least_positions", lambda *_: {(0, "q1"): 5, (1, "q1"): 5}, raising=False)
    monkeypatch.setattr(Group, "committed", [], raising=False)
    monkeypatch.setattr(Group, "polled", 0, raising=False)
    monkeypatch.setattr(Group, "closed", threading.Event(), raising=False)
    return Group


def test_kafka_hears_offsets_anew_though_nothing_moves(told, group):
    """The commit before may have been lost, and old offsets are forgotten by brokers."""
    clock = ManualClock()
    watch = watch_of(told, clock)
    for waited_s in (0.0, watch_topic.OFFSETS_S, watch_topic.TELL_ANEW_S):
        clock.now_s += waited_s
        watch.look(VIEW, SimpleNamespace(epoch=1), None)
    assert group.committed == [{0: 5, 1: 5}] * 2
    assert group.polled == 2


@pytest.mark.services
def test_what_kafka_answers_to_offsets_does_not_pile_up(stack, fresh_name, monkeypatch):
    """The library keeps each answer until it is taken, and the leader tells offsets for months."""
    heard: list[object] = []
    monkeypatch.setattr(connections, "Consumer", lambda config, **options: Consumer(
        config | {"on_commit": lambda error, places: heard.append(error)}, **options))
    watch = watch_of(None, open_group=partial(connections.open_group, stack.config.kafka_address, {}))
    view = replace(VIEW, stream=replace(VIEW.stream, name=fresh_name("group"), topic=fresh_name("none")))
    deadline = time.monotonic() + 60
    while len(heard) < 3 and time.monotonic() < deadline:
        watch._tell_kafka(view, Seen(), {(0, "q1"): 5})
        time.sleep(0.1)
    assert len(heard) >= 3
    watch.groups[view.stream.id].close()


def test_a_group_that_cannot_be_made_does_not_end_the_leader(told, group, monkeypatch):
    monkeypatch.setattr(Group, "refuses", True)
    look(told, 1, 1)
    assert "done" in told[-1]


def test_nothing_is_kept_of_dropped_streams_and_nobody_waits_until_their_groups_are_closed(told, group):
    watch = watch_of(told)
    for stream_id in (1, 2):
        watch.look(replace(VIEW, stream=replace(VIEW.stream, id=stream_id)), SimpleNamespace(epoch=1), None)
    began = time.monotonic()
    watch.keep({2: VIEW})
    assert time.monotonic() - began < 5
    group.closed.set()
    assert watch.seen.keys() == watch.groups.keys() == {2}


@pytest.mark.parametrize(("answers", "elsewhere", "stopped"), [
    ([GONE] * 2, False, 0),
    ([GONE] * 4, False, 1),
    ([GONE] * 4, True, 0),  # the broker lags behind another one
    ([GONE] * 2 + [AWAY] * 3 + [GONE] * 2, False, 0),  # the broker was away, and has just started again
    ([GONE] * 2 + [None] + [GONE] * 2, False, 0),
])
def test_a_topic_is_lost_that_no_broker_knows_for_a_while(told, monkeypatch, answers, elsewhere, stopped):
    clock, left, stops = ManualClock(), list(answers), []

    def topic(broker: Broker, name: str, topic_id: str) -> TopicInfo:
        clock.now_s += 4.0
        if (error := left.pop(0)) is not None:
            raise error
        return known(broker, name, topic_id)

    known = Broker.topic
    monkeypatch.setattr(Broker, "topic", topic)
    monkeypatch.setattr(Broker, "newest", lambda self, *of: known(self, *of) if elsewhere else None)
    monkeypatch.setattr(watch_topic, "stop_queries", lambda *stop: stops.append(stop[3]))
    watch = watch_of(told, clock)
    for _ in answers:
        with contextlib.suppress(KafkaUnreachable):
            watch.look(VIEW, SimpleNamespace(epoch=1), None)
    assert stops == ["DATA_LOSS"] * stopped


def test_queries_stop_of_a_topic_that_was_made_anew(told, monkeypatch):
    def topic(*_: object) -> TopicInfo:
        raise TopicRecreated("t", "t1", "t2")

    stops = []
    monkeypatch.setattr(Broker, "topic", topic)
    monkeypatch.setattr(watch_topic, "stop_queries", lambda *stop: stops.append(stop))
    look(told, 1, 1)
    (*_, state, reason), = stops
    assert state == "TOPIC_RECREATED"
    assert "created again: its id was t1 and is t2; DROP" in reason


@pytest.mark.parametrize(("position", "end", "latest", "stopped"), [
    (5, 5, 0, []),        # all is there
    (9, 9, 0, []),        # the high watermark is of a leader that has just begun; its log has all
    (9, 7, 0, ["q1"]),    # the leader's own log ends earlier
    (9, 7, 1, []),        # that one leads no more, by what another broker knows
])
def test_a_query_stops_that_has_counted_past_the_end_of_the_log(told, monkeypatch, position, end, latest, stopped):
    stops = []
    monkeypatch.setattr(Broker, "newest", lambda _self, name, id_: TopicInfo(name, id_, {0: (2, latest)}))
    monkeypatch.setattr(watch_topic, "stop_queries", lambda *stop: stops.append(stop))
    monkeypatch.setattr(told, "least_positions", lambda *_: {(0, "q1"): position, (0, "gone"): 99}, raising=False)
    monkeypatch.setattr(Broker, "epoch_ends", lambda _self, _topic, asked: {p: (e, end) for p, e in asked.items()},
                        raising=False)
    monkeypatch.setattr(TopicWatch, "_tell_kafka", lambda *_: None)
    look(told, 1, 1)
    assert [query for stop in stops for query in stop[2]] == stopped
    if stopped:
        assert stops[0][3] == "LOG_TRUNCATED"
        assert "[7, 9) of partition 0" in stops[0][4]


def test_epochs_of_a_log_are_asked_for_once_for_each_leader(told, monkeypatch):
    asked = []

    def epoch_ends(_self: object, _topic: str, epochs: dict[int, int]) -> dict[int, tuple[int, int]]:
        asked.append(dict(epochs))
        return {p: (epoch, 600 + epoch) for p, epoch in epochs.items()}

    monkeypatch.setattr(Broker, "epoch_ends", epoch_ends, raising=False)
    epochs = [2, 2, 3]
    monkeypatch.setattr(Broker, "topic", lambda _self, name, id_: TopicInfo(name, id_, {0: (1, epochs.pop(0)), 1: (1, 0)}))
    look(told, 1, 3)
    assert asked == [{0: 1}, {0: 0}, {0: 2}, {0: 1}, {0: 0}]
    assert [facts["log:0"] for facts in told[1::2]] == ["2 0:600 1:601"] * 2 + ["3 0:600 1:601 2:602"]
    assert {facts["log:1"] for facts in told[1::2]} == {"0"}


def test_a_topic_that_does_not_answer_rests_so_that_others_need_not_wait_for_it(told, monkeypatch):
    clock, asked, answers = ManualClock(), [], [AWAY]

    def topic(_self: object, name: str, id_: str) -> TopicInfo:
        asked.append(clock.now_s)
        if answers[0]:
            raise answers[0]
        return TopicInfo(name, id_, {0: (1, 0), 1: (1, 0)})

    monkeypatch.setattr(Broker, "topic", topic)
    watch = watch_of(told, clock)

    def pass_time(seconds: float) -> list[float]:
        """When it was asked meanwhile, from now on."""
        asked.clear()
        for _ in range(int(seconds * 4)):
            with contextlib.suppress(KafkaUnreachable):
                watch.look(VIEW, SimpleNamespace(epoch=1), None)
            clock.now_s += 0.25
        return [at - clock.now_s + seconds for at in asked]

    assert pass_time(20.0) == [0.0, 0.5, 1.5, 3.5, 7.5, 12.5, 17.5]
    assert watch.silent_s() == 20.0
    answers[0] = None
    assert pass_time(4.0) == [2.5, 2.75, 3.0, 3.25, 3.5, 3.75]
    assert watch.silent_s() == 0.0


@pytest.mark.parametrize("others", [GONE, TopicRecreated("t", "t1", "t2")])
def test_a_broker_that_answers_anything_is_heard(told, monkeypatch, others):
    watch = watch_of(told)
    watch.silent_since = 1.0
    monkeypatch.setattr(Broker, "topic", lambda *_: _raised(others))
    monkeypatch.setattr(watch_topic, "stop_queries", lambda *_: None)
    watch.look(VIEW, SimpleNamespace(epoch=1), None)
    assert watch.silent_s() == 0.0


def _raised(error: Exception) -> None:
    raise error
