"""EMIT FINAL TIMEOUT: when the clock may close windows, up to which watermark, and that rows say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mars.algebra import cells, windows
from mars.model.commits import QueryCommit
from mars.model.plan import Window
from reducer.state.changelog import resumed
from reducer.state.close import Facts, clock_watermark
from reducer.state.merge import QueryState
from reducer.state.timed import TimedState
from sql.check.compile import compile_select
from sql.read.parse import parse
from tests.plans import changed
from tests.reducer.pieces import QUERY, STREAM, piece

PLAN = compile_select(parse("SELECT k, t, count(*), sum(k) FROM s GROUP BY k, t WINDOWING 10 s WATERMARK 2 s IDLE 30 s "
                            "GRACE 3 s EMIT FINAL TIMEOUT 5 s"), STREAM, True)
STILL, SHORT = 5_001, 5_000
DAY_MS = 86_400_000
ENDS = {  # kind of window -> (window, the end of the last one that closes where nothing follows a tuple at 100 s)
    "tumbling": (Window("tumbling", 30_000), 120),
    "hopping": (Window("hopping", 60_000, 20_000), 160),
    "hopping, moved": (Window("hopping", 60_000, 20_000, -7_000), 153),
    "landmark each": (Window("landmark each", 600_000, 40_000), 120),
    "landmark from": (Window("landmark from", 40_000, 40_000, from_us=-10_000_000), 110),
    "session": (Window("session", 7_000), 107),
    "session, cut": (Window("session", 7_000, max_ms=20_000), 107),
    "sliding": (Window("sliding", 30_000), 100),
    "days": (Window("days", 7 * DAY_MS, DAY_MS, zone="Europe/Berlin"), 7 * 86_400 - 3_600),
    "landmark days": (Window("landmark days", DAY_MS, 3_600_000, zone="Europe/Berlin"), 3_600),
}


def clock(positions: dict, times: dict, idle: dict, plan=PLAN, heard: bool = True) -> int | None:
    commit = QueryCommit(1, positions=positions, max_event_time=times)
    return clock_watermark(plan, STREAM, (0, 1), commit, {0: 0, 1: 0}, Facts(1, 1, idle) if heard else None)


@pytest.mark.parametrize(("idle", "expected"), [
    ({0: (5, STILL), 1: (5, STILL)}, 113),  # all read to their ends, and still for longer than TIMEOUT: 110 + GRACE
    ({0: (5, STILL), 1: (5, SHORT)}, None),  # not for long enough
    ({0: (5, STILL)}, None),  # of the other one nothing is known
    ({0: (5, STILL), 1: (6, STILL)}, None),  # one record of it has not been merged
    ({0: (5, STILL), 1: (4, STILL)}, None),  # the leader's fact is older than the position
])
def test_the_clock_closes_windows_only_at_the_end_of_all_partitions(idle: dict, expected: int | None) -> None:
    assert clock({0: 5, 1: 5}, {0: 100, 1: 60}, idle) == expected


def test_an_empty_partition_is_at_its_end_and_without_any_tuple_there_is_no_window() -> None:
    assert clock({0: 5}, {0: 100}, {0: (5, STILL), 1: (0, STILL)}) == 113
    assert clock({}, {}, {0: (0, STILL), 1: (0, STILL)}) is None


def test_a_silent_leader_and_a_query_without_the_clause_close_nothing() -> None:
    idle = {0: (5, STILL), 1: (5, STILL)}
    assert clock({0: 5, 1: 5}, {0: 100, 1: 60}, idle, heard=False) is None
    assert clock({0: 5, 1: 5}, {0: 100, 1: 60}, idle, changed(PLAN, timeout_ms=None)) is None


@pytest.mark.parametrize("kind", ENDS)
def test_each_kind_closes_the_windows_of_the_last_tuple(kind: str) -> None:
    window, end = ENDS[kind]
    plan = changed(PLAN, window=window)
    found = windows.of(plan.aggregation, STREAM)
    assert found.rest_end(100) == end
    assert clock({0: 5, 1: 5}, {0: 100}, {0: (5, STILL), 1: (5, STILL)}, plan) == end + 3 + found.holds_its_end
    state = QueryState.resume(replace(QUERY, plan=plan), STREAM, None, [])
    state.accept(piece(1, 0, 0, [40, 95, 100], plan=plan))
    state.close(end + 3 + found.holds_its_end)
    rows = cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, state.closed)).to_pylist()
    assert any(row["window_start"].timestamp() <= 100 <= row["window_end"].timestamp() <= end for row in rows)
    left = [cell for table in state.open + state.delta for cell in table.to_pylist() if cell["n"]]
    assert bool(left) == kind.startswith(("landmark", "sliding"))


def timed() -> TimedState:
    state = resumed(replace(QUERY, plan=PLAN), STREAM, None, [])
    assert isinstance(state, TimedState)
    state.accept(piece(1, 0, 0, [85, 96], plan=PLAN))
    state.accept(piece(2, 1, 0, [101, 102], plan=PLAN))
    return state


def closed(state: TimedState) -> list[tuple[int, int, bool]]:
    table = state.closed_cells()
    rows = [] if table is None else cells.finish(PLAN, STREAM, table).to_pylist()
    return sorted((int(row["window_start"].timestamp()), row["k"], row["timed_out"]) for row in rows)


def passes(state: TimedState, facts: Facts) -> None:
    """The facts of a check, and those of the next one, which finds the same."""
    for number in (facts.done, facts.done + 1):
        passed = state.pass_check((0, 1), now := replace(facts, begun=number, done=number), now)
        if passed is not None:
            state.close(passed)


def test_rows_say_which_windows_the_clock_has_closed() -> None:
    state = timed()
    passes(state, Facts(1, 1))
    assert closed(state) == [(80, 0, False)], "94 is the watermark by event time, and 93 closes the first window"
    passes(state, Facts(3, 3, {0: (2, STILL), 1: (2, STILL)}))
    assert state.commit.watermark == 113
    assert closed(state) == [(80, 0, False), (90, 1, True), (100, 0, True), (100, 1, True)]


def test_windows_that_event_time_closes_at_the_same_moment_are_not_the_clocks() -> None:
    state = timed()
    passes(state, Facts(1, 1, {0: (2, STILL), 1: (2, STILL)}))
    assert closed(state) == [(80, 0, False), (90, 1, True), (100, 0, True), (100, 1, True)]


def test_what_comes_between_the_facts_and_the_check_keeps_windows_open() -> None:
    state, facts = timed(), Facts(1, 1, {0: (2, STILL), 1: (2, STILL)})
    assert state.pass_check((0, 1), facts, facts) is None
    idle = {0: (2, STILL), 1: (3, 0)}
    found = [state.pass_check((0, 1), later, later) for later in (Facts(2, 2, idle), Facts(3, 3, idle))]
    assert found == [None, 94], "by event time"


def test_a_later_tuple_is_late_for_what_the_clock_has_closed_and_counts_in_what_follows() -> None:
    state = timed()
    passes(state, Facts(1, 1, {0: (2, STILL), 1: (2, STILL)}))
    state.accept(piece(3, 0, 2, [109, 110], plan=PLAN))
    assert state.commit.counters["late"] == 1
    passes(state, Facts(5, 5))
    assert state.commit.watermark == 113, "it never goes back"
    passes(state, Facts(7, 7, {0: (4, STILL), 1: (2, STILL)}))
    assert state.commit.watermark == 123
    assert closed(state)[-1] == (110, 0, True)


def test_a_restart_keeps_what_is_closed() -> None:
    state = timed()
    passes(state, Facts(1, 1, {0: (2, STILL), 1: (2, STILL)}))
    again = resumed(replace(QUERY, plan=PLAN), STREAM, state.commit, state.open)
    again.accept(piece(3, 0, 2, [99], plan=PLAN))
    assert again.commit.counters["late"] == 1
