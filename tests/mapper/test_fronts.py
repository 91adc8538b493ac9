"""New tuples of the partitions at home are claimed soon beside a backlog, and do not take a worker's time from it."""

from __future__ import annotations

import pytest

from mapper.fronts import REST, Fronts
from tests.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(100.0)


@pytest.fixture
def fronts(clock) -> Fronts:
    return Fronts(clock)


def test_a_round_has_the_partitions_with_new_tuples(fronts):
    fronts.begin({0: 10, 1: 20})
    assert fronts.due == {0: 10, 1: 20}
    fronts.claimed(1, 20)
    fronts.claimed(0, 10)
    assert fronts.due == {}
    fronts.begin({0: 10, 1: 25})
    assert fronts.due == {1: 25}


def test_what_a_round_has_left_is_in_the_next_one(fronts):
    fronts.begin({0: 10, 1: 20})
    fronts.claimed(0, 10)
    fronts.begin({0: 10, 1: 20})
    assert fronts.due == {1: 20}


def test_a_round_ends_when_there_is_nothing_to_claim(fronts):
    fronts.begin({0: 10})
    fronts.are_done()
    assert fronts.due == {}
    fronts.begin({0: 10})
    assert fronts.due == {}


def test_a_front_that_has_more_than_a_claim_of_a_round_is_left_to_batches_until_it_has_less(fronts):
    fronts.begin({0: 100})
    fronts.claimed(0, 50)
    fronts.begin({0: 200})
    assert fronts.due == {}
    fronts.claimed(0, 120)  # not in a round, and still not all
    fronts.begin({0: 300})
    assert fronts.due == {}
    fronts.claimed(0, 300)
    fronts.begin({0: 310})
    assert fronts.due == {0: 310}


def test_rounds_take_no_more_than_their_part_of_the_time(fronts, clock):
    ends, rounds_s, began_s = 0, 0.0, clock.now_s
    while clock.now_s < began_s + 60:
        ends += 1
        fronts.begin({0: ends, 1: ends})
        for partition in list(fronts.due):
            clock.now_s += 0.05
            rounds_s += 0.05
            fronts.claimed(partition, ends)
        clock.now_s += 0.01
    assert 0.8 / (1 + REST) < rounds_s / (clock.now_s - began_s) <= 1 / (1 + REST)
