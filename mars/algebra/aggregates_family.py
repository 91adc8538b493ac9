"""What a family of aggregates consists of, and the two steps that all families share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import CODED_STRING, valid_mask
from mars.model import types
from mars.model.plan import AggregateCall

Partials = list[pa.Array]


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
    """The tuples that FILTER let through: argument, group of each, number of groups, order."""

    values: pa.Array | None
    ids: np.ndarray
    groups: int
    order: Order


@dataclass(frozen=True)
class Family:
    """The four functions of an aggregate; mars/algebra/aggregates.py says what each must guarantee."""

    columns: Callable[[AggregateCall], list[tuple[str, pa.DataType]]]
    update: Callable[[AggregateCall, Input], Partials]
    merge: Callable[[AggregateCall, Partials, np.ndarray, int], Partials]
    finish: Callable[[AggregateCall, Partials], pa.Array]


def partial_type(type_: str) -> pa.DataType:
    """The Arrow type in which a partial holds a value of a dialect type."""
    return CODED_STRING if type_ == "STRING" else types.to_arrow(type_)


def without_nulls(columns: list[pa.Array], ids: np.ndarray) -> tuple[list[pa.Array], np.ndarray]:
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
