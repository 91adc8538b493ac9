"""How long a key part that was refused waits until it is read again."""

from __future__ import annotations

import math

import pytest

from reducer.committing.assignment import PartId
from reducer.refusals import MOST_S, Refusals
from tests.clock import ManualClock

ID = PartId(7, 0)


def test_each_refusal_in_a_row_doubles_the_wait_until_a_step_succeeds():
    clock, waited = ManualClock(), []
    known = Refusals(0.02, clock)
    assert known.next_in_s() == math.inf
    for _ in range(9):
        known.note(ID)
        assert known.waits(ID)
        waited.append(known.next_in_s())
        clock.now_s += waited[-1] + 1e-6
        assert not known.waits(ID)
    assert waited == pytest.approx([0.02, 0.04, 0.08, 0.16, 0.32, 0.64, MOST_S, MOST_S, MOST_S])
    known.forget(ID)
    known.note(ID)
    assert known.next_in_s() == pytest.approx(0.02)


@pytest.mark.parametrize(("by_exchange", "streams", "goes_on"), [
    (True, {7}, True), (True, {None}, True), (True, {8}, False), (True, set(), False),
    (False, {7}, False),  # entries come, but its commit does not read
])
def test_what_the_exchange_has_refused_waits_no_longer_than_until_entries_come(by_exchange, streams, goes_on):
    known = Refusals(10.0)
    known.note(ID, by_exchange)
    assert known.heard(streams) == goes_on
    assert known.waits(ID) != goes_on


def test_nothing_is_kept_of_what_another_reducer_owns():
    known = Refusals(10.0)
    known.note(ID)
    known.keep({PartId(7, 1)})
    assert not known.waits(ID)
