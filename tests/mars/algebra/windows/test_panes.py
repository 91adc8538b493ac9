"""Cells of panes become those of windows, closed once each, for kinds of which a pane is in several windows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells, windows
from mars.model.plan import QueryPlan, Window
from reducer.state.merge import QueryState
from tests.mars.algebra.windows.others import OTHERS
from tests.plans import changed
from tests.reducer.pieces import PLAN, QUERY, STREAM, fresh, piece

GRACE, STEP, SIZE = 3, 20, 60  # seconds, as the stream counts
NONE = -10**9
CLOSES_AFTER = {"hopping": GRACE, "landmark": GRACE + 1}
Rows = dict[tuple[int, int, int], int]  # (start, end, key) -> tuples


def bounds(kind: str, time: int) -> list[tuple[int, int]]:
    """The windows of a time, the plain way."""
    step, period = time // STEP * STEP, time // SIZE * SIZE
    if kind == "hopping":
        return [(start, start + SIZE) for start in range(step - SIZE + STEP, time + 1, STEP)]
    return [(period, end) for end in range(step + STEP, period + SIZE + 1, STEP)]



@pytest.fixture(params=OTHERS)
def plan(request, monkeypatch) -> QueryPlan:
    for kind, made in OTHERS.items():
        monkeypatch.setitem(windows.KINDS, kind, made)
    return changed(PLAN, window=Window(request.param, SIZE * 1_000))


def kind_of(plan: QueryPlan) -> str:
    return plan.aggregation.window.kind


def rows_of(plan: QueryPlan, tables: list[pa.Table]) -> Rows:
    found = cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, tables)).to_pylist()
    times = [(int(row["window_start"].timestamp()), int(row["window_end"].timestamp())) for row in found]
    rows = {(*window, row["k"]): row["count"] for window, row in zip(times, found, strict=True)}
    assert len(rows) == len(found)
    assert times == sorted(times)
    return rows


def counted(plan: QueryPlan, tuples: Iterator[tuple[int, int]], closed: int = NONE) -> Counter:
    """Tuples, as (time, key), in windows that end after `closed`."""
    return Counter((*window, key) for time, key in tuples for window in bounds(kind_of(plan), time) if window[1] > closed)


def test_at_once(plan):
    times = np.random.default_rng(1).integers(-200, 200, 500)
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            np.arange(500), np.zeros(500, np.int32))
    assert len(table) == len({(t // STEP, t % 3) for t in times.tolist()})
    found = cells.of_windows(plan.aggregation, STREAM, table)
    assert rows_of(plan, [found]) == counted(plan, ((t, t % 3) for t in times.tolist()))


@pytest.mark.parametrize("seed", range(20))
def test_each_window_is_closed_once_with_what_was_on_time(plan, seed):
    """Entries and watermarks in turns; now and then all is read again from what a commit would hold."""
    chance, query, delay = random.Random(seed), replace(QUERY, plan=plan), CLOSES_AFTER[kind_of(plan)]
    state, offset, expected, given, late = fresh(query), 0, Counter(), {}, 0
    for step in range(60):
        closed = NONE if state.commit.watermark is None else state.commit.watermark - delay
        times = [chance.randrange(2 * step - 70, 2 * step + 40) for _ in range(chance.randrange(5))]
        tuples = [(time, (offset + i) % 3) for i, time in enumerate(times)]
        expected += counted(plan, tuples, closed)
        late += sum(all(end <= closed for _, end in bounds(kind_of(plan), time)) for time in times)
        state.accept(piece(step, 0, offset, times, plan=plan))
        offset += len(times)
        assert state.commit.counters["late"] == late
        watermark = 2 * step + chance.randrange(-30, 10)
        ends = [end for _, end, _ in expected if end > closed]
        reached = watermark > (state.commit.watermark or NONE)
        assert not reached or state.would_close(watermark) == any(end <= watermark - delay for end in ends)
        state.close(watermark)
        closing = rows_of(plan, state.closed)
        assert not closing.keys() & given.keys()
        given |= closing
        state.closed = []
        if chance.random() < 0.2:
            state = QueryState.resume(query, STREAM, state.commit, [*state.open, *state.delta])
    assert given == {window: count for window, count in expected.items() if window[1] <= state.commit.watermark - delay}
    still_open = [cells.of_windows(plan.aggregation, STREAM, table, before=state.commit.watermark)
                  for table in state.open + state.delta]
    assert rows_of(plan, still_open) == {window: count for window, count in expected.items() if window not in given}
