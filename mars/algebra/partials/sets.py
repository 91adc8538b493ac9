"""The distinct values of a cell, exactly, as a list.

NULL is not among them, NaN is one value, -0 is 0.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import plain, taken
from mars.algebra.grouping import key_codes
from mars.algebra.ordering import by_number, first_of_each
from mars.algebra.partials.kind import Columns, Input, Kind, without_nulls
from mars.model import types
from mars.model.partials import Partial


def _columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("values", pa.list_(types.to_arrow(partial.argument_type)))]


def _update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    return [_distinct_lists(partial, values, ids, given.groups)]


def _merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    lists = held[0]
    parents = pc.list_parent_indices(lists).to_numpy()
    return [_distinct_lists(partial, lists.flatten(), ids[parents], groups)]


def _distinct_lists(partial: Partial, values: pa.Array, ids: np.ndarray, groups: int) -> pa.Array:
    rows = first_of_each(list(key_codes(values)), ids, groups)
    return lists_of(partial, values, rows, ids, groups)


def lists_of(partial: Partial, values: pa.Array, rows: np.ndarray, ids: np.ndarray, groups: int) -> pa.Array:
    """The list of each group, of the values of these rows, in their order; those of a group differ."""
    order, starts = by_number(ids[rows], groups)
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), plain(taken(values, rows[order])),
                                    type=_columns(partial)[0][1])


KINDS = {"distinct": Kind(_columns, _update, _merge)}
