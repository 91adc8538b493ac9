"""min, max, first and last: each picks one row of a group by order, and its partial is that row's value.

min and max ignore NULL. first and last go by event time, and in a tie by the lowest or highest (partition, offset, line).
They take the value as it is, even NULL. Their partial carries that order.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.aggregates_family import Family, Input, Partials, partial_type, without_nulls
from mars.algebra.evaluation.arrays import coded, masked, numbers, order_keys
from mars.kernel_cache import kernel
from mars.model.plan import AggregateCall


def _extreme_columns(call: AggregateCall) -> list[tuple[str, pa.DataType]]:
    return [("value", partial_type(call.argument_type))]


def _extreme_update(call: AggregateCall, given: Input) -> Partials:
    return _extreme_merge(call, [given.values], given.ids, given.groups)


def _extreme_merge(call: AggregateCall, partials: Partials, ids: np.ndarray, groups: int) -> Partials:
    (values,), ids = without_nulls(partials, ids)
    if pa.types.is_floating(values.type):
        values = pa.array(numbers(values) + 0, values.type)  # -0 becomes 0, else the order of tuples would decide
    keys = order_keys(values)
    # Complement reverses the order of int64 without overflow.
    rows = least_row(ids, ~keys if call.function == "max" else keys, groups)
    return [_pick(call, values, rows)]


def _extreme_finish(call: AggregateCall, partials: Partials) -> pa.Array:
    return partials[0]


def _pick(call: AggregateCall, values: pa.Array, rows: np.ndarray) -> pa.Array:
    """values[rows], NULL where the row is -1."""
    values = coded(values) if call.argument_type == "STRING" else values
    return values.take(masked(rows, rows >= 0, pa.int64()))


def _event_columns(call: AggregateCall) -> list[tuple[str, pa.DataType]]:
    return [("time", pa.int64()), ("value", partial_type(call.argument_type)), ("partition", pa.int32()),
            ("offset", pa.int64()), ("line", pa.int32())]


def _event_update(call: AggregateCall, given: Input) -> Partials:
    order = given.order
    partition = np.full(len(order.time), order.partition, np.int32)
    columns = [pa.array(order.time), given.values, pa.array(partition), pa.array(order.offset), pa.array(order.line)]
    return _event_merge(call, columns, given.ids, given.groups)


def _event_merge(call: AggregateCall, partials: Partials, ids: np.ndarray, groups: int) -> Partials:
    partials, ids = without_nulls(partials, ids)
    time, values, *place = partials
    keys = [numbers(column).astype(np.int64) for column in (time, *place)]
    at, partition, offset, line = [~key for key in keys] if call.function == "last" else keys
    rows = earliest_row(ids, at, partition, offset, line, groups)
    picked = masked(rows, rows >= 0, pa.int64())
    return [time.take(picked), _pick(call, values, rows), *(column.take(picked) for column in place)]


def _event_finish(call: AggregateCall, partials: Partials) -> pa.Array:
    return partials[1]


@kernel
def least_row(ids: np.ndarray, keys: np.ndarray, groups: int) -> np.ndarray:
    """int64[groups]: the first row with the least key of each group, -1 for a group without rows."""
    rows = np.full(groups, -1, np.int64)
    for row in range(len(ids)):
        best = rows[ids[row]]
        if best < 0 or keys[row] < keys[best]:
            rows[ids[row]] = row
    return rows


@kernel
def earliest_row(ids: np.ndarray, time: np.ndarray, partition: np.ndarray, offset: np.ndarray, line: np.ndarray,
                 groups: int) -> np.ndarray:
    """int64[groups]: the row with the least (time, partition, offset, line) of each group, -1 without rows."""
    rows = np.full(groups, -1, np.int64)
    for row in range(len(ids)):
        best = rows[ids[row]]
        if best < 0 or (time[row], partition[row], offset[row], line[row]) < (
                time[best], partition[best], offset[best], line[best]):
            rows[ids[row]] = row
    return rows


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    ids, keys = np.zeros(1, np.int32), np.zeros(1, np.int64)
    least_row(ids, keys, 1)
    earliest_row(ids, keys, keys, keys, keys, 1)


FAMILIES = {
    "min": Family(_extreme_columns, _extreme_update, _extreme_merge, _extreme_finish),
    "max": Family(_extreme_columns, _extreme_update, _extreme_merge, _extreme_finish),
    "first": Family(_event_columns, _event_update, _event_merge, _event_finish),
    "last": Family(_event_columns, _event_update, _event_merge, _event_finish),
}
