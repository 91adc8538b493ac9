"""Aggregates that are finished from lists of values: arrays, joined texts, percentiles, frequent values, histograms, sums of
different values. `values` are flat; those of group i begin at offsets[i]."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import json_text
from mars.algebra.evaluate import call as call_function
from mars.algebra.evaluation.arrays import masked, numbers, order_keys, taken
from mars.algebra.partials import bins
from mars.algebra.partials.counts import bounds
from mars.algebra.partials.sums import KINDS as SUMS
from mars.model.partials import AggregateCall, Partial

DOUBLE = pa.float64()


def flat_of(lists: pa.Array) -> tuple[np.ndarray, pa.Array, np.ndarray]:
    """(offsets int64[groups + 1] from 0 on, the values, the group of each)."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets, lists.flatten(), np.repeat(np.arange(len(lists), dtype=np.int32), lengths)


def array_agg(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """The kept values as a JSON array."""
    offsets, values, _ = flat_of(columns[0])
    return json_text.lists(offsets, json_text.values(values, call.argument_type))


def string_agg(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """The kept texts, joined."""
    offsets, values, _ = flat_of(columns[0])
    return json_text.joined(offsets, values, str(call.options[0]))


def distinct_sum(call: AggregateCall, columns: list[pa.Array]) -> tuple[list[pa.Array], pa.Array]:
    """(the columns of the sum of each set, the size of each), as the partials of a sum and of a count."""
    offsets, values, groups = flat_of(columns[0])
    order = np.lexsort((order_keys(values), groups))  # sums of floats depend on the order, and sets have none
    kind = "decimal_sum" if pa.types.is_decimal(values.type) else \
        "integer_sum" if call.function == "sum_distinct" and pa.types.is_integer(values.type) else "double_sum"
    rows = values.take(pa.array(order))
    if kind == "double_sum":
        held = [rows.cast(DOUBLE, safe=False), pa.array(np.zeros(len(rows)))]
    else:
        held = [rows.cast(pa.int64() if kind == "integer_sum" else pa.decimal256(76, values.type.scale))]
    sums = SUMS[kind].merge(Partial(kind, call.argument, None), held, groups, len(columns[0]))
    return sums, pa.array(np.diff(offsets))


def percentile(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """The exact percentile, between two values as far as it lies between them; as Spark computes it."""
    share = 0.5 if call.function == "median" else float(call.options[0] or 0)
    offsets, values, groups = flat_of(columns[0])
    order = np.lexsort((order_keys(values), groups))
    doubles = numbers(values.cast(DOUBLE, safe=False))[order]
    reached = np.cumsum(numbers(columns[1].flatten())[order])  # by all groups up to this one
    before = np.concatenate([[0], reached])[offsets[:-1]]
    total = np.concatenate([[0], reached])[offsets[1:]] - before
    position = np.maximum(total - 1, 0) * share
    low, high = np.floor(position), np.ceil(position)
    if not len(doubles):
        return pa.nulls(len(total), DOUBLE)
    at = [doubles[np.minimum(np.searchsorted(reached, before + rank.astype(np.int64), "right"), len(doubles) - 1)]
          for rank in (low, high)]
    with np.errstate(invalid="ignore"):
        between = (high - position) * at[0] + (position - low) * at[1]
    return masked(np.where((low == high) | (at[0] == at[1]), at[0], between), total > 0, DOUBLE)


def approx_percentile(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """The percentile from bins, in the type of the argument."""
    shifts, filled, counts = columns
    offsets, keys, _ = flat_of(filled)
    found = bins.quantile(numbers(shifts), offsets, numbers(keys), numbers(counts.flatten()), float(call.options[0] or 0))
    if call.type in ("INT", "BIGINT"):
        found = np.floor(found + 0.5)
    return call_function("cast", [masked(found, np.diff(offsets) > 0, DOUBLE)], call.type)


def top_k(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """The most frequent values; of equally frequent ones the least."""
    offsets, values, groups = flat_of(columns[0])
    counts = numbers(columns[1].flatten())
    order = np.lexsort((order_keys(values), -counts, groups))
    kept = order[np.arange(len(order)) - offsets[groups] < call.options[0]]
    texts = json_text.objects({"item": json_text.values(taken(values, kept), call.argument_type),
                               "count": json_text.values(pa.array(counts[kept]), "BIGINT")})
    return json_text.lists(np.searchsorted(groups[kept], np.arange(len(offsets))), texts)


def histogram(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """The bars that have values, ascending. Below the first and behind the last one there are open ones."""
    low, high, n = bounds(call.options)
    offsets, values, groups = flat_of(columns[0])
    order = np.lexsort((numbers(values), groups))
    bar = numbers(values)[order]
    edges = np.concatenate([[np.nan], low + (high - low) / n * np.arange(n), [high, np.nan]])
    sides = []
    for edge in (edges[bar], edges[bar + 1]):
        texts = json_text.values(pa.array(edge), "DOUBLE")
        sides.append(pc.if_else(pa.array(np.isnan(edge)), "null", texts))
    counts = json_text.values(pa.array(numbers(columns[1].flatten())[order]), "BIGINT")
    return json_text.lists(offsets, json_text.objects({"from": sides[0], "to": sides[1], "count": counts}))


