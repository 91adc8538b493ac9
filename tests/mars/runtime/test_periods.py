"""When something is due, and due again."""

from __future__ import annotations

from mars.runtime.periods import Backoff, Every
from tests.clock import ManualClock


def test_it_is_due_at_first_and_after_each_period():
    clock = ManualClock()
    every = Every(2.0, clock)
    assert every.is_due()
    every.begin()
    assert not every.is_due()
    assert every.due_in_s() == 2.0
    clock.now_s += 1.5
    assert every.due_in_s() == 0.5
    clock.now_s += 0.5
    assert every.is_due()
    assert every.due_in_s() == 0.0
    every.begin()
    every.end()
    assert every.is_due()


def test_what_is_done_late_is_due_a_whole_period_later():
    clock = ManualClock()
    every = Every(2.0, clock)
    every.begin()
    clock.now_s += 7.0
    every.begin()
    assert every.due_in_s() == 2.0


def test_periods_double_up_to_the_longest_until_it_works():
    clock = ManualClock()
    backoff = Backoff(0.5, 3.0, clock)
    assert backoff.is_due()
    assert [backoff.begin() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert not backoff.is_due()
    assert backoff.due_in_s() == 3.0
    backoff.reset()
    assert backoff.is_due()
    assert [backoff.begin(), backoff.begin()] == [0.5, 1.0]
    clock.now_s += 1.0
    assert backoff.is_due()
