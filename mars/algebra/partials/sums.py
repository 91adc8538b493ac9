"""Counts and sums.

Integers wrap as Java's long does. Floats are summed in double with the rounding error kept beside the sum (Neumaier
1974), so the order of tuples and merges hardly matters. Decimals are summed exactly in 256 bits and checked at the end.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import masked, numbers
from mars.algebra.partials.kind import Columns, Input, Kind, reached, without_nulls
from mars.kernel_cache import kernel
from mars.model import types
from mars.model.partials import Partial

INT64, DOUBLE = pa.int64(), pa.float64()


def _count_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("n", INT64)]


def _count_update(partial: Partial, given: Input) -> Columns:
    ids = given.ids if given.values is None else without_nulls([given.values], given.ids)[1]
    return [pa.array(np.bincount(ids, minlength=given.groups).astype(np.int64, copy=False))]


def _count_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    return [pa.array(sum_integers(ids, numbers(held[0]), groups))]


def _integer_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("sum", INT64)]


def _integer_update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    return _integer_merge(partial, [values.cast(INT64)], ids, given.groups)


def _integer_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    (values,), ids = without_nulls(held, ids)
    return [masked(sum_integers(ids, numbers(values), groups), reached(ids, groups), INT64)]


def _double_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("sum", DOUBLE), ("error", DOUBLE)]


def _double_update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    return _double_merge(partial, [values.cast(DOUBLE, safe=False), pa.array(np.zeros(len(values)))], ids, given.groups)


def _double_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    (values, lost), ids = without_nulls(held, ids)
    valid = reached(ids, groups)
    sums, errors = sum_doubles(ids, numbers(values), numbers(lost), groups)
    return [masked(sums, valid, DOUBLE), masked(errors, valid, DOUBLE)]


def _decimal_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("sum", pa.decimal256(76, types.decimal_size(partial.argument_type)[1]))]


def _decimal_update(partial: Partial, given: Input) -> Columns:
    [(_, type_)] = _decimal_columns(partial)
    (values,), ids = without_nulls([given.values], given.ids)
    return _decimal_merge(partial, [values.cast(type_)], ids, given.groups)


def _decimal_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    (values,), ids = without_nulls(held, ids)
    return [_sum_decimals(ids, values, groups)]


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


KINDS = {
    "count": Kind(_count_columns, _count_update, _count_merge),
    "integer_sum": Kind(_integer_columns, _integer_update, _integer_merge),
    "double_sum": Kind(_double_columns, _double_update, _double_merge),
    "decimal_sum": Kind(_decimal_columns, _decimal_update, _decimal_merge),
}
