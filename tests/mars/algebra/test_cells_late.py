"""Late cells tell their tuples: those of the range with the keys and in the pane, and no others; and the windows missed."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells, cells_late, windows
from mars.algebra.cells_wire import decode, encode
from mars.model.plan import Window
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from tests.mars.algebra.windows.test_panes import WINDOWS
from tests.plans import changed

STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING, n INT) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s"))
PLAN = compile_select(parse("SELECT k, n, count(*), sum(n) FROM s GROUP BY k, n WINDOWING 60 s LATE TO l"), STREAM, True)
STEPPED = {name: window for name, window in WINDOWS.items() if window.kind != "held"}
KINDS = {"tumbling": Window("tumbling", 60_000), **STEPPED,
         "session": Window("session", 5_000), "session, cut": Window("session", 5_000, max_ms=12_000),
         "sliding": Window("sliding", 30_000), "emitted": Window("emitted", 60_000, 25_000)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_tuples_of_late_cells_are_found_again(kind: str, seed: int) -> None:
    plan, draw, count = changed(PLAN, window=KINDS[kind]), random.Random(seed), 300
    kept = plan.aggregation
    times = np.array([draw.randint(0, 400) for _ in range(count)])
    names = pa.array([draw.choice(("a", "b", "", None)) for _ in range(count)]).dictionary_encode()
    numbers = pa.array([draw.choice((1, 2, None)) for _ in range(count)], pa.int32())
    table = cells.aggregate(kept, STREAM, {"k": names, "n": numbers}, times, None, 3, np.arange(count),
                            np.zeros(count, np.int32))
    late, on_time = cells.late_split(kept, STREAM, table, 250)
    placed = cells_late.of_range(kept, STREAM, late, 3, 10, 310)
    placed = decode(encode(cells_late.together(kept, STREAM, [placed])), cells_late.schema(kept, STREAM))
    if kind == "landmark from":
        assert len(placed) == 0
    # The tuples come in other orders and dictionaries when they are read again.
    order = np.array(draw.sample(range(count), count))
    shuffled = pa.array([names[int(i)].as_py() for i in order]).dictionary_encode()
    found = cells_late.found(kept, STREAM, placed, [shuffled, numbers.take(pa.array(order))], times[order])
    assert np.bincount(found[found >= 0], minlength=len(placed)).tolist() == placed["n"].to_pylist()
    assert int((found < 0).sum()) == sum(on_time["n"].to_pylist())
    for row, cell in zip(order[found >= 0], found[found >= 0], strict=True):
        one = placed.slice(int(cell), 1).to_pylist()[0]
        assert (one["k0"], one["k1"]) == (names[int(row)].as_py(), numbers[int(row)].as_py())
    if not kind.startswith("session"):
        rest = order[found < 0]
        given = {"k": names.take(pa.array(rest)), "n": numbers.take(pa.array(rest))}
        again = cells.aggregate(kept, STREAM, given, times[rest], None, 3, rest, np.zeros(len(rest), np.int32))
        assert len(cells.late_split(kept, STREAM, again, 250)[0]) == 0


@pytest.mark.parametrize(("window", "expected"), [
    (Window("tumbling", 60_000), (60, 120, 1)), (Window("hopping", 60_000, 20_000), (60, 160, 3)),
    (Window("landmark each", 60_000, 20_000), (60, 120, 1)), (Window("sliding", 30_000), (75, 105, 1)),
    (Window("session", 5_000), (105, 110, 1)), (Window("emitted", 60_000, 25_000), (60, 120, 1))])
def test_the_windows_that_a_tuple_at_105_s_has_missed(window: Window, expected: tuple) -> None:
    kept = changed(PLAN, window=window).aggregation
    table = cells.aggregate(kept, STREAM, {"k": pa.array(["a"]).dictionary_encode(), "n": pa.array([1], pa.int32())},
                            np.array([105]), None, 0, np.zeros(1, np.int64), np.zeros(1, np.int32))
    late = cells_late.of_range(kept, STREAM, table, 0, 0, 1)
    assert tuple(int(found[0]) for found in cells_late.missed(windows.of(kept, STREAM), late)) == expected


def test_without_keys_the_pane_tells_all() -> None:
    kept = compile_select(parse("SELECT count(*) FROM s WINDOWING 60 s LATE TO l"), STREAM, True).aggregation
    table = cells.aggregate(kept, STREAM, {}, np.array([5, 65]), None, 0, np.arange(2), np.zeros(2, np.int32))
    late = cells_late.of_range(kept, STREAM, cells.late_split(kept, STREAM, table, 60)[0], 0, 0, 2)
    assert cells_late.found(kept, STREAM, late, [], np.array([65, 5])).tolist() == [-1, 0]
