"""Aggregates, and the partials that they are finished from. What is kept of an argument's values until a window closes is a
partial. It is kept once, however many aggregates are finished from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mars.model import expressions, types
from mars.model.expressions import Expression

# What each kind keeps, in words; mars/algebra/partials computes them.
KINDS = {
    "count": "count", "integer_sum": "sum", "decimal_sum": "sum", "double_sum": "sum and its rounding error",
    "moments": "count, mean, sum of squared distances", "min": "least value", "max": "greatest value",
    "first": "value, event time, place", "last": "value, event time, place", "distinct": "set of values",
}
GROWING = frozenset(("distinct",))  # kinds that grow with the tuples
MOMENTS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate: count, count_distinct, sum, avg, min, max, var_pop, var_samp, stddev_pop, stddev_samp, first, last.

    `argument` is None for count(*) alone; `filter` is the condition of FILTER (WHERE ...), or None.
    """

    function: str
    argument: Expression | None
    filter: Expression | None
    type: str

    @property
    def argument_type(self) -> str:
        """The type of the argument, of an aggregate that has one."""
        assert self.argument is not None, self
        return self.argument.type


@dataclass(frozen=True)
class Partial:
    """What is kept of the values of one argument (None: of tuples) where the filter is true. `kind` is one of KINDS, and the
    names of its columns in cells begin with `name`."""

    kind: str
    argument: Expression | None
    filter: Expression | None
    name: str = ""

    @property
    def argument_type(self) -> str:
        """The type of the argument, of a partial that has one."""
        assert self.argument is not None, self
        return self.argument.type

    @property
    def is_tuple_count(self) -> bool:
        """Is it the number of tuples? All cells have that, so it is never kept beside them."""
        return self.kind == "count" and self.argument is None and self.filter is None

    def is_same(self, other: Partial) -> bool:
        """Do both keep the same, under whatever name?"""
        return (self.kind, self.argument, self.filter) == (other.kind, other.argument, other.filter)

    def to_json(self) -> dict:
        """A JSON-able form; `Partial.from_json` gives back an equal partial."""
        json = expressions.to_json
        return {"kind": self.kind, "argument": json(self.argument), "filter": json(self.filter), "name": self.name}

    @staticmethod
    def from_json(data: dict) -> Partial:
        """The partial of a form made by `to_json`."""
        load = expressions.from_json
        return Partial(data["kind"], load(data["argument"]), load(data["filter"]), data["name"])


def needed(call: AggregateCall) -> list[Partial]:
    """What an aggregate is finished from, in the order that its function wants; without names."""
    return [Partial(kind, call.argument, call.filter) for kind in _kinds(call)]


def _kinds(call: AggregateCall) -> tuple[str, ...]:
    if call.function in MOMENTS:
        return ("moments",)
    if call.function == "count_distinct":
        return ("distinct",)
    if call.function not in ("sum", "avg"):
        return (call.function,)
    is_decimal = types.decimal_parts(call.argument_type) is not None
    is_integer = call.function == "sum" and call.argument_type in types.INTEGERS  # which wraps; a mean does not
    kind = "decimal_sum" if is_decimal else "integer_sum" if is_integer else "double_sum"
    return (kind,) if call.function == "sum" else (kind, "count")


def kept_once(calls: Iterable[AggregateCall]) -> tuple[Partial, ...]:
    """What is kept for aggregates: each partial once, named by its kind and the number of its argument and filter."""
    kept: dict[Partial, Partial] = {}
    numbers: dict[tuple[Expression | None, Expression | None], int] = {}
    for partial in _kept(calls):
        number = numbers.setdefault((partial.argument, partial.filter), len(numbers))
        kept.setdefault(partial, Partial(partial.kind, partial.argument, partial.filter, f"{partial.kind}{number}"))
    return tuple(kept.values())


def kept_apart(calls: Iterable[AggregateCall]) -> tuple[Partial, ...]:
    """What version 0.1.0 kept for aggregates: the partials of each by themselves, named by its number."""
    return tuple(Partial(partial.kind, partial.argument, partial.filter, f"a{number}")
                 for number, call in enumerate(calls) for partial in _kept([call]))


def _kept(calls: Iterable[AggregateCall]) -> Iterator[Partial]:
    return (partial for call in calls for partial in needed(call) if not partial.is_tuple_count)
