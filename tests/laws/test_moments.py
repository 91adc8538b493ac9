"""Variances of numbers whose mean is large beside their deviation: as near to the exact ones as docs/guarantees.md says."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mars.algebra import aggregates
from mars.algebra.partials import Order
from mars.model.expressions import Column
from mars.model.partials import AggregateCall
from tests.mars.algebra import kept

pytestmark = pytest.mark.laws
CALLS = {type_: AggregateCall("var_pop", Column("x", type_), None, "DOUBLE") for type_ in ("BIGINT", "DOUBLE")}


def partials_of(values: list, type_: str) -> list[pa.Array]:
    zeros = np.zeros(len(values), np.int64)
    order = Order(zeros, 0, zeros, zeros.astype(np.int32))
    return kept.update(CALLS[type_], pa.array(values), None, zeros.astype(np.int32), 1, order)


def merged(ranges: list[list], type_: str) -> float:
    """The variance of ranges that come one after another, as a key part merges them."""
    total = partials_of(ranges[0], type_)
    for values in ranges[1:]:
        both = [pa.concat_arrays(pair) for pair in zip(total, partials_of(values, type_), strict=True)]
        total = kept.merge(CALLS[type_], both, np.zeros(2, np.int32), 1)
    return aggregates.finish(CALLS[type_], total)[0].as_py()


def exact(values: list) -> tuple[Fraction, float]:
    """(variance, |mean| / standard deviation)."""
    numbers = [int(Fraction(value) * 2 ** 40) for value in values]  # all are multiples of 2^-40
    n, total, squares = len(numbers), sum(numbers), sum(number * number for number in numbers)
    size = Fraction(n * squares - total * total, n * n)
    return size / 2 ** 80, abs(total) / n / math.sqrt(size)


def kinds(seed: int, n: int) -> dict[str, list]:
    chance = random.Random(seed)
    ascending = sorted(10 ** 9 + chance.randrange(2 ** 20) / 2 ** 20 for _ in range(n))
    return {"milliseconds": [1_700_000_000_000 + chance.randrange(60_000) for _ in range(n)],
            "ascending": ascending, "descending": ascending[::-1],
            "shuffled": chance.sample(ascending, n), "one apart": [1e9 + 0.125] + [1e9] * (n - 1),
            "BIGINT": [2 ** 52 + chance.randrange(1000) for _ in range(n)]}


@pytest.mark.parametrize("kind", kinds(0, 2))
def test_one_batch_is_as_good_as_numbers_around_zero(kind: str) -> None:
    values = kinds(1, 20_000)[kind]
    type_ = "DOUBLE" if isinstance(values[0], float) else "BIGINT"
    assert merged([values], type_) == pytest.approx(float(exact(values)[0]), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(kinds(0, 2))), st.integers(0, 2 ** 32), st.integers(2, 1500), st.integers(1, 300))
def test_merged_ranges_keep_the_bound_that_is_promised(kind: str, seed: int, n: int, count: int) -> None:
    values = kinds(seed, n)[kind]
    if len(set(values)) == 1:
        return
    type_ = "DOUBLE" if isinstance(values[0], float) else "BIGINT"
    step = -(-n // count)
    got = merged([values[at:at + step] for at in range(0, n, step)], type_)
    wanted, steepness = exact(values)
    assert abs(Fraction(got) - wanted) <= wanted * Fraction(max(1e-9, 1e-14 * steepness) / 2)
