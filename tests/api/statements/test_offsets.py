"""How old an end offset may be: a lag of 0 must mean that all that was sent before the question is committed."""

import threading
from types import SimpleNamespace

import pytest

from api.statements import offsets, status
from api.statements.offsets import EndOffsets
from mars.adapters.kafka.errors import TopicRecreated
from mars.errors import NotReadyError
from tests.clock import ManualClock

T, OTHER = SimpleNamespace(topic="t", topic_id="id"), SimpleNamespace(topic="other", topic_id="id")


class Broker:
    """Answers with the number of the question, once it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.dead = False
        self.leaderless = ""
        self.topic_id = "id"

    def topic(self, name):
        if name == self.leaderless:
            raise NotReadyError(f"{name} has no leader")
        return SimpleNamespace(topic_id=self.topic_id)

    def connect(self):
        if self.dead:
            raise NotReadyError("Kafka does not answer")

    def end_offsets(self, _topic, partitions):
        self.asked += 1
        answer = self.asked
        assert self.may_answer.wait(60)
        if self.dead:
            raise NotReadyError("Kafka does not answer")
        return dict.fromkeys(partitions, answer)


def test_every_question_gets_an_answer_that_is_not_older():
    ends = EndOffsets(Broker())
    assert ends.read(T, [0, 1]) == {0: 1, 1: 1}
    assert ends.read(T, [0, 1]) == {0: 2, 1: 2}


def test_an_answer_that_was_under_way_is_too_old_for_who_asks_meanwhile():
    broker = Broker()
    ends, answers = EndOffsets(broker), []
    broker.may_answer.clear()
    threads = [threading.Thread(target=lambda: answers.append(ends.read(T, [0])[0])) for _ in range(4)]
    threads[0].start()
    while not broker.asked:
        pass
    for thread in threads[1:]:
        thread.start()
    broker.may_answer.set()
    for thread in threads:
        thread.join(60)
    assert sorted(answers)[:2] == [1, 2]


def test_one_moment_may_stand_for_several_topics():
    ends = EndOffsets(Broker())
    first = ends.read(T, [0])
    assert ends.read(T, [0], asked_at=1e-9) == first


def test_a_dead_broker_is_not_asked_again_at_once():
    broker = Broker()
    broker.dead = True
    ends = EndOffsets(broker)
    for _ in range(3):
        with pytest.raises(NotReadyError):
            ends.read(T, [0])
    assert broker.asked == 1


def test_a_lag_that_nobody_knows_says_why():
    """A partition that Kafka does not tell of, or no Kafka at all: never a number."""
    broker = Broker()
    ends = EndOffsets(broker)
    context = SimpleNamespace(ends=ends)
    assert status._lag(context, T, {0: 0, 1: 1}, None) == ({"tuples": 1, "partitions": {"0": 1, "1": 0}}, None)
    broker.dead = True
    lag, reason = status._lag(context, T, {0: 0, 1: 1}, None)
    assert lag is None
    assert "Kafka does not answer" in reason


def test_a_broker_that_is_back_is_asked_again_soon():
    broker, clock = Broker(), ManualClock()
    ends = EndOffsets(broker, clock)
    broker.dead = True
    with pytest.raises(NotReadyError):
        ends.read(T, [0])
    broker.dead = False
    clock.now_s += offsets.AWAY_S
    assert ends.read(T, [0]) == {0: 2}
    assert offsets.AWAY_S <= 1


def test_a_topic_without_a_leader_does_not_hide_the_others():
    broker = Broker()
    broker.leaderless = "t"
    ends = EndOffsets(broker)
    with pytest.raises(NotReadyError):
        ends.read(T, [0])
    assert ends.read(OTHER, [0]) == {0: 1}
    with pytest.raises(NotReadyError):
        ends.read(T, [0])


def test_the_ends_of_another_topic_by_the_name_are_no_lag():
    """Neither when it is asked for, nor when somebody else has just asked."""
    broker = Broker()
    ends = EndOffsets(broker)
    broker.topic_id = "another"
    with pytest.raises(TopicRecreated):
        ends.read(T, [0])
    lag, reason = status._lag(SimpleNamespace(ends=ends), T, {0: 0}, 1e-9)
    assert (lag, broker.asked) == (None, 1)
    assert "was deleted and created again" in reason
