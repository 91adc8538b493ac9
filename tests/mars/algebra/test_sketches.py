"""Sketches: they stay within their bounds, and any way of merging gives one and the same."""

from __future__ import annotations

import base64
import os

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mars.algebra import aggregates
from mars.algebra.partials import Order, bins
from mars.model.partials import AggregateCall
from tests.mars.algebra import kept

SEEDS = 1_000 if os.environ.get("LONG_TESTS") else 100


def partials(call: AggregateCall, values: pa.Array, ids: np.ndarray, groups: int) -> list[pa.Array]:
    zeros = np.zeros(len(values), np.int64)
    return kept.update(call, values, None, ids, groups, Order(zeros, 0, zeros, zeros.astype(np.int32)))


def merged(call: AggregateCall, values: pa.Array, ids: np.ndarray, groups: int,
           chance: np.random.Generator) -> list[pa.Array]:
    """Partials of random batches of the values, merged pair by pair in random order."""
    batch = chance.integers(0, 9, len(values))
    tables = [partials(call, values.take(pa.array(np.flatnonzero(batch == number))), ids[batch == number], groups)
              for number in chance.permutation(9)]
    both_ids = np.tile(np.arange(groups, dtype=np.int32), 2)
    while len(tables) > 1:
        both = [pa.concat_arrays(pair) for pair in zip(tables[0], tables[1], strict=True)]
        tables = [*tables[2:], kept.merge(call, both, both_ids, groups)]
    return tables[0]


def drawn(kind: str, chance: np.random.Generator, count: int) -> np.ndarray:
    return {"uniform": lambda: chance.random(count), "log-normal": lambda: np.exp(3 * chance.standard_normal(count)),
            "both signs": lambda: chance.standard_normal(count) * 1e6,
            "integers": lambda: chance.integers(0, 10**12, count).astype(np.float64)}[kind]()


