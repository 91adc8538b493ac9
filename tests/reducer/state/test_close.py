"""When windows may close: rules 21 to 23."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mars.model.commits import QueryCommit
from reducer.state.close import CheckedWatermark, Facts, watermark_of
from tests.plans import changed
from tests.reducer.pieces import PLAN, STREAM

QUIET, SHORT = 1_001, 1_000  # IDLE of the plan is 1 s, its WATERMARK 2 s


def reached(positions: dict, times: dict, idle: dict, plan=PLAN, heard: bool = True) -> int | None:
    """The watermark of a query that starts at offset 0 of partitions 0 and 1."""
    commit = QueryCommit(1, positions=positions, max_event_time=times)
    facts = Facts(1, 1, idle) if heard else None
    return watermark_of(plan, STREAM, (0, 1), commit, {0: 0, 1: 0}, facts)


def test_the_slowest_partition_counts_less_the_delay():
    assert reached({0: 5, 1: 5}, {0: 100, 1: 60}, {}) == 58


def test_a_partition_without_event_time_holds_the_watermark():
    assert reached({0: 5}, {0: 100}, {}) is None


@pytest.mark.parametrize(("idle", "expected"), [
    ({1: (5, QUIET)}, 98),       # at the high watermark, and quiet for longer than IDLE
    ({1: (5, SHORT)}, 58),       # not for long enough
    ({1: (6, QUIET)}, 58),       # one record of it has not been merged
    ({1: (4, QUIET)}, 58),       # the leader's fact is older than the position
    ({0: (5, QUIET), 1: (5, QUIET)}, 98),  # all idle: the greatest
])
def test_a_partition_is_left_out_only_at_its_high_watermark(idle, expected):
    assert reached({0: 5, 1: 5}, {0: 100, 1: 60}, idle) == expected


def test_an_empty_partition_is_left_out_from_its_start():
    assert reached({0: 5}, {0: 100}, {1: (0, QUIET)}) == 98
    assert reached({}, {}, {0: (0, QUIET), 1: (0, QUIET)}) is None


def test_a_partition_holds_the_watermark_that_only_the_query_or_only_the_query_set_knows():
    commit = QueryCommit(1, positions={0: 5}, max_event_time={0: 100})
    for partitions, start in [((0,), {0: 0, 1: 0}), ((0, 1), {0: 0})]:
        assert watermark_of(PLAN, STREAM, partitions, commit, start, None) is None
    assert watermark_of(PLAN, STREAM, (0,), commit, {0: 0}, None) == 98


def test_idle_off_and_a_silent_leader_leave_out_none():
    idle = {1: (5, QUIET)}
    assert reached({0: 5, 1: 5}, {0: 100, 1: 60}, idle, changed(PLAN, idle_ms=None)) == 58
    assert reached({0: 5, 1: 5}, {0: 100, 1: 60}, idle, heard=False) == 58


def test_facts_are_read_from_the_exchange():
    assert Facts.parse({"begun": "7", "done": "6", "idle:12": "99:1500"}) == Facts(7, 6, {12: (99, 1500)})
    assert Facts.parse({}) == Facts()


def test_a_watermark_waits_for_a_check_that_began_after_it():
    checked = CheckedWatermark()
    assert checked.offer(10, Facts(begun=3, done=3)) is None
    assert checked.offer(10, Facts(begun=4, done=3)) is None
    assert checked.offer(12, Facts(begun=4, done=4)) == 10
    assert checked.offer(12, Facts(begun=5, done=5)) == 12


def test_a_check_that_was_under_way_does_not_count():
    checked = CheckedWatermark()
    assert checked.offer(10, Facts(begun=4, done=3)) is None
    assert checked.offer(10, Facts(begun=4, done=4)) is None
    assert checked.offer(10, Facts(begun=5, done=5)) == 10


@pytest.mark.parametrize("then", [None, 9])
def test_what_was_reached_without_a_partition_that_got_records_does_not_pass(then):
    checked = CheckedWatermark()
    assert checked.offer(10, Facts(begun=3, done=3)) is None
    assert checked.offer(then, Facts(begun=4, done=4)) is None
    assert checked.offer(10, Facts(begun=5, done=5)) in (None, 9)
    assert checked.offer(10, Facts(begun=6, done=6)) == 10


@pytest.mark.laws
@given(st.lists(st.tuples(st.none() | st.integers(0, 50), st.booleans()), max_size=40))
def test_what_passes_was_reached_before_a_later_check_began(steps):
    """Against the rule itself: the greatest that was offered before the check began that has ended last, and that has
    been reached ever since."""
    checked, begun, done, offered, best = CheckedWatermark(), 0, 0, [], -1
    for value, ends in steps:
        begun, done = (begun, begun) if ends else (begun + (begun == done), done)
        passed = checked.offer(value, Facts(begun, done))
        offered = [(offer, at) for offer, at in offered if value is not None and offer <= value]
        allowed = max((offer for offer, at in offered if done > at), default=-1)
        assert passed is None or passed <= allowed
        best = max(best, -1 if passed is None else passed)
        assert best >= allowed
        if value is not None:
            offered.append((value, begun))


def test_a_check_is_asked_for_only_if_a_window_waits_for_one_that_has_not_begun():
    checked = CheckedWatermark()
    checked.offer(10, Facts(begun=3, done=3))
    assert checked.needs_check(Facts(3, 3), lambda watermark: watermark >= 10)
    assert not checked.needs_check(Facts(3, 3), lambda watermark: watermark >= 11)
    checked.offer(11, Facts(begun=4, done=3))
    assert not checked.needs_check(Facts(4, 3), lambda watermark: watermark >= 10)
    assert checked.needs_check(Facts(4, 3), lambda watermark: watermark >= 11)
