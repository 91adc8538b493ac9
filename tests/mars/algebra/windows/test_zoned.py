"""Windows of days of a time zone, closed once each with what was on time, against days that are found minute by minute."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells, windows
from mars.algebra.windows.kind import Windows
from mars.model.plan import Window
from reducer.state.changelog import first_kept
from reducer.state.merge import QueryState
from tests.mars.algebra.windows.test_zones import info_of, shown
from tests.plans import changed
from tests.reducer.pieces import PLAN, QUERY, STREAM, fresh, piece

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
GRACE = 3  # seconds, as the stream counts
MOMENTS = {"spring": ("Europe/Berlin", (2026, 3, 29)), "autumn": ("Europe/Berlin", (2026, 10, 25)),
           "half an hour": ("Australia/Lord_Howe", (2026, 4, 5)), "a day left out": ("Pacific/Apia", (2011, 12, 30)),
           "midnight left out": ("America/Sao_Paulo", (2017, 10, 15)),
           "midnight twice": ("America/St_Johns", (2006, 10, 29))}
KINDS = {"one day": Window("days", DAY_MS, DAY_MS), "two days": Window("days", 2 * DAY_MS, 2 * DAY_MS, DAY_MS),
         "two days, each": Window("days", 2 * DAY_MS, DAY_MS),
         "three, each two": Window("days", 3 * DAY_MS, 2 * DAY_MS, -DAY_MS),
         "each hour": Window("landmark days", DAY_MS, HOUR_MS),
         "each 90 min": Window("landmark days", 3 * DAY_MS, 5_400_000),
         "each day": Window("landmark days", 2 * DAY_MS, DAY_MS)}
NONE = -10**18


class Calendar:
    """The days around a moment, found minute by minute."""

    def __init__(self, moment: str) -> None:
        name, day = MOMENTS[moment]
        info, self.middle = info_of(name), int(datetime(*day, tzinfo=UTC).timestamp())
        minutes = range(self.middle - 9 * 86_400, self.middle + 9 * 86_400, 60)
        dates = np.maximum.accumulate([shown(info, second) for second in minutes]).tolist()
        self.first, self.begins = dates[0] + 1, []
        for number in range(dates[0] + 1, dates[-1] + 1):
            self.begins.append(minutes[bisect_right(dates, number - 1)])

    def begin(self, number: int) -> int:
        return self.begins[number - self.first]

    def day(self, time: int) -> int:
        return self.first + bisect_right(self.begins, time) - 1

    def bounds(self, window: Window, time: int) -> set[tuple[int, int]]:
        """The windows of a time, the plain way."""
        size, day = window.size_ms // DAY_MS, self.day(time)
        if window.kind == "days":
            every, offset = window.every_ms // DAY_MS, (window.offset_ms or 0) // DAY_MS
            firsts = [first for first in range(day - size + 1, day + 1) if (first - offset) % every == 0]
            return {(self.begin(first), self.begin(first + size)) for first in firsts}
        first = day // size * size
        start, end = self.begin(first), self.begin(first + size)
        if window.every_ms % DAY_MS == 0:
            ends = [self.begin(number) for number in range(first, first + size + 1, window.every_ms // DAY_MS)]
        else:
            ends = [*range(start, end, window.every_ms // 1_000), end]
        return {(start, one) for one in ends if one > time}


@pytest.fixture(params=MOMENTS, scope="module")
def calendar(request) -> Calendar:
    return Calendar(request.param)


@pytest.fixture(params=KINDS)
def plan(request, calendar):
    zone = next(name for name, day in MOMENTS.values()
                if int(datetime(*day, tzinfo=UTC).timestamp()) == calendar.middle)
    return changed(PLAN, window=replace(KINDS[request.param], zone=zone))


def rows_of(plan, tables: list[pa.Table]) -> dict[tuple[int, int, int], int]:
    found = cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, tables)).to_pylist()
    times = [(int(row["window_start"].timestamp()), int(row["window_end"].timestamp())) for row in found]
    rows = {(*window, row["k"]): row["count"] for window, row in zip(times, found, strict=True)}
    assert len(rows) == len(found), "a window is given twice"
    assert times == sorted(times)
    return rows


@pytest.mark.parametrize("seed", range(2))
def test_each_window_is_closed_once_with_what_was_on_time(calendar, plan, seed):
    chance, query, window = random.Random(seed), replace(QUERY, plan=plan), plan.aggregation.window
    state, offset, expected, given, late = fresh(query), 0, Counter(), {}, 0
    for step in range(-120, 121):
        now = calendar.middle + step * 1_800
        closed = NONE if state.commit.watermark is None else state.commit.watermark - GRACE
        times = [now + chance.randrange(-20_000, 20_000) for _ in range(chance.randrange(4))]
        for i, time in enumerate(times):
            within = calendar.bounds(window, time)
            expected += Counter((*one, (offset + i) % 3) for one in within if one[1] > closed)
            late += all(end <= closed for _, end in within)
        state.accept(piece(step + 500, 0, offset, times, plan=plan))
        offset += len(times)
        assert state.commit.counters["late"] == late
        watermark = now + chance.randrange(-30_000, 5_000)
        ends = [end for _, end, _ in expected if end > closed]
        reached = watermark > (state.commit.watermark or NONE)
        closes = any(end <= watermark - GRACE for end in ends)
        assert not reached or state.would_close(watermark) >= closes
        state.close(watermark)
        closing = rows_of(plan, state.closed) if state.closed else {}
        assert not closing.keys() & given.keys()
        given |= closing
        state.closed = []
        if chance.random() < 0.2:
            held = cells.merge(plan.aggregation, STREAM, [*state.open, *state.delta])
            state = QueryState.resume(query, STREAM, state.commit,
                                      [cells.settle(plan.aggregation, STREAM, held, state.commit.watermark)])
    assert given == {of: count for of, count in expected.items() if of[1] <= state.commit.watermark - GRACE}
    held = cells.merge(plan.aggregation, STREAM, state.open + state.delta)
    rows = rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, held, before=state.commit.watermark)])
    assert rows == {of: count for of, count in expected.items() if of not in given}


def test_at_once(calendar, plan):
    times = calendar.middle + np.random.default_rng(1).integers(-250_000, 250_000, 500)
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            np.arange(500), np.zeros(500, np.int32))
    expected = Counter((*one, time % 3) for time in times.tolist()
                       for one in calendar.bounds(plan.aggregation.window, time))
    assert rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, table)]) == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_names_ascend_with_ends_and_a_watermark_closes_what_has_ended(unit):
    stream, second = replace(STREAM, time_unit=unit), {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    for window in KINDS.values():
        kind: Windows = windows.of(changed(PLAN, window=replace(window, zone="Europe/Berlin")).aggregation, stream)
        times = (int(datetime(2026, 3, 27, tzinfo=UTC).timestamp()) + np.arange(0, 9 * 86_400, 1_800)) * second
        _, names = kind.of_panes(kind.panes(times), None, None)
        names = np.unique(names)
        ends, starts = kind.end(names), kind.start(names)
        assert (np.diff(ends) > 0).all()
        assert (np.diff(starts) >= 0).all()
        for name, end in zip(names.tolist(), ends.tolist(), strict=True):
            assert kind.closed_end(end + kind.delay) >= name > kind.closed_end(end + kind.delay - 1)


def test_what_late_tuples_may_still_change_is_told_by_time():
    """The names of these windows are none."""
    window = Window("days", DAY_MS, DAY_MS, zone="Europe/Berlin")
    kept = replace(changed(PLAN, window=window).aggregation, late="UPDATE", late_for_ms=5_000)
    watermark = int(datetime(2026, 3, 29, tzinfo=UTC).timestamp())
    assert first_kept(kept, STREAM, watermark) == watermark - 5 - GRACE


def test_days_are_counted_from_the_first_of_1970():
    weeks = Window("days", 7 * DAY_MS, 7 * DAY_MS, 4 * DAY_MS, zone="Europe/Berlin")
    kind, berlin = windows.of(changed(PLAN, window=weeks).aggregation, STREAM), info_of("Europe/Berlin")
    panes = kind.panes(np.array([int(datetime(2026, 3, 29, tzinfo=UTC).timestamp())]))
    [start] = kind.start(kind.of_panes(panes, None, None)[1]).tolist()
    assert datetime.fromtimestamp(start, berlin) == datetime(2026, 3, 23, tzinfo=berlin)
    assert date(2026, 3, 23).weekday() == 0
