"""min, max, first and last: each picks one row of a group by order, and keeps that row's value.

min and max ignore NULL. first and last go by event time, and in a tie by the lowest or highest (partition, offset, line).
They take the value as it is, even NULL, and keep that order with it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import coded, masked, numbers, order_keys
from mars.algebra.partials.kind import Columns, Input, Kind, partial_type, without_nulls
from mars.kernel_cache import kernel
from mars.model.partials import Partial


def _extreme_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("value", partial_type(partial.argument_type))]


def _extreme_update(partial: Partial, given: Input) -> Columns:
    return _extreme_merge(partial, [given.values], given.ids, given.groups)


def _extreme_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    (values,), ids = without_nulls(held, ids)
    if pa.types.is_floating(values.type):
        values = pa.array(numbers(values) + 0, values.type)  # -0 becomes 0, else the order of tuples would decide
    keys = order_keys(values)
    # Complement reverses the order of int64 without overflow.
    rows = least_row(ids, ~keys if partial.kind == "max" else keys, groups)
    return [_pick(partial, values, rows)]


def _pick(partial: Partial, values: pa.Array, rows: np.ndarray) -> pa.Array:
    """values[rows], NULL where the row is -1."""
    values = coded(values) if partial.argument_type == "STRING" else values
    return values.take(masked(rows, rows >= 0, pa.int64()))


def _event_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("time", pa.int64()), ("value", partial_type(partial.argument_type)), ("partition", pa.int32()),
            ("offset", pa.int64()), ("line", pa.int32())]


def _event_update(partial: Partial, given: Input) -> Columns:
    order = given.order
    partition = np.full(len(order.time), order.partition, np.int32)
    columns = [pa.array(order.time), given.values, pa.array(partition), pa.array(order.offset), pa.array(order.line)]
    return _event_merge(partial, columns, given.ids, given.groups)


def _event_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    held, ids = without_nulls(held, ids)
    time, values, *place = held
    keys = [numbers(column).astype(np.int64) for column in (time, *place)]
    at, partition, offset, line = [~key for key in keys] if partial.kind == "last" else keys
    rows = earliest_row(ids, at, partition, offset, line, groups)
    picked = masked(rows, rows >= 0, pa.int64())
    return [time.take(picked), _pick(partial, values, rows), *(column.take(picked) for column in place)]


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


EXTREME = Kind(_extreme_columns, _extreme_update, _extreme_merge)
EVENT = Kind(_event_columns, _event_update, _event_merge)
KINDS = {"min": EXTREME, "max": EXTREME, "first": EVENT, "last": EVENT}
