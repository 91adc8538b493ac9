"""How old an end offset may be: a lag of 0 must mean that all that was sent before the question is committed."""

import threading

import pytest

from api.offsets import EndOffsets
from mars.errors import NotReadyError


class Broker:
    """Answers with the number of the question, once it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.dead = False

    def end_offsets(self, _topic, partitions):
        self.asked += 1
        answer = self.asked
        assert self.may_answer.wait(5)
        if self.dead:
            raise NotReadyError("Kafka does not answer")
        return dict.fromkeys(partitions, answer)


def test_every_question_gets_an_answer_that_is_not_older():
    ends = EndOffsets(Broker())
    assert ends.read("t", [0, 1]) == {0: 1, 1: 1}
    assert ends.read("t", [0, 1]) == {0: 2, 1: 2}


def test_an_answer_that_was_under_way_is_too_old_for_who_asks_meanwhile():
    broker = Broker()
    ends, answers = EndOffsets(broker), []
    broker.may_answer.clear()
    threads = [threading.Thread(target=lambda: answers.append(ends.read("t", [0])[0])) for _ in range(4)]
    threads[0].start()
    while not broker.asked:
        pass
    for thread in threads[1:]:
        thread.start()
    broker.may_answer.set()
    for thread in threads:
        thread.join(5)
    assert sorted(answers)[:2] == [1, 2]


def test_one_moment_may_stand_for_several_topics():
    ends = EndOffsets(Broker())
    first = ends.read("t", [0])
    assert ends.read("t", [0], asked_at=1e-9) == first


def test_a_dead_broker_is_not_asked_again_at_once():
    broker = Broker()
    broker.dead = True
    ends = EndOffsets(broker)
    for _ in range(3):
        with pytest.raises(NotReadyError):
            ends.read("t", [0])
    assert broker.asked == 1
