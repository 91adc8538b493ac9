"""What a kind of partial consists of, and the steps that all kinds share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import CODED_STRING, valid_mask
from mars.model import types
from mars.model.partials import Partial

Columns = list[pa.Array]


@dataclass(frozen=True)
class Order:
    """The order of tuples: event time int64[n] in the stream's unit, then partition, offset int64[n], line int32[n]."""

    time: np.ndarray
    partition: int
    offset: np.ndarray
    line: np.ndarray

    def take(self, rows: np.ndarray) -> Order:
        """The order of the rows with these numbers (or a bool mask)."""
        return Order(self.time[rows], self.partition, self.offset[rows], self.line[rows])


@dataclass(frozen=True)
class Input:
    """Tuples: the argument of each (None where there is none), the group of each (int32[n]), number of groups, order, and
    the second argument of each."""

    values: pa.Array | None
    ids: np.ndarray
    groups: int
    order: Order
    second: pa.Array | None = None

    def where(self, selected: np.ndarray) -> Input:
        """Those for which FILTER, bool[n], is true."""
        if selected.all():
            return self
        return self.take(np.flatnonzero(selected))

    def take(self, rows: np.ndarray) -> Input:
        """The tuples with these numbers."""
        chosen = pa.array(rows)
        values, second = (None if array is None else array.take(chosen) for array in (self.values, self.second))
        return Input(values, self.ids[rows], self.groups, self.order.take(rows), second)


@dataclass(frozen=True)
class Kind:
    """The functions of a kind of partial, over whole columns.

    columns: (suffix, Arrow type) of what holds a partial; a group that no tuple reached has NULL, or 0 for counts.
    update makes partials from tuples, merge makes one partial of many. update of a concatenation equals merge of the updates
    of its pieces, in any order (sums of floats: to rounding).
    """

    columns: Callable[[Partial], list[tuple[str, pa.DataType]]]
    update: Callable[[Partial, Input], Columns]
    merge: Callable[[Partial, Columns, np.ndarray, int], Columns]


def partial_type(type_: str) -> pa.DataType:
    """The Arrow type in which a partial holds a value of a dialect type."""
    return CODED_STRING if type_ == "STRING" else types.to_arrow(type_)


def without_nulls(columns: Columns, ids: np.ndarray) -> tuple[Columns, np.ndarray]:
    """The columns and ids of the rows whose first column is not NULL."""
    valid = valid_mask(columns[0])
    if valid is None:
        return columns, ids
    rows = np.flatnonzero(valid)
    return [column.take(pa.array(rows)) for column in columns], ids[rows]


def reached(ids: np.ndarray, groups: int) -> np.ndarray:
    """bool[groups]: which groups have a row."""
    mask = np.zeros(groups, np.bool_)
    mask[ids] = True
    return mask
