"""What one aggregate keeps, by itself: the columns of all its partials, one after the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra import partials
from mars.algebra.aggregate_functions import AGGREGATES
from mars.algebra.partials import Input, Order
from mars.model.expressions import Column
from mars.model.partials import AggregateCall, needed

ALLOWED = {"n": 7, "p": 0.9, "k": 3, "low": -10.0, "high": 200.0, "separator": "; "}


def columns(call: AggregateCall) -> list[pa.DataType]:
    """The types of the columns."""
    return [type_ for partial in needed(call) for _, type_ in partials.columns(partial)]


def update(call: AggregateCall, values: pa.Array | None, selected: np.ndarray | None, ids: np.ndarray, groups: int,
           order: Order, second: pa.Array | None = None) -> list[pa.Array]:
    """Partials of tuples; `selected` is FILTER, None where there is none."""
    given = Input(values, ids, groups, order, second)
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


def call_of(function: str, type_: str, second: str | None = None, options: tuple = ()) -> AggregateCall:
    """A call over the columns `a` and, where it takes two, `b`, of these types; with the defaults of options that are not
    given, or something that is allowed."""
    takes = AGGREGATES[function]
    given = [*options, *[option.default if option.default is not None else ALLOWED[option.name]
                         for option in takes.options[len(options):]]]
    other = Column("b", second or type_) if takes.second else None
    return AggregateCall(function, Column("a", type_), None, takes.result(type_), other, tuple(given))
