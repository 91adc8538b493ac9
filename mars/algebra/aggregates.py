"""Aggregates as four functions over whole columns: start, update, merge, finish.

start is `partial_columns`: the columns that hold a partial. A group that no tuple reached has NULL, or 0 for counts.
update makes partials from tuples, merge makes one partial of many, finish makes the value. For every aggregate, update of
a concatenation equals merge of the updates of its parts, in any order (sums of floats: to rounding).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra import aggregates_moments, aggregates_picks, aggregates_sets, aggregates_sums
from mars.algebra.aggregates_family import Family, Input, Order
from mars.model.plan import AggregateCall

__all__ = ["Order", "finish", "is_tuple_count", "merge", "partial_columns", "update", "warm"]

FAMILIES: dict[str, Family] = {
    **aggregates_sums.FAMILIES, **aggregates_moments.FAMILIES, **aggregates_picks.FAMILIES, **aggregates_sets.FAMILIES,
}


def partial_columns(call: AggregateCall) -> list[tuple[str, pa.DataType]]:
    """(suffix, Arrow type) of the columns that hold a partial of `call`; strings are dictionary-coded in them."""
    return FAMILIES[call.function].columns(call)


def update(call: AggregateCall, values: pa.Array | None, selected: np.ndarray | None, ids: np.ndarray, groups: int,
           order: Order) -> list[pa.Array]:
    """Partials of tuples, each column of length `groups`.

    values: the argument per tuple, None for count(*); selected: bool[n] of FILTER, None where there is no filter;
    ids: int32[n] group of each tuple; order: event time and place of each tuple.
    """
    if selected is not None and not selected.all():
        rows = np.flatnonzero(selected)
        values = None if values is None else values.take(pa.array(rows))
        ids, order = ids[rows], order.take(rows)
    return FAMILIES[call.function].update(call, Input(values, ids, groups, order))


def merge(call: AggregateCall, partials: list[pa.Array], ids: np.ndarray, groups: int) -> list[pa.Array]:
    """Partials of `groups` groups from partials of rows, row i belonging to group ids[i]."""
    return FAMILIES[call.function].merge(call, partials, ids, groups)


def finish(call: AggregateCall, partials: list[pa.Array]) -> pa.Array:
    """The values of partials, an array of call.type (strings may be dictionary-coded)."""
    return FAMILIES[call.function].finish(call, partials)


def is_tuple_count(call: AggregateCall) -> bool:
    """True for count(*) without FILTER: the cells' own tuple count is its partial."""
    return call.function == "count" and call.argument is None and call.filter is None


def warm() -> None:
    """Compiles the kernels of all aggregates, or loads them from the cache."""
    for module in (aggregates_sums, aggregates_moments, aggregates_picks):
        module.warm()