@pytest.mark.parametrize("kind", ["uniform", "log-normal", "both signs", "integers"])
def test_approximate_percentiles_keep_their_bound_over_many_seeds(kind):
    """0.8 % of the value at the rank, as these span less than 64 powers of two but for some tuples."""
    count, chance = 6_000, np.random.default_rng(1)
    for _ in range(SEEDS // 20):
        values = drawn(kind, chance, 20 * count)
        ids = np.repeat(np.arange(20, dtype=np.int32), count)
        ranked = np.sort(values.reshape(20, count), axis=1)
        columns = partials(kept.call_of("approx_percentile", "DOUBLE"), pa.array(values), ids, 20)
        for share in (0.0, 0.01, 0.5, 0.99, 1.0):
            call = kept.call_of("approx_percentile", "DOUBLE", options=(share,))
            got = aggregates.finish(call, columns).to_numpy()
            wanted = ranked[:, max(1, int(np.ceil(share * count))) - 1]
            assert (np.abs(got - wanted) <= 0.008 * np.abs(wanted)).all()
        assert (pc.list_value_length(columns[1]).to_numpy() <= bins.MOST).all()


def test_percentiles_of_few_values_are_exact():
    chance = np.random.default_rng(2)
    values = chance.choice(chance.standard_normal(4_000), 50_000)
    call = kept.call_of("approx_percentile", "DOUBLE", options=(0.3,))
    [got] = aggregates.finish(call, partials(call, pa.array(values), np.zeros(50_000, np.int32), 1)).to_pylist()
    assert got == np.sort(values)[14_999]


@pytest.mark.parametrize(("values", "share", "wanted"), [
    ([0.0] * 5 + [1e-300], 0.5, 0.0), ([float("inf"), 1.0], 1.0, float("inf")), ([float("-inf"), 1.0], 0.0, float("-inf")),
    ([-0.0, -5.0], 1.0, 0.0)])
def test_percentiles_at_the_edges_are_themselves_in_coarse_bins_too(values, share, wanted):
    many = np.concatenate([np.repeat(values, 5_000), np.random.default_rng(3).random(5_000) + 1])
    call = kept.call_of("approx_percentile", "DOUBLE", options=(share * len(values) * 5_000 / len(many),))
    if share == 1.0:
        many = np.concatenate([np.repeat(values, 5_000), -1 - np.random.default_rng(3).random(5_000)])
        call = kept.call_of("approx_percentile", "DOUBLE", options=(1.0,))
    columns = partials(call, pa.array(many), np.zeros(len(many), np.int32), 1)
    assert columns[0].to_pylist()[0] > 0
    assert aggregates.finish(call, columns).to_pylist() == [wanted]


@pytest.mark.parametrize("function", ["approx_percentile", "approx_count_distinct"])
def test_any_way_of_merging_gives_the_same_sketch(function):
    chance = np.random.default_rng(4)
    sizes = [0, 1, 300, 380, 390, 4_000, 4_200, 9_000]
    ids = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    values = pa.array(chance.standard_normal(len(ids)))
    call = kept.call_of(function, "DOUBLE")
    at_once = partials(call, values, ids, len(sizes))
    for _ in range(4):
        assert merged(call, values, ids, len(sizes), chance) == at_once


def counts_of(distinct: int, seeds: int) -> np.ndarray:
    call = kept.call_of("approx_count_distinct", "BIGINT")
    chance = np.random.default_rng(distinct)
    values = chance.integers(-2**63, 2**63 - 1, seeds * distinct)
    ids = np.repeat(np.arange(seeds, dtype=np.int32), distinct)
    return aggregates.finish(call, partials(call, pa.array(values), ids, seeds)).to_numpy()


@pytest.mark.parametrize("distinct", [500, 5_000, 30_000])
def test_approximate_counts_keep_their_bound_over_many_seeds(distinct):
    errors = counts_of(distinct, SEEDS) / distinct - 1
    assert np.sqrt((errors**2).mean()) <= 0.0165 * 1.2
    assert abs(errors.mean()) <= 5 * 0.0165 / np.sqrt(SEEDS)
    assert np.abs(errors).max() <= 5 * 0.0165


def test_small_counts_are_exact():
    assert (counts_of(384, 100) == 384).mean() > 0.9


ARRAYS = {"BIGINT": pa.array([*range(-9, 2_000), None]), "DOUBLE": pa.array(np.arange(3_000) / 7),
          "STRING": pa.array([f"text {'x' * (i % 40)} {i}" for i in range(3_000)])}


@pytest.mark.parametrize("type_", ARRAYS)
@pytest.mark.parametrize("count", [0, 1, 8, 9, 200, 384, 385, 2_000])
@pytest.mark.parametrize("lg_k", [5, 12])
def test_datasketches_reads_what_it_would_have_written_itself(type_, count, lg_k):
    """The same estimate as its own sketch of the same values gives, once that has been through a union."""
    values = ARRAYS[type_].slice(0, count)
    call = kept.call_of("hll_sketch_agg", type_, options=(lg_k,))
    coded = values.dictionary_encode() if type_ == "STRING" else values
    [text] = aggregates.finish(call, partials(call, coded, np.zeros(len(values), np.int32), 1)).to_pylist()
    ours = datasketches.hll_sketch.deserialize(base64.b64decode(text))
    own = datasketches.hll_sketch(lg_k, datasketches.HLL_8)
    for value in values.drop_null().to_pylist():
        own.update(value)
    estimates = []
    for sketch in (ours, own):
        union = datasketches.hll_union(lg_k)
        union.update(sketch)
        union.update(datasketches.hll_sketch.deserialize(own.serialize_compact()))
        estimates.append(union.get_estimate())
    assert estimates[0] == estimates[1]
    assert ours.lg_config_k == lg_k
    assert ours.get_estimate() == pytest.approx(count, abs=0.5 + 6 * count * 1.04 / 2 ** (lg_k / 2))
