"""Windows that are given out while they are open, each time with what came before that time, against plain counting."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells, cells_stepped
from mars.model.plan import QueryPlan, Window
from mars.results.emitted import shown
from reducer.state.merge import QueryState
from tests.mars.algebra.windows.test_panes import NONE, rows_of
from tests.plans import changed
from tests.reducer.pieces import PLAN, QUERY, STREAM, fresh, piece

GRACE, SIZE, MS = 3, 60, 1_000  # seconds, as the stream counts
EVERY = {"a part of it": 20, "not a part of it": 25, "longer": 90, "each second": 1}
Tuple = tuple[int, int]  # time and key


@pytest.fixture(params=EVERY)
def plan(request) -> QueryPlan:
    made = changed(PLAN, window=Window("emitted", SIZE * MS, EVERY[request.param] * MS))
    return changed(made, emission="EVERY")


def given(plan: QueryPlan, tuples: list[Tuple], above: int, up_to: int) -> Counter:
    """What is given out behind `above` up to `up_to`, of these tuples: (start, time, key) -> tuples."""
    every, found = plan.aggregation.window.every_ms // MS, Counter()
    for start in {time // SIZE * SIZE for time, _ in tuples}:
        own = [(time, key) for time, key in tuples if time // SIZE * SIZE == start]
        times = {time for time in range(start + 1, start + SIZE) if time % every == 0} | {start + SIZE}
        for at in sorted(time for time in times if above < time <= up_to):
            before = Counter(key for time, key in own if time < at)
            since = {key for time, key in own if max(start, (at - 1) // every * every) <= time < at}
            wanted = before if at == start + SIZE else {key: before[key] for key in since}
            found += Counter({(start, at, key): count for key, count in wanted.items()})
    return found


def test_at_once(plan):
    times = np.random.default_rng(1).integers(-200, 200, 300)
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            np.arange(300), np.zeros(300, np.int32))
    closed, rest = cells.close(plan.aggregation, STREAM, [table], None, 150)
    assert rows_of(plan, closed) == given(plan, [(time, time % 3) for time in times.tolist()], NONE, 150 - GRACE)
    whole = Counter((time // SIZE * SIZE, time // SIZE * SIZE + SIZE, time % 3) for time in times.tolist())
    open_ = cells.of_windows(plan.aggregation, STREAM, cells.merge(plan.aggregation, STREAM, rest), before=150)
    assert rows_of(plan, [open_]) == {of: count for of, count in whole.items() if of[1] > 150 - GRACE}, "as if closed now"


@pytest.mark.parametrize("seed", range(12))
def test_what_is_given_out_follows_from_event_time_alone(plan, seed):
    """However entries and watermarks come: nothing is late by more than they may be."""
    chance, query = random.Random(seed), replace(QUERY, plan=plan)
    state, offset, tuples, found = fresh(query), 0, [], {}
    for step in range(60):
        closed = -200 if state.commit.watermark is None else state.commit.watermark - GRACE
        first, end = max(closed, 2 * step - 60), max(closed + 1, 2 * step + 40)
        times = [chance.randrange(first, end) for _ in range(chance.randrange(5))]
        tuples += [(time, (offset + i) % 3) for i, time in enumerate(times)]
        state.accept(piece(step, 0, offset, times, plan=plan))
        offset += len(times)
        watermark = 2 * step + chance.randrange(-30, 10)
        closes = given(plan, tuples, closed, watermark - GRACE)
        reached = state.commit.watermark is None or watermark > state.commit.watermark
        assert not closes or not reached or state.would_close(watermark)
        state.close(watermark)
        rows = rows_of(plan, state.closed) if state.closed else {}
        assert not rows.keys() & found.keys()
        found |= rows
        state.closed = []
        if chance.random() < 0.3:
            held = cells.merge(plan.aggregation, STREAM, [*state.open, *state.delta])
            state = QueryState.resume(query, STREAM, state.commit,
                                      [cells.settle(plan.aggregation, STREAM, held, state.commit.watermark)])
    assert state.commit.counters["late"] == 0
    assert found == given(plan, tuples, NONE, state.commit.watermark - GRACE)


def test_the_final_rows_are_those_of_emit_final(plan):
    times = np.random.default_rng(2).integers(-200, 200, 300)
    columns, zeros = {"k": pa.array(times % 3), "t": pa.array(times)}, np.zeros(300, np.int32)
    tumbling = changed(PLAN, window=Window("tumbling", SIZE * MS))
    finals = []
    for one in (plan, tumbling):
        table = cells.aggregate(one.aggregation, STREAM, columns, times, None, 0, np.arange(300), zeros)
        closed, _ = cells.close(one.aggregation, STREAM, [table], None, 500)
        found = {of: count for of, count in rows_of(one, closed).items() if of[1] % SIZE == 0}
        finals.append(found)
    assert finals[0] == finals[1]


def test_however_far_spans_are_halved_the_answer_is_the_same(plan, monkeypatch):
    times = np.random.default_rng(3).integers(-200, 200, 300)
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            np.arange(300), np.zeros(300, np.int32))
    answers = []
    for each in (0, 1, 10**9):
        monkeypatch.setattr(cells_stepped, "EACH", each)
        answers.append(rows_of(plan, [cells.of_windows(plan.aggregation, STREAM, table, None, 190)]))
    assert answers[0] == answers[1] == answers[2]


def test_a_row_shows_the_end_of_its_window_in_place_of_the_time_at_which_it_was_given_out(plan):
    times = np.array([5, 15, 65, 130])
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(times % 3), "t": pa.array(times)}, times, None, 0,
                            np.arange(4), np.zeros(4, np.int32))
    closed, _ = cells.close(plan.aggregation, STREAM, [table], None, 120)
    rows = shown(plan, cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, closed))).to_pylist()
    assert rows
    assert all((row["window_end"] - row["window_start"]).total_seconds() == SIZE for row in rows)
