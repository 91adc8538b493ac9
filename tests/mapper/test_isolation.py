"""A claim that was given before is worked on with nothing else at work, and says how far it is (rule 10)."""

from __future__ import annotations

import threading

import pytest

from mapper.handoff import Fetched, Handoff
from mapper.isolation import Isolation
from mars.model.claims import Claim
from tests.mapper.handed import Exchange, view

VIEW = view()


def claim(given: int, kills: str = "") -> Claim:
    return Claim(7, 0, 5, 6, {"q1": 1}, 3, given, None, kills)


@pytest.fixture
def handoff() -> Handoff:
    """One batch is handed over and not computed yet."""
    made = Handoff()
    assert made.reserve(0)
    made.put(Fetched(VIEW, claim(1), {}, None))
    return made


@pytest.fixture
def isolation(handoff) -> Isolation:
    return Isolation(None, Exchange(), handoff, threading.Event())


def test_a_first_claim_waits_for_nobody_and_marks_nothing(isolation):
    isolation.begin(VIEW, claim(1))
    isolation.compute(VIEW, claim(1))
    isolation.end(claim(1))
    assert isolation.exchange.marked == []


@pytest.mark.parametrize("step", ["begin", "end"])
def test_a_suspect_is_alone_before_it_is_read_and_until_it_is_computed(isolation, handoff, step):
    work = {"begin": lambda: isolation.begin(VIEW, claim(2)), "end": lambda: isolation.end(claim(2))}[step]
    thread = threading.Thread(target=work)
    thread.start()
    handoff.take(0)
    thread.join(0.05)
    assert thread.is_alive()
    assert isolation.exchange.marked == []
    handoff.done()
    thread.join(60)
    assert not thread.is_alive()


def test_a_mapper_that_stops_waits_no_longer(isolation):
    isolation._stopping.set()
    isolation.end(claim(2))


def test_it_says_how_far_it_is_unless_all_is_known(isolation, handoff):
    handoff.take(0)
    handoff.done()
    isolation.begin(VIEW, claim(2))
    isolation.compute(VIEW, claim(2))
    assert isolation.exchange.marked == ["reading", "computing"]
    isolation.begin(VIEW, claim(6, "reading"))
    isolation.compute(VIEW, claim(6, "reading"))
    assert len(isolation.exchange.marked) == 2
