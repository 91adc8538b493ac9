"""What must hold of cells for any tuples and any way of splitting them."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mars.algebra import cells, hashing
from mars.algebra.evaluation.arrays import order_keys
from mars.algebra.grouping import group
from mars.model.partials import kept_apart
from mars.model.plan import QueryPlan
from tests.laws.tuples import CALLS, PLAN, ROWS, STREAM, aggregated, agree, finished, naive
from tests.plans import changed

pytestmark = pytest.mark.laws
LAW = settings(max_examples=30, deadline=None)


@LAW
@given(ROWS)
def test_finished_cells_equal_the_plain_computation(rows) -> None:
    assert agree(finished(aggregated(rows)), naive(rows))


@LAW
@given(ROWS, st.lists(st.integers(0, 3), min_size=30, max_size=30))
def test_merging_the_cells_of_any_split_equals_the_cells_of_all(rows, batch_of) -> None:
    batches = [[row for row, batch in zip(rows, batch_of, strict=False) if batch == number] for number in range(4)]
    merged = cells.merge(PLAN.aggregation, STREAM, [aggregated(batch) for batch in batches])
    assert agree(finished(merged), finished(aggregated(rows)))
    assert cells.tuple_count(merged) == len(rows)


@LAW
@given(ROWS, ROWS)
def test_partials_that_aggregates_share_give_what_partials_of_each_give(first, second) -> None:
    """To the bit, and so does what version 0.1.0 kept."""
    def rows(plan: QueryPlan) -> str:
        tables = [aggregated(some, plan) for some in (first, [replace(row, offset=row.offset + 100) for row in second])]
        return str(cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, tables)).to_pylist())

    apart = changed(PLAN, partials=kept_apart(CALLS))
    assert len(apart.aggregation.partials) > len(PLAN.aggregation.partials) + 4
    assert rows(apart) == rows(PLAN)


@LAW
@given(ROWS, ROWS, ROWS)
def test_merge_is_associative_and_commutative(first, second, third) -> None:
    def merge(*tables: pa.Table) -> pa.Table:
        return cells.merge(PLAN.aggregation, STREAM, tables)
    # No two tuples have one place: first and last have no other way to decide between equal times.
    a, b, c = (aggregated([replace(row, offset=row.offset + 100 * number) for row in rows])
               for number, rows in enumerate((first, second, third)))
    flat = finished(merge(a, b, c))
    assert agree(flat, finished(merge(merge(a, b), c)))
    assert agree(flat, finished(merge(a, merge(b, c))))
    assert agree(flat, finished(merge(c, a, b)))


@LAW
@given(ROWS)
def test_cells_survive_their_encoding(rows) -> None:
    table = aggregated(rows)
    decoded = cells.decode(cells.encode(table), cells.schema(PLAN.aggregation, STREAM))
    assert finished(decoded).keys() == finished(table).keys()
    assert agree(finished(decoded), finished(table))
    assert cells.tuple_count(decoded) == len(rows)


@LAW
@given(ROWS, ROWS)
def test_key_parts_are_disjoint_and_complete_and_know_no_batch(first, second) -> None:
    whole = aggregated(first)
    parts = cells.split(whole, STREAM.key_parts)
    assert agree(finished(cells.merge(PLAN.aggregation, STREAM, parts)), finished(whole))
    assert sum(map(cells.tuple_count, parts)) == len(first)
    home = {key[1:]: number for number, part in enumerate(parts) for key in finished(part)}
    for number, part in enumerate(cells.split(aggregated(second), STREAM.key_parts)):
        for key in finished(part):
            assert home.get(key[1:], number) == number


@LAW
@given(ROWS, st.integers(-4_000, 4_000))
def test_closed_and_open_cells_are_all_cells(rows, watermark) -> None:
    closed, still_open = cells.late_split(PLAN.aggregation, STREAM, aggregated(rows), watermark)
    assert all(key[0] + 1_000 <= watermark for key in finished(closed))
    assert all(key[0] + 1_000 > watermark for key in finished(still_open))
    assert cells.tuple_count(closed) + cells.tuple_count(still_open) == len(rows)


KEYS = {
    "integers": st.none() | st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1),
    "floats": st.floats() | st.sampled_from([0.0, -0.0, 0.0, -0.0, math.nan, None]),
    "strings": st.none() | st.text(max_size=3),
}
ARROW = {"integers": pa.int64(), "floats": pa.float64(), "strings": pa.string()}


def canonical(value: object) -> object:
    """A key as Python compares it: one NaN, -0 as 0."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@LAW
@given(st.data(), st.integers(0, 60))
def test_groups_are_the_distinct_keys(data, length) -> None:
    values = {name: data.draw(st.lists(drawn, min_size=length, max_size=length)) for name, drawn in KEYS.items()}
    starts = data.draw(st.lists(st.sampled_from([-60_000, 0, 2**60]), min_size=length, max_size=length))
    groups = group([pa.array(values[name], ARROW[name]) for name in KEYS], np.array(starts, np.int64))
    tuples = [(start, *map(canonical, key)) for start, *key in zip(starts, *values.values(), strict=True)]
    number = {key: i for i, key in enumerate(dict.fromkeys(tuples))}
    assert groups.ids.tolist() == [number[key] for key in tuples]
    assert [tuples[row] for row in groups.first_row] == list(number)


@LAW
@given(st.data(), st.sampled_from(list(KEYS)))
def test_equal_keys_hash_alike_in_any_array(data, kind) -> None:
    values = data.draw(st.integers(0, 30).flatmap(lambda n: st.lists(KEYS[kind], min_size=n, max_size=n)))
    array = pa.array(values, ARROW[kind])
    hashes = dict(zip(map(canonical, values), hashing.hash_rows([array], len(array)).tolist(), strict=True))
    shuffled = random.Random(1).sample(values, len(values))
    again = pa.array(shuffled, ARROW[kind]).dictionary_encode() if kind == "strings" else pa.array(shuffled, ARROW[kind])
    for value, hashed in zip(shuffled, hashing.hash_rows([again], len(values)).tolist(), strict=True):
        assert hashes[canonical(value)] == hashed


@LAW
@given(st.lists(st.floats(), min_size=1), st.lists(st.text(max_size=3), min_size=1))
def test_order_keys_sort_as_the_values_do(floats, strings) -> None:
    def by_value(x: float) -> tuple:
        return (True, 0.0) if math.isnan(x) else (False, x)
    for values, key in ((floats, by_value), (strings, str.encode)):
        keys = order_keys(pa.array(values)).tolist()
        for left, left_key in zip(values, keys, strict=True):
            for right, right_key in zip(values, keys, strict=True):
                assert (key(left) < key(right)) == (left_key < right_key)
