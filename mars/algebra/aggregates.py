"""Aggregates: the value of a call from its partials (mars/model/partials.py says which those are), over whole columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import aggregate_lists, aggregate_sketches
from mars.algebra.evaluation import decimals
from mars.algebra.evaluation.arrays import masked, numbers
from mars.model import types
from mars.model.partials import AggregateCall

DOUBLE = pa.float64()


def finish(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """The values of an aggregate, an array of call.type (strings may be dictionary-coded). `columns` are those of the
    partials that it needs, one after the other."""
    return FINISH[call.function](call, columns)


def _as_kept(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    return columns[0]


def _is_set(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    return pa.array(numbers(columns[0]) > 0)


def _sum(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    if pa.types.is_decimal(columns[0].type):
        return decimals.convert(columns[0], types.to_arrow(call.type))
    return columns[0] if len(columns) == 1 else _total(*columns)


def _total(sums: pa.Array, errors: pa.Array) -> pa.Array:
    """Sum plus its rounding error. If the sum is infinite or NaN, its error means nothing."""
    return pc.if_else(pc.is_finite(sums), pc.add(sums, errors), sums)


def _average(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    *sums, counts = columns
    if len(sums) == 1:
        return _decimal_average(call, sums[0], counts)
    return pc.divide(_total(*sums), counts.cast(DOUBLE, safe=False))


def _decimal_average(call: AggregateCall, sums: pa.Array, counts: pa.Array) -> pa.Array:
    """Spark's rule: the sum must fit DECIMAL(p + 10, s), then it is divided and rounded half up to the result's scale."""
    precision, scale = types.decimal_size(call.argument_type)
    sums = decimals.convert(sums, pa.decimal128(min(precision + 10, 38), scale))
    return decimals.divide(sums, counts.cast(pa.decimal128(20, 0)), types.to_arrow(call.type))


def _variance(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """NULL without values, and for the sample forms also with one value, as in Spark."""
    counts, _, squares = (numbers(column) for column in columns)
    free = counts - (1 if call.function.endswith("_samp") else 0)
    variance = squares / np.maximum(free, 1)
    values = np.sqrt(variance) if call.function.startswith("stddev") else variance
    return masked(values, free > 0, DOUBLE)


def _event_value(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    return columns[1]


def _by_value(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    return columns[2]


def _set_size(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    return pc.list_value_length(columns[0]).cast(pa.int64())


def _sum_distinct(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    return _sum(call, aggregate_lists.distinct_sum(call, columns)[0])


def _average_distinct(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    sums, counts = aggregate_lists.distinct_sum(call, columns)
    return _average(call, [*sums, counts])


def _covariance(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """NULL without pairs, and for the sample form also with one pair, as in Spark."""
    counts, products = numbers(columns[0]), numbers(columns[5])
    free = counts - (1 if call.function == "covar_samp" else 0)
    return masked(products / np.maximum(free, 1), free > 0, DOUBLE)


def _correlation(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """NULL unless both sides vary, as in Spark."""
    counts, xx, yy, xy = (numbers(columns[at]) for at in (0, 3, 4, 5))
    return _quotient(xy, np.sqrt(xx * yy), counts > 0)


def _skewness(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    counts, _, m2, m3, _ = (numbers(column) for column in columns)
    return _quotient(np.sqrt(counts.astype(np.float64)) * m3, np.sqrt(m2 * m2 * m2), m2 != 0)


def _kurtosis(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    counts, _, m2, _, m4 = (numbers(column) for column in columns)
    return pc.subtract(_quotient(counts * m4, m2 * m2, m2 != 0), 3.0)


def _quotient(above: np.ndarray, below: np.ndarray, valid: np.ndarray) -> pa.Array:
    """above / below; NULL where it is not valid, or below is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return masked(above / np.where(below == 0, 1.0, below), valid & (below != 0), DOUBLE)


FINISH: dict[str, Callable[[AggregateCall, list[pa.Array]], pa.Array]] = {
    "count": _as_kept, "count_distinct": _set_size, "sum": _sum, "avg": _average, "min": _as_kept, "max": _as_kept,
    "var_pop": _variance, "var_samp": _variance, "stddev_pop": _variance, "stddev_samp": _variance,
    "first": _event_value, "last": _event_value, "min_by": _by_value, "max_by": _by_value, "bool_and": _as_kept,
    "bool_or": _as_kept, "covar_pop": _covariance, "covar_samp": _covariance, "corr": _correlation, "skewness": _skewness,
    "kurtosis": _kurtosis, "sum_distinct": _sum_distinct, "avg_distinct": _average_distinct,
    "array_agg": aggregate_lists.array_agg, "string_agg": aggregate_lists.string_agg, "median": aggregate_lists.percentile,
    "percentile": aggregate_lists.percentile, "approx_percentile": aggregate_lists.approx_percentile,
    "top_k": aggregate_lists.top_k, "histogram": aggregate_lists.histogram, "final": _is_set, "revision": _as_kept,
    "timed_out": _is_set,
    "approx_count_distinct": aggregate_sketches.count, "hll_sketch_agg": aggregate_sketches.sketch,
}
