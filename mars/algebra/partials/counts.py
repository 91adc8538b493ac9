"""Each different value of a cell with the number of its tuples, exactly: of the values themselves, or of the bars of equal
width that they fall into. NULL is not among them, NaN is one value, -0 is 0."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import numbers, plain, taken
from mars.algebra.grouping import group
from mars.algebra.partials.kind import Columns, Input, Kind, without_nulls
from mars.algebra.partials.sums import sum_integers
from mars.model import types
from mars.model.partials import Partial


def _columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    type_ = pa.int32() if partial.kind == "bars" else types.to_arrow(partial.argument_type)
    return [("values", pa.list_(type_)), ("counts", pa.list_(pa.int64()))]


def _update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    return _counted(partial, values, ids, np.ones(len(ids), np.int64), given.groups)


def _bar_update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    bars = pa.array(bar_of(numbers(values.cast(pa.float64(), safe=False)), *bounds(partial.options)))
    return _counted(partial, bars, ids, np.ones(len(ids), np.int64), given.groups)


def _merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    ids = ids[pc.list_parent_indices(held[0]).to_numpy()]
    return _counted(partial, held[0].flatten(), ids, numbers(held[1].flatten()), groups)


def _counted(partial: Partial, values: pa.Array, ids: np.ndarray, counts: np.ndarray, groups: int) -> Columns:
    found = group([values], ids.astype(np.int64))
    totals, owners = sum_integers(found.ids, counts, found.count), ids[found.first_row]
    order = np.argsort(owners, kind="stable")
    offsets = np.zeros(groups + 1, np.int32)
    np.cumsum(np.bincount(owners, minlength=groups), out=offsets[1:])
    kept = plain(taken(values, found.first_row[order]))
    if pa.types.is_floating(kept.type):
        kept = pc.add(kept, pa.scalar(0, kept.type))  # -0 becomes 0, else the order of tuples would decide
    return [pa.ListArray.from_arrays(pa.array(offsets), flat, type=type_)
            for flat, (_, type_) in zip((kept, pa.array(totals[order])), _columns(partial), strict=True)]


def bounds(options: tuple) -> tuple[float, float, int]:
    """(low, high, number of bars) of the options of a histogram."""
    low, high, n = options
    return low, high, n


def bar_of(values: np.ndarray, low: float, high: float, n: int) -> np.ndarray:
    """int32: 0 below low, 1 to n for bars of equal width, n + 1 from high on and for NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        share = np.floor(n * (values - low) / (high - low))
    inside = (values >= low) & (values < high)
    bar = np.minimum(np.where(inside, share, 0), n - 1).astype(np.int32) + np.int32(1)
    return np.where(values < low, np.int32(0), np.where(inside, bar, np.int32(n + 1)))


KINDS = {"counts": Kind(_columns, _update, _merge), "bars": Kind(_columns, _bar_update, _merge)}
