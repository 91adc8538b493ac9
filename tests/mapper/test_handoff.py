"""Batches go from one thread to the other in their order, only a few of them wait, and one knows when the other is idle."""

from __future__ import annotations

import threading
import time

import pytest

from mapper.handoff import PLACES, SMALL_MAX, Fetched, Handoff
from mars.model.claims import Claim

LONG_S = 60.0


def fetched(number: int, small: bool = False) -> Fetched:
    return Fetched(None, Claim(number, 0, number, number + 1, {}, 1, 1, None), {}, None, small=small)


@pytest.fixture
def handoff() -> Handoff:
    return Handoff()


def put(handoff: Handoff, number: int, small: bool = False) -> None:
    assert handoff.reserve(LONG_S)
    handoff.put(fetched(number, small))


def test_batches_come_in_their_order(handoff):
    for number in range(PLACES):
        put(handoff, number)
    assert [handoff.take(0).claim.id for _ in range(PLACES)] == list(range(PLACES))
    assert handoff.take(0) is None


def test_what_waits_is_bounded_and_what_is_computed_does_not_count(handoff):
    for number in range(PLACES):
        put(handoff, number)
    assert not handoff.reserve(0)
    handoff.take(0)
    assert handoff.reserve(0)
    assert not handoff.reserve(0)


def test_small_batches_go_first_and_leave_the_places_to_large_ones(handoff):
    for number in range(SMALL_MAX):
        put(handoff, number, small=True)
    for number in range(PLACES):
        put(handoff, SMALL_MAX + number)
    assert not handoff.reserve(0)
    assert [handoff.take(0).claim.id for _ in range(SMALL_MAX)] == list(range(SMALL_MAX))
    assert not handoff.reserve(0)  # small ones had none to free
    assert handoff.take(0).claim.id == SMALL_MAX
    assert handoff.reserve(0)


def test_small_batches_that_wait_are_bounded_too(handoff):
    for number in range(SMALL_MAX + PLACES):
        put(handoff, number, small=True)
    assert not handoff.reserve(0)
    assert [handoff.take(0).claim.id for _ in range(SMALL_MAX + PLACES)] == list(range(SMALL_MAX + PLACES))
    assert [handoff.reserve(0) for _ in range(PLACES + 1)] == [True] * PLACES + [False]


def test_all_that_waits_is_taken_back_with_its_places(handoff):
    put(handoff, 0, small=True)
    for number in range(PLACES):
        put(handoff, 1 + number)
    assert [each.claim.id for each in handoff.take_back()] == list(range(1 + PLACES))
    assert handoff.is_idle()
    assert [handoff.reserve(0) for _ in range(PLACES + 1)] == [True] * PLACES + [False]


def test_a_place_of_which_nothing_came_is_free_again(handoff):
    assert [handoff.reserve(0) for _ in range(PLACES + 1)] == [True] * PLACES + [False]
    handoff.release()
    assert [handoff.reserve(0), handoff.reserve(0)] == [True, False]


def test_it_is_idle_when_all_that_was_put_is_done_and_not_before(handoff):
    assert handoff.wait_idle(0)
    put(handoff, 1)
    assert not handoff.is_idle()
    handoff.take(0)
    put(handoff, 2)  # beside the one that is computed
    handoff.done()
    assert not handoff.wait_idle(0)
    handoff.take(0)
    assert not handoff.wait_idle(0)
    handoff.done()
    assert handoff.is_idle()
    assert handoff.wait_idle(0)


@pytest.mark.parametrize("wait", ["reserve", "take", "wait_idle"])
def test_who_waits_goes_on_as_soon_as_it_may(handoff, wait):
    if wait != "take":
        for number in range(PLACES):
            put(handoff, number)
    found, began = [], time.monotonic()
    thread = threading.Thread(target=lambda: found.append(getattr(handoff, wait)(LONG_S)))
    thread.start()
    thread.join(0.02)
    assert thread.is_alive()
    if wait == "take":
        put(handoff, 1)
    for _ in range(PLACES if wait != "take" else 0):
        handoff.take(0)
        handoff.done()
    thread.join(LONG_S)
    assert found
    assert found[0]
    assert time.monotonic() - began < LONG_S / 2


def test_two_threads_lose_nothing_and_hold_little(handoff):
    count, took, most = 3_000, [], []

    def compute() -> None:
        while len(took) < count:
            batch = handoff.take(LONG_S)
            most.append(len(handoff._waiting))
            took.append(batch.claim.id)
            handoff.done()

    thread = threading.Thread(target=compute)
    thread.start()
    for number in range(count):
        put(handoff, number)
    assert handoff.wait_idle(LONG_S)
    thread.join(LONG_S)
    assert took == list(range(count))
    assert max(most) <= PLACES
