"""count, sum and avg.

Integers wrap as Java's long does. Floats are summed in double with the rounding error kept beside the sum (Neumaier
1974), so the order of tuples and merges hardly matters. Decimals are summed exactly in 256 bits and checked at the end.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.aggregates_family import Family, Input, Partials, reached, without_nulls
from mars.algebra.evaluation import decimals
from mars.algebra.evaluation.arrays import masked, numbers
from mars.kernel_cache import kernel
from mars.model import types
from mars.model.plan import AggregateCall

INT64, DOUBLE = pa.int64(), pa.float64()


def _count_columns(call: AggregateCall) -> list[tuple[str, pa.DataType]]:
    return [("n", INT64)]


def _count_update(call: AggregateCall, given: Input) -> Partials:
    ids = given.ids if given.values is None else without_nulls([given.values], given.ids)[1]
    return [pa.array(np.bincount(ids, minlength=given.groups).astype(np.int64, copy=False))]


def _count_merge(call: AggregateCall, partials: Partials, ids: np.ndarray, groups: int) -> Partials:
    return [pa.array(sum_integers(ids, numbers(partials[0]), groups))]


def _count_finish(call: AggregateCall, partials: Partials) -> pa.Array:
    return partials[0]


def _is_decimal(call: AggregateCall) -> bool:
    return types.decimal_parts(call.argument_type) is not None


def _sum_columns(call: AggregateCall) -> list[tuple[str, pa.DataType]]:
    if _is_decimal(call):
        return [("sum", pa.decimal256(76, types.decimal_size(call.argument_type)[1]))]
    if call.argument_type in types.INTEGERS:
        return [("sum", INT64)]
    return [("sum", DOUBLE), ("error", DOUBLE)]


def _sum_update(call: AggregateCall, given: Input) -> Partials:
    (values,), ids = without_nulls([given.values], given.ids)
    partials = [values.cast(type_) for _, type_ in _sum_columns(call)[:1]]
    if len(_sum_columns(call)) == 2:
        partials.append(pa.array(np.zeros(len(values))))
    return _sum_merge(call, partials, ids, given.groups)


def _sum_merge(call: AggregateCall, partials: Partials, ids: np.ndarray, groups: int) -> Partials:
    partials, ids = without_nulls(partials, ids)
    if pa.types.is_decimal(partials[0].type):
        return [_sum_decimals(ids, partials[0], groups)]
    valid = reached(ids, groups)
    if len(partials) == 1:
        return [masked(sum_integers(ids, numbers(partials[0]), groups), valid, INT64)]
    sums, errors = sum_doubles(ids, numbers(partials[0]), numbers(partials[1]), groups)
    return [masked(sums, valid, DOUBLE), masked(errors, valid, DOUBLE)]


def _sum_finish(call: AggregateCall, partials: Partials) -> pa.Array:
    if pa.types.is_decimal(partials[0].type):
        return decimals.convert(partials[0], types.to_arrow(call.type))
    return partials[0] if len(partials) == 1 else _total(*partials)


def _total(sums: pa.Array, errors: pa.Array) -> pa.Array:
    """Sum plus its rounding error. If the sum is infinite or NaN, its error means nothing."""
    return pc.if_else(pc.is_finite(sums), pc.add(sums, errors), sums)


def _average_columns(call: AggregateCall) -> list[tuple[str, pa.DataType]]:
    sums = _sum_columns(call) if _is_decimal(call) else [("sum", DOUBLE), ("error", DOUBLE)]
    return [*sums, ("n", INT64)]


def _average_update(call: AggregateCall, given: Input) -> Partials:
    (values,), ids = without_nulls([given.values], given.ids)
    ones = pa.array(np.ones(len(values), np.int64))
    if _is_decimal(call):
        return _average_merge(call, [values.cast(_sum_columns(call)[0][1]), ones], ids, given.groups)
    doubles = values.cast(DOUBLE, safe=False)
    return _average_merge(call, [doubles, pa.array(np.zeros(len(values))), ones], ids, given.groups)


def _average_merge(call: AggregateCall, partials: Partials, ids: np.ndarray, groups: int) -> Partials:
    counts = pa.array(sum_integers(ids, numbers(partials[-1]), groups))
    return [*_sum_merge(call, partials[:-1], ids, groups), counts]


def _average_finish(call: AggregateCall, partials: Partials) -> pa.Array:
    if _is_decimal(call):
        return _decimal_average(call, *partials)
    total, counts = _total(*partials[:2]), partials[2].cast(DOUBLE, safe=False)
    return pc.divide(total, counts)


def _decimal_average(call: AggregateCall, sums: pa.Array, counts: pa.Array) -> pa.Array:
    """Spark's rule: the sum must fit DECIMAL(p + 10, s), then it is divided and rounded half up to the result's scale."""
    precision, scale = types.decimal_size(call.argument_type)
    sums = decimals.convert(sums, pa.decimal128(min(precision + 10, 38), scale))
    return decimals.divide(sums, counts.cast(pa.decimal128(20, 0)), types.to_arrow(call.type))


def _sum_decimals(ids: np.ndarray, values: pa.Array, groups: int) -> pa.Array:
    sums = pa.table({"id": ids, "value": values}).group_by("id").aggregate([("value", "sum")])
    place = np.full(groups, -1, np.int64)
    place[sums["id"].to_numpy()] = np.arange(len(sums))
    found = sums["value_sum"].combine_chunks().cast(values.type)
    return found.take(masked(place, place >= 0, INT64))


@kernel
def sum_integers(ids: np.ndarray, values: np.ndarray, groups: int) -> np.ndarray:
    """int64[groups]: sums per group, wrapping."""
    sums = np.zeros(groups, np.int64)
    for row in range(len(ids)):
        sums[ids[row]] += values[row]
    return sums


@kernel
def sum_doubles(ids: np.ndarray, values: np.ndarray, lost: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """(sums, errors) per group: sums + errors is the exact sum of values + lost to about twice double precision."""
    sums, errors = np.zeros(groups), np.zeros(groups)
    for row in range(len(ids)):
        group = ids[row]
        before, value = sums[group], values[row]
        after = before + value
        if np.isfinite(after):
            back = after - before
            errors[group] += (before - (after - back)) + (value - back) + lost[row]
        sums[group] = after
    return sums, errors


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    ids = np.zeros(1, np.int32)
    integers, doubles = numbers(pa.array([1])), numbers(pa.array([1.0]))
    sum_integers(ids, integers, 1)
    sum_doubles(ids, doubles, doubles, 1)


FAMILIES = {
    "count": Family(_count_columns, _count_update, _count_merge, _count_finish),
    "sum": Family(_sum_columns, _sum_update, _sum_merge, _sum_finish),
    "avg": Family(_average_columns, _average_update, _average_merge, _average_finish),
}
