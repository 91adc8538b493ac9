"""Aggregates of several values, pairs and sketches: any split into batches, merged in any order, gives what a plain
computation in Python gives."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mars.algebra import aggregates
from mars.algebra.partials import Order
from mars.model.partials import AggregateCall
from tests.mars.algebra import kept

pytestmark = pytest.mark.laws
EIGHTHS = st.integers(-80, 80).map(lambda n: n / 8)


@dataclass(frozen=True)
class Row:
    """One tuple: what x and y are in it, and its place."""

    x: float | None
    y: float | None
    time: int
    partition: int
    offset: int

    @property
    def place(self) -> tuple[int, int, int]:
        """What earliest goes by."""
        return self.time, self.partition, self.offset


FIELDS = st.tuples(st.none() | EIGHTHS, st.none() | EIGHTHS, st.integers(0, 4), st.integers(0, 2))
ROWS = st.lists(FIELDS, max_size=40).map(lambda rows: [Row(*fields, at) for at, fields in enumerate(rows)])


def partials(call: AggregateCall, rows: list[Row]) -> list[pa.Array]:
    """Of tuples of one partition, for one group."""
    x, y = (pa.array([getattr(row, name) for row in rows], pa.float64()) for name in ("x", "y"))
    zeros = np.zeros(len(rows), np.int32)
    order = Order(np.array([row.time for row in rows], np.int64), rows[0].partition if rows else 0,
                  np.array([row.offset for row in rows], np.int64), zeros)
    return kept.update(call, x, None, zeros, 1, order, y if call.second else None)


def answer(call: AggregateCall, rows: list[Row], seed: int) -> object:
    """The aggregate of the rows in random batches, merged in random order."""
    chance = random.Random(seed)
    batch_of = [(row.partition, chance.randrange(3)) for row in rows]
    tables = [partials(call, [row for row, own in zip(rows, batch_of, strict=True) if own == batch])
              for batch in sorted(set(batch_of))] or [partials(call, [])]
    chance.shuffle(tables)
    while len(tables) > 1:
        several = chance.randrange(2, 4)
        both = [pa.concat_arrays([column.cast(columns[0].type) for column in columns])
                for columns in zip(*tables[:several], strict=True)]
        tables = [*tables[several:], kept.merge(call, both, np.zeros(len(both[0]), np.int32), 1)]
    return aggregates.finish(call, tables[0])[0].as_py()


def xs(rows: list[Row]) -> list[float]:
    return [row.x for row in rows if row.x is not None]


def pairs(rows: list[Row]) -> tuple[list[float], list[float]]:
    both = [(row.x, row.y) for row in rows if row.x is not None and row.y is not None]
    return [x for x, _ in both], [y for _, y in both]


def by(rows: list[Row], greatest: bool) -> float | None:
    ordered = sorted((row for row in rows if row.y is not None), key=lambda row: (row.y, row.place))
    return ordered[-1 if greatest else 0].x if ordered else None


def earliest(rows: list[Row]) -> list[float]:
    return [row.x for row in sorted(rows, key=lambda row: row.place) if row.x is not None][:kept.ALLOWED["n"]]


def exact_percentile(rows: list[Row], share: float) -> float | None:
    values = sorted(xs(rows))
    if not values:
        return None
    at = (len(values) - 1) * share
    low, high = values[math.floor(at)], values[math.ceil(at)]
    return low if low == high else (math.ceil(at) - at) * low + (at - math.floor(at)) * high


def moment(values: list[float], power: int) -> float:
    middle = statistics.fmean(values)
    return math.fsum((value - middle) ** power for value in values) / len(values)


def standardized(values: list[float], power: int, less: float) -> float | None:
    return moment(values, power) / moment(values, 2) ** (power / 2) - less if len(set(values)) > 1 else None


def frequent(rows: list[Row]) -> list[dict] | None:
    found = sorted(Counter(xs(rows)).items(), key=lambda item: (-item[1], item[0]))[:kept.ALLOWED["k"]]
    return [{"item": value, "count": count} for value, count in found] or None


def covariance(rows: list[Row]) -> float | None:
    x, y = pairs(rows)
    return statistics.covariance(x, y) if len(x) > 1 else None


def correlation(rows: list[Row]) -> float | None:
    x, y = pairs(rows)
    return statistics.correlation(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else None


PLAIN: dict[str, Callable[[list[Row]], object]] = {
    "array_agg": lambda rows: earliest(rows) or None, "top_k": frequent,
    "median": lambda rows: exact_percentile(rows, 0.5), "percentile": lambda rows: exact_percentile(rows, kept.ALLOWED["p"]),
    "approx_percentile": lambda rows: sorted(xs(rows))[max(1, math.ceil(len(xs(rows)) * 0.9)) - 1] if xs(rows) else None,
    "approx_count_distinct": lambda rows: len(set(xs(rows))),
    "sum_distinct": lambda rows: sum(set(xs(rows))) if xs(rows) else None,
    "avg_distinct": lambda rows: statistics.fmean(set(xs(rows))) if xs(rows) else None,
    "min_by": lambda rows: by(rows, False), "max_by": lambda rows: by(rows, True),
    "skewness": lambda rows: standardized(xs(rows), 3, 0), "kurtosis": lambda rows: standardized(xs(rows), 4, 3),
    "covar_samp": covariance, "corr": correlation,
    "histogram": lambda rows: sum(-10 <= x < 200 for x in xs(rows)) if xs(rows) else None,
}


@pytest.mark.parametrize("function", PLAIN)
@settings(max_examples=25, deadline=None)
@given(rows=ROWS, seed=st.integers(0, 2**32))
def test_any_batches_in_any_order_give_the_plain_computation(function, rows, seed):
    call = kept.call_of(function, "DOUBLE")
    got = answer(call, rows, seed)
    if function != "approx_percentile" and isinstance(got, str):
        got = json.loads(got)
    if function == "histogram" and got is not None:
        got = sum(bar["count"] for bar in got if bar["from"] is not None and bar["to"] is not None)
    wanted = PLAIN[function](rows)
    assert got == (pytest.approx(wanted, rel=1e-9, abs=1e-9) if isinstance(wanted, float) else wanted)


@settings(max_examples=25, deadline=None)
@given(rows=ROWS, seeds=st.tuples(st.integers(), st.integers()))
def test_a_sketch_and_a_histogram_are_the_same_to_the_last_byte(rows, seeds):
    for function in ("hll_sketch_agg", "histogram", "top_k", "array_agg"):
        call = kept.call_of(function, "DOUBLE")
        assert answer(call, rows, seeds[0]) == answer(call, rows, seeds[1])
