"""What one aggregate keeps, by itself: the columns of all its partials, one after the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra import partials
from mars.algebra.partials import Input, Order
from mars.model.partials import AggregateCall, needed


def columns(call: AggregateCall) -> list[pa.DataType]:
    """The types of the columns."""
    return [type_ for partial in needed(call) for _, type_ in partials.columns(partial)]


def update(call: AggregateCall, values: pa.Array | None, selected: np.ndarray | None, ids: np.ndarray, groups: int,
           order: Order) -> list[pa.Array]:
    """Partials of tuples; `selected` is FILTER, None where there is none."""
    given = Input(values, ids, groups, order)
    given = given if selected is None else given.where(selected)
    return [column for partial in needed(call) for column in partials.update(partial, given)]


def merge(call: AggregateCall, held: list[pa.Array], ids: np.ndarray, groups: int) -> list[pa.Array]:
    """Partials of groups from partials of rows."""
    merged, at = [], 0
    for partial in needed(call):
        width = len(partials.columns(partial))
        merged += partials.merge(partial, held[at:at + width], ids, groups)
        at += width
    return merged
