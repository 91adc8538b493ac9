"""The n earliest values of a cell, in the order of event time, then of partition, offset and line. NULL is not among them.

The n earliest of a union are among the n earliest of its parts, so any way of merging gives the same.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import numbers, plain, taken, valid_mask
from mars.algebra.partials.kind import Columns, Input, Kind
from mars.model import types
from mars.model.partials import Partial

PLACE = [("time", pa.int64()), ("partition", pa.int32()), ("offset", pa.int64()), ("line", pa.int32())]


def _columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    values = ("values", types.to_arrow(partial.argument_type))
    return [(suffix, pa.list_(type_)) for suffix, type_ in (values, *PLACE)]


def _update(partial: Partial, given: Input) -> Columns:
    assert given.values is not None, partial
    valid = valid_mask(given.values)
    given = given if valid is None else given.take(np.flatnonzero(valid))
    # Tuples of one partition come in the order of their places, which stable sorts keep.
    rows = np.argsort(given.order.time, kind="stable") if (np.diff(given.order.time) < 0).any() else None
    rows = first_rows(given.ids, rows, given.groups, _most(partial))
    order, partition = given.order.take(rows), np.full(len(rows), given.order.partition, np.int32)
    assert given.values is not None, partial
    found = [taken(given.values, rows), *map(pa.array, (order.time, partition, order.offset, order.line))]
    return _lists(partial, found, given.ids[rows], given.groups)


def _merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    ids = ids[pc.list_parent_indices(held[0]).to_numpy()]
    flat = [column.flatten() for column in held]
    time, partition, offset, line = map(numbers, flat[1:])
    rows = first_rows(ids, np.lexsort((line, offset, partition, time)), groups, _most(partial))
    return _lists(partial, [column.take(pa.array(rows)) for column in flat], ids[rows], groups)


def _most(partial: Partial) -> int:
    most = partial.options[0]
    assert isinstance(most, int), partial
    return most


def first_rows(ids: np.ndarray, rows: np.ndarray | None, groups: int, most: int) -> np.ndarray:
    """The first `most` rows of each group, in the order of `rows` (None: as they come), group after group."""
    ids = ids if rows is None else ids[rows]
    by_group = np.argsort(ids, kind="stable")
    counts = np.bincount(ids, minlength=groups)
    number = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = by_group[number < most]
    return kept if rows is None else rows[kept]


def _lists(partial: Partial, flat: Columns, ids: np.ndarray, groups: int) -> Columns:
    """Lists of each group; `ids` ascend."""
    offsets = pa.array(np.searchsorted(ids, np.arange(groups + 1)).astype(np.int32))
    return [pa.ListArray.from_arrays(offsets, plain(column), type=type_)
            for column, (_, type_) in zip(flat, _columns(partial), strict=True)]


KINDS = {"earliest": Kind(_columns, _update, _merge)}
