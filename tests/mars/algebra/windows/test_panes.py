"""Cells of panes become those of windows, closed once each, for kinds of which a pane is in several windows."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells, cells_stepped, windows
from mars.algebra.windows.landmark import LandmarkEach
from mars.model.plan import QueryPlan, Window
from reducer.state.merge import QueryState
from tests.plans import changed
from tests.reducer.pieces import PLAN, QUERY, STREAM, fresh, piece

GRACE, STEP, SIZE = 3, 20, 60  # seconds, as the stream counts
OFFSET, FROM = -7, -50
NONE = -10**9
MS = 1_000
WINDOWS = {
    "hopping": Window("hopping", SIZE * MS, STEP * MS),
    "hopping unevenly": Window("hopping", SIZE * MS, 25 * MS),
    "tumbling, moved": Window("hopping", SIZE * MS, SIZE * MS, OFFSET * MS),
    "hopping, moved": Window("hopping", SIZE * MS, STEP * MS, OFFSET * MS),
    "landmark each": Window("landmark each", SIZE * MS, STEP * MS),
    "landmark from": Window("landmark from", STEP * MS, STEP * MS, from_us=FROM * 1_000_000),
    "a tuple at the end belongs to it": Window("held", SIZE * MS, STEP * MS),
}
FAR = 400  # windows from a landmark are looked at up to here
Rows = dict[tuple[int, int, int], int]  # (start, end, key) -> tuples


def bounds(window: Window, time: int) -> list[tuple[int, int]]:
    """The windows of a time, the plain way."""
    size, step, offset = window.size_ms // MS, window.every_ms // MS, (window.offset_ms or 0) // MS
    if window.kind == "hopping":
        starts = range(-1_000 * step + offset, 1_000 * step, step)
        return [(start, start + size) for start in starts if start <= time < start + size]
    if window.kind in ("landmark each", "held"):
        period = time // size * size
        return [(period, end) for end in range(period + step, period + size + 1, step) if end > time]
    return [(FROM, end) for end in range(FROM + step, FAR, step) if end > time]


class Held(LandmarkEach):
    """Windows that close one unit later."""

    holds_its_end = True


@pytest.fixture(params=WINDOWS)
def plan(request, monkeypatch) -> QueryPlan:
    monkeypatch.setitem(windows.KINDS, "held", Held)
    return changed(PLAN, window=WINDOWS[request.param])


def window_of(plan: QueryPlan) -> Window:
    return plan.aggregation.window


def in_windows(plan: QueryPlan, times: Iterable[int]) -> list[int]:
    """The times, without those before a landmark, which WHERE leaves out."""
    return [max(time, FROM) if window_of(plan).kind == "landmark from" else time for time in times]


def rows_of(plan: QueryPlan, tables: list[pa.Table]) -> Rows:
    found = cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, tables)).to_pylist()
    times = [(int(row["window_start"].timestamp()), int(row["window_end"].timestamp())) for row in found]
    rows = {(*window, row["k"]): row["count"] for window, row in zip(times, found, strict=True)}
    assert len(rows) == len(found)
    assert times == sorted(times)
    return rows


def counted(plan: QueryPlan, tuples: Iterator[tuple[int, int]], closed: int = NONE) -> Counter:
    """Tuples, as (time, key), in windows that end after `closed`."""
    return Counter((*window, key) for time, key in tuples for window in bounds(window_of(plan), time) if window[1] > closed)


def test_at_once(plan):
    times = np.array(in_windows(plan, np.random.default_rng(1).integers(-200, 200, 500).tolist()))
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            np.arange(500), np.zeros(500, np.int32))
    window = window_of(plan)
    length, moved = math.gcd(window.size_ms, window.every_ms) // MS, window.offset_ms or 0
    moved = FROM if window.kind == "landmark from" else moved // MS
    assert len(table) == len({((t - moved) // length, t % 3) for t in times.tolist()})
    rows = rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, table)])
    expected = counted(plan, ((t, t % 3) for t in times.tolist()))
    assert rows == {of: count for of, count in expected.items() if of[1] <= shown_until(plan, max(times.tolist()))}
    assert rows


def shown_until(plan: QueryPlan, time: int) -> int:
    """The end of the last window that is shown while all are open, if the greatest time is this."""
    return min(end for _, end in bounds(window_of(plan), time)) if window_of(plan).kind == "landmark from" else FAR


@pytest.mark.parametrize("seed", range(20))
def test_each_window_is_closed_once_with_what_was_on_time(plan, seed):
    """Entries and watermarks in turns; now and then all is read again from what a commit would hold."""
    chance, query, delay = random.Random(seed), replace(QUERY, plan=plan), GRACE + (window_of(plan).kind == "held")
    state, offset, expected, given, late, greatest = fresh(query), 0, Counter(), {}, 0, NONE
    for step in range(60):
        closed = NONE if state.commit.watermark is None else state.commit.watermark - delay
        times = in_windows(plan, (chance.randrange(2 * step - 70, 2 * step + 40) for _ in range(chance.randrange(5))))
        greatest = max([greatest, *times])
        tuples = [(time, (offset + i) % 3) for i, time in enumerate(times)]
        expected += counted(plan, tuples, closed)
        late += sum(all(end <= closed for _, end in bounds(window_of(plan), time)) for time in times)
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
            held = cells.merge(plan.aggregation, STREAM, [*state.open, *state.delta])
            settled = cells.settle(plan.aggregation, STREAM, held, state.commit.watermark)
            state = QueryState.resume(query, STREAM, state.commit, [settled])
    assert given == {window: count for window, count in expected.items() if window[1] <= state.commit.watermark - delay}
    held = cells.merge(plan.aggregation, STREAM, state.open + state.delta)
    rows = rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, held, before=state.commit.watermark)])
    assert rows == {of: n for of, n in expected.items() if of not in given and of[1] <= shown_until(plan, greatest)}


@pytest.mark.parametrize("each", [0, 1, 10**9])
def test_however_far_spans_are_halved_the_answer_is_the_same(plan, monkeypatch, each):
    times = np.array(in_windows(plan, np.random.default_rng(2).integers(-200, 200, 500).tolist()))
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            np.arange(500), np.zeros(500, np.int32))
    whole = rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, table)])
    monkeypatch.setattr(cells_stepped, "EACH", each)
    monkeypatch.setattr(cells_stepped, "FEW", 0)
    assert rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, table)]) == whole


def test_what_windows_share_is_merged_once(monkeypatch):
    """Windows of 64 cells each, at a few merges a row."""
    monkeypatch.setattr(cells_stepped, "FEW", 0)
    plan, times = changed(PLAN, window=Window("hopping", 64 * MS, MS)), np.arange(1_000)
    columns, line = {"k": pa.array(times * 0), "t": pa.array(times)}, np.zeros(1_000, np.int32)
    table = cells.aggregate(plan.aggregation, STREAM, columns, times, None, 0, times, line)
    read, real = [], cells_stepped.merged
    monkeypatch.setattr(cells_stepped, "merged", lambda *of: read.append(len(of[2])) or real(*of))
    rows = rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, table)])
    assert len(rows) == 1_063
    assert sum(read) < 20 * len(rows)


def test_windows_are_made_once_of_all_tables():
    """Each of four tables has cells of all windows: a row for each window is made, and not four."""
    plan, times = changed(PLAN, window=Window("hopping", 64 * MS, MS)), np.arange(1_000)
    columns, line = {"k": pa.array(times * 0), "t": pa.array(times)}, np.zeros(1_000, np.int32)
    tables = [cells.aggregate(plan.aggregation, STREAM, columns, times, None, p, times, line) for p in range(4)]
    closed, rest = cells.close(plan.aggregation, STREAM, tables, None, 503)  # GRACE is 3
    assert sum(len(table) for table in closed) == 500
    assert max(max(table["n"].to_pylist()) for table in closed) == 4 * 64
    assert [len(table) for table in rest] == [1_000 - 437] * 4


def test_what_a_landmark_keeps_does_not_grow_with_its_length():
    plan, times = changed(PLAN, window=WINDOWS["landmark from"]), np.arange(10_000)
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            times, np.zeros(10_000, np.int32))
    assert len(table) == 3 * 501
    assert len(cells.settle(plan.aggregation, STREAM, table, 9_950 + GRACE)) == 3 * (1 + 3)
