"""Sessions: the longest runs, in whatever batches and order they come, closed once each, and across restarts."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells, cells_joined
from mars.model.plan import QueryPlan, Window
from tests.mars.algebra.windows.kept_state import Kept, Rows, rows_of
from tests.plans import changed
from tests.reducer.pieces import PLAN, STREAM

GAP, MOST, GRACE = 10, 35, 3  # seconds, as the stream counts
PLANS = {"": Window("session", GAP * 1_000), "with MAX": Window("session", GAP * 1_000, max_ms=MOST * 1_000)}


@pytest.fixture(params=PLANS)
def plan(request) -> QueryPlan:
    return changed(PLAN, window=PLANS[request.param])


def expected(plan: QueryPlan, tuples: list[tuple[int, int]]) -> Rows:
    """The sessions of (time, key), the plain way."""
    most = MOST if plan.aggregation.window.max_ms else 10**9
    found: Rows = {}
    for key in {key for _, key in tuples}:
        times = sorted(time for time, of in tuples if of == key)
        first, held = times[0], [times[0]]
        for time in [*times[1:], 10**12]:
            if time - held[-1] > GAP or time - first > most:
                found[first, min(held[-1] + GAP, first + most), key] = len(held), key * len(held)
                first, held = time, []
            held.append(time)
    return found


def cells_of(plan: QueryPlan, tuples: list[tuple[int, int]]) -> pa.Table:
    times, keys = (np.array([pair[i] for pair in tuples], np.int64) for i in (0, 1))
    return cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(keys), "t": pa.array(times)}, times, None, 0,
                           np.arange(len(times)), np.zeros(len(times), np.int32))


def drawn(chance: random.Random, number: int, until: int) -> list[tuple[int, int]]:
    return [(chance.randrange(until), chance.randrange(3)) for _ in range(number)]


@pytest.mark.parametrize("seed", range(8))
def test_any_batches_merged_in_any_order_are_the_same_sessions(plan, seed):
    chance = random.Random(seed)
    tuples = drawn(chance, 120, 900)
    tables, at = [], 0
    while at < len(tuples):
        size = chance.choice((1, 2, 9, 40))
        tables.append(cells_of(plan, tuples[at:at + size]))
        at += size
    while len(tables) > 1:
        chance.shuffle(tables)
        several = chance.randrange(2, 5)
        tables = [cells.merge(plan.aggregation, STREAM, tables[:several]), *tables[several:]]
    assert rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, tables[0])]) == expected(plan, tuples)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_on_time_gives_the_same_sessions_whatever_happens(plan, seed):
    """Batches of any size, watermarks at any time, commits, restarts: no tuple is late, and no session other than those of
    all tuples together."""
    chance, kept = random.Random(seed), Kept(plan)
    tuples: list[tuple[int, int]] = []
    watermark = -1_000
    for step in range(80):
        times = [4 * step + chance.randrange(-25, 3) for _ in range(chance.randrange(6))]
        tuples += kept.accept([max(watermark - GRACE, time) for time in times])
        if chance.random() < 0.5:
            watermark = max(watermark, 4 * step - chance.randrange(12, 40))
            kept.state.close(watermark)
        if chance.random() < 0.4:
            kept.commit()
            open_ = {window: row for window, row in expected(plan, tuples).items() if window not in kept.rows}
            assert kept.partial() == open_
        if kept.commits and chance.random() < 0.15:
            kept.restart(chance.choice((0, 0, 1, 2)))
            kept.state.close(watermark)
    kept.state.close(10_000)
    kept.commit()
    assert kept.rows == expected(plan, tuples)
    assert kept.late == 0


@pytest.mark.parametrize("seed", range(6))
def test_late_tuples_one_by_one(seed):
    """Against a plain model: a tuple that touches a closed session is late, and one that is in none and too old."""
    plan = changed(PLAN, window=PLANS[""])
    chance, kept = random.Random(seed), Kept(plan)
    open_: dict[int, list[list[int]]] = defaultdict(list)
    closed: dict[int, list[tuple[int, int]]] = defaultdict(list)
    given: Rows = {}
    late, watermark = 0, -1_000
    for offset in range(300):
        time, key = offset + chance.randrange(-60, 3), offset % 3
        reached = [session for session in open_[key] if session[0] - GAP <= time <= session[-1] + GAP]
        if any(first - GAP <= time <= last + GAP for first, last in closed[key]) or (
                not reached and time + GAP + GRACE < watermark):
            late += 1
        else:
            open_[key] = [session for session in open_[key] if session not in reached]
            open_[key].append(sorted([time, *(one for session in reached for one in session)]))
        kept.accept([time])
        assert kept.late == late
        if chance.random() < 0.3:
            watermark = max(watermark, offset - chance.randrange(20, 40))
            kept.state.close(watermark)
            for of in range(3):
                for session in [s for s in open_[of] if s[-1] + GAP + GRACE < watermark]:
                    open_[of].remove(session)
                    closed[of].append((session[0], session[-1]))
                    given[session[0], session[-1] + GAP, of] = len(session), of * len(session)
        if chance.random() < 0.2:
            kept.commit()
            assert kept.rows == given
            if chance.random() < 0.5:
                kept.restart()
    assert late > 10
    assert len(given) > 10


@pytest.mark.parametrize("seed", range(6))
def test_late_tuples_in_batches_are_counted_once_and_change_nothing_that_was_given_out(plan, seed):
    chance, kept = random.Random(seed), Kept(plan)
    for step in range(100):
        kept.accept([3 * step + chance.randrange(-90, 3) for _ in range(chance.randrange(7))])
        before = kept.state.commit.watermark
        if chance.random() < 0.5:
            waiting = len(kept.state.closed)
            kept.state.close(3 * step - chance.randrange(20, 40))
            closed = kept.state.closed[waiting:]
            ends = [end for _, end, _ in rows_of(plan, closed)] if closed else []
            assert all(before is None or end + GRACE >= before for end in ends)
        if chance.random() < 0.4:
            kept.commit()
            held = sum(n for n, _ in kept.partial().values())
            assert held == sum(n for n, _ in rows_of(plan, [cells.of_windows(
                plan.aggregation, STREAM, cells.merge(plan.aggregation, STREAM, kept.state.open))]).values())
            if chance.random() < 0.4:
                kept.restart()
    kept.state.close(10_000)
    kept.commit()
    assert sum(n for n, _ in kept.rows.values()) + kept.late == len(kept.times)
    assert kept.late > 20


def test_walls_go_when_nothing_can_reach_them():
    plan = changed(PLAN, window=PLANS[""])
    kept = Kept(plan)
    kept.accept([0, 1, 2])
    kept.state.close(20)
    assert [len(table) for table in kept.state.delta] == [3]
    assert kept.state.earliest == float("inf")
    kept.state.close(2 * GAP + 20)
    assert kept.state.delta == []


# What is done without each safeguard.
WITHOUT = {
    "walls": ("_walls_of", lambda *_: []),
    "walls that stay while something can reach them": ("_useless", lambda _kind, rows, _closed, _end: rows.wall),
    "lateness": ("late_split", lambda _kind, table, _watermark, _held: (table.slice(0, 0), table)),
    "leaving out what is closed in files": ("unclosed", lambda _kind, tables, _watermark: list(tables)),
    "writing anew what reaches back": ("reaches_back", lambda *_: False),
}


@pytest.mark.parametrize("safeguard", WITHOUT)
def test_each_safeguard_is_needed(safeguard, monkeypatch):
    name, without = WITHOUT[safeguard]
    monkeypatch.setattr(cells if name == "reaches_back" else cells_joined, name, without)
    with pytest.raises(AssertionError):
        all_that_happens()


def all_that_happens() -> None:
    for seed in range(6):
        for window in PLANS.values():
            plan = changed(PLAN, window=window)
            test_late_tuples_in_batches_are_counted_once_and_change_nothing_that_was_given_out(plan, seed)
            test_what_is_on_time_gives_the_same_sessions_whatever_happens(plan, seed)
        test_late_tuples_one_by_one(seed)
