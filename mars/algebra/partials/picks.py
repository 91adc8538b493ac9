"""min, max, first, last, min_by and max_by: each picks one row of a group by order, and keeps that row's value.

min and max ignore NULL. first and last go by event time, and in a tie by the lowest or highest (partition, offset, line).
min_by and max_by go by their second argument, which is not NULL, and in a tie as first and last do. All four take the value
as it is, even NULL, and keep that order with it.
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
    return [_pick(partial.argument_type, values, rows)]


def _pick(type_: str, values: pa.Array, rows: np.ndarray) -> pa.Array:
    """values[rows], NULL where the row is -1."""
    values = coded(values) if type_ == "STRING" else values
    return values.take(masked(rows, rows >= 0, pa.int64()))


def _event_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("time", pa.int64()), ("value", partial_type(partial.argument_type)), ("partition", pa.int32()),
            ("offset", pa.int64()), ("line", pa.int32())]


def _event_update(partial: Partial, given: Input) -> Columns:
    return _event_merge(partial, _event_rows(given), given.ids, given.groups)


def _event_rows(given: Input) -> Columns:
    """Tuples as partials of one tuple each."""
    order = given.order
    partition = np.full(len(order.time), order.partition, np.int32)
    return [pa.array(order.time), given.values, pa.array(partition), pa.array(order.offset), pa.array(order.line)]


def _event_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    (time, values, *place), ids = without_nulls(held, ids)
    rows = _by_event(partial.kind == "last", [time, *place], ids, groups)
    picked = masked(rows, rows >= 0, pa.int64())
    return [time.take(picked), _pick(partial.argument_type, values, rows), *(column.take(picked) for column in place)]


def _by_event(latest: bool, order: Columns, ids: np.ndarray, groups: int) -> np.ndarray:
    """The first or last row of each group by event time, partition, offset and line; -1 for a group without rows."""
    keys = [numbers(column).astype(np.int64) for column in order]
    time, partition, offset, line = [~key for key in keys] if latest else keys
    return earliest_row(ids, time, partition, offset, line, groups)


def _by_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    assert partial.second is not None, partial
    return [("by", partial_type(partial.second.type)), *_event_columns(partial)]


def _by_update(partial: Partial, given: Input) -> Columns:
    return _by_merge(partial, [given.second, *_event_rows(given)], given.ids, given.groups)


def _by_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    assert partial.second is not None, partial
    (by, time, values, *place), ids = without_nulls(held, ids)
    greatest = partial.kind == "max_by"
    keys = ~order_keys(by) if greatest else order_keys(by)
    best = keys[least_row(ids, keys, groups)[ids]]
    among = np.flatnonzero(keys == best)  # of equal ones, event time and place decide
    order = [column.take(pa.array(among)) for column in (time, *place)]
    found = _by_event(greatest, order, ids[among], groups)
    rows = np.full(groups, -1, np.int64)
    rows[found >= 0] = among[found[found >= 0]]
    picked = masked(rows, rows >= 0, pa.int64())
    return [_pick(partial.second.type, by, rows), time.take(picked), _pick(partial.argument_type, values, rows),
            *(column.take(picked) for column in place)]


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
BY = Kind(_by_columns, _by_update, _by_merge)
KINDS = {"min": EXTREME, "max": EXTREME, "first": EVENT, "last": EVENT, "min_by": BY, "max_by": BY}
