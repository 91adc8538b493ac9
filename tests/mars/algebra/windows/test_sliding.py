"""Sliding windows: a row for each event time of a group, over those of its tuples in (t - size, t]."""

from __future__ import annotations

import random

import pytest

from mars.algebra import cells, cells_ranges
from mars.model.plan import Window
from tests.mars.algebra.windows.kept_state import Kept, Rows, rows_of
from tests.plans import changed
from tests.reducer.pieces import PLAN, STREAM, piece

SIZE, GRACE, NONE = 10, 3, -10**9  # seconds, as the stream counts
SLIDING = changed(PLAN, window=Window("sliding", SIZE * 1_000))


def expected(tuples: list[tuple[int, int]], above: int = NONE, up_to: int = -NONE) -> Rows:
    """The rows of (time, key) whose windows end in (above, up_to], the plain way."""
    found: Rows = {}
    for end, key in {of for of in tuples if above < of[0] <= up_to}:
        held = sum(of == key and end - SIZE < time <= end for time, of in tuples)
        found[end - SIZE, end, key] = held, key * held
    return found


@pytest.mark.parametrize("rows_at_once", [7, 1_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_any_batches_are_the_same_rows(seed, rows_at_once, monkeypatch):
    monkeypatch.setattr(cells_ranges, "ROWS_AT_ONCE", rows_at_once)
    chance = random.Random(seed)
    pieces = [piece(i, 0, 40 * i, [chance.randrange(300) for _ in range(40)], plan=SLIDING) for i in range(5)]
    tables = [cells.decode(one.share.cells) for one in pieces]
    chance = random.Random(seed)
    tuples = [(chance.randrange(300), i % 3) for i in range(200)]
    merged = cells.merge(SLIDING.aggregation, STREAM, tables)
    assert rows_of(SLIDING, [cells.of_windows(SLIDING.aggregation, STREAM, merged)]) == expected(tuples)


@pytest.mark.parametrize("disorder", [15, 60])
@pytest.mark.parametrize("seed", range(6))
def test_each_row_is_given_once_with_what_was_on_time(seed, disorder):
    """Batches, watermarks, commits and restarts in turns; with much disorder some tuples miss all their windows, and others
    only those that have closed."""
    chance, kept = random.Random(seed), Kept(SLIDING)
    tuples: list[tuple[int, int]] = []
    given: Rows = {}
    late, closed = 0, NONE
    for step in range(80):
        batch = kept.accept([4 * step + chance.randrange(-disorder, 3) for _ in range(chance.randrange(6))])
        late += sum(time + SIZE - 1 <= closed for time, _ in batch)
        assert kept.late == late
        tuples += [of for of in batch if of[0] + SIZE - 1 > closed]
        if chance.random() < 0.5:
            watermark = 4 * step - chance.randrange(12, 30)
            kept.state.close(watermark)
            up_to = max(closed, watermark - GRACE - 1)
            given |= expected(tuples, closed, up_to)
            closed = up_to
        if chance.random() < 0.4:
            kept.commit()
            assert kept.rows == given
            assert kept.partial() == expected(tuples, closed)
            if chance.random() < 0.4:
                kept.restart()
    assert len(given) > 80
    assert (late > 5) == (disorder == 60)
