"""count(DISTINCT x), exact: the partial is the list of distinct values of the cell.

NULL is not counted, NaN is one value, -0 is 0.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.aggregates_family import Family, Input, Partials, without_nulls
from mars.algebra.evaluation.arrays import plain
from mars.algebra.grouping import group
from mars.model import types
from mars.model.plan import AggregateCall


def _columns(call: AggregateCall) -> list[tuple[str, pa.DataType]]:
    return [("values", pa.list_(types.to_arrow(call.argument_type)))]


def _update(call: AggregateCall, given: Input) -> Partials:
    (values,), ids = without_nulls([given.values], given.ids)
    return [_distinct_lists(call, values, ids, given.groups)]


def _merge(call: AggregateCall, partials: Partials, ids: np.ndarray, groups: int) -> Partials:
    lists = partials[0]
    parents = pc.list_parent_indices(lists).to_numpy()
    return [_distinct_lists(call, lists.flatten(), ids[parents], groups)]


def _distinct_lists(call: AggregateCall, values: pa.Array, ids: np.ndarray, groups: int) -> pa.Array:
    rows = group([values], ids.astype(np.int64)).first_row
    rows = rows[np.argsort(ids[rows], kind="stable")]
    offsets = np.zeros(groups + 1, np.int32)
    np.cumsum(np.bincount(ids[rows], minlength=groups), out=offsets[1:])
    kept = plain(values.take(pa.array(rows)))
    return pa.ListArray.from_arrays(pa.array(offsets), kept, type=_columns(call)[0][1])


def _finish(call: AggregateCall, partials: Partials) -> pa.Array:
    return pc.list_value_length(partials[0]).cast(pa.int64())


FAMILIES = {"count_distinct": Family(_columns, _update, _merge, _finish)}
