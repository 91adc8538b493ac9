"""Aggregates, and the partials that they are finished from. What is kept of an argument's values until a window closes is a
partial. It is kept once, however many aggregates are finished from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mars.model import expressions, types
from mars.model.expressions import Constant, Expression

# What each kind keeps, in words; mars/algebra/partials computes them.
KINDS = {
    "count": "count", "integer_sum": "sum", "decimal_sum": "sum", "double_sum": "sum and its rounding error",
    "moments": "count, mean, sum of squared distances", "min": "least value", "max": "greatest value",
    "first": "value, event time, place", "last": "value, event time, place", "distinct": "set of values",
    "min_by": "value, least of what it goes by, event time, place",
    "max_by": "value, greatest of what it goes by, event time, place",
    "comoments": "count, means, sums of products of distances", "shape": "count, mean, sums of powers of distances",
    "earliest": "earliest values, event times, places", "hll": "sketch of hashes", "bins": "values in bins",
    "counts": "each value with its count", "bars": "counts of bars",
    "changed": "number of the commit that changed it last", "final": "is it closed?", "revision": "number of its revision",
    "timed_out": "was it closed by the clock?",
}
# The kinds that reducers write into cells, and no tuple decides: they say what has become of a cell.
STAMPS = frozenset(("changed", "final", "revision", "timed_out"))
CHANGED = "changed"  # the stamp that all cells of rows have which change after they were given out
# The kinds that the aggregates need whose name is not a kind, and whose types do not matter.
NEEDED = {
    **dict.fromkeys(("var_pop", "var_samp", "stddev_pop", "stddev_samp"), "moments"),
    **dict.fromkeys(("covar_pop", "covar_samp", "corr"), "comoments"),
    **dict.fromkeys(("skewness", "kurtosis"), "shape"),
    **dict.fromkeys(("count_distinct", "sum_distinct", "avg_distinct"), "distinct"),
    **dict.fromkeys(("array_agg", "string_agg"), "earliest"),
    **dict.fromkeys(("approx_count_distinct", "hll_sketch_agg"), "hll"),
    **dict.fromkeys(("percentile", "median", "top_k"), "counts"),
    "bool_and": "min", "bool_or": "max", "approx_percentile": "bins", "histogram": "bars",
}
GROWING = frozenset(("distinct", "earliest", "hll", "bins", "counts", "bars"))  # kinds that may be far larger than results


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate. `function` is a name of AGGREGATES in mars/algebra/aggregate_functions.py.

    `argument` is None for count(*) alone; `filter` is the condition of FILTER (WHERE ...), or None. `second` is y in
    corr(x, y), None for functions of one argument. `options` are the constants that the function takes, in its order.
    """

    function: str
    argument: Expression | None
    filter: Expression | None
    type: str
    second: Expression | None = None
    options: tuple[Constant, ...] = ()

    @property
    def argument_type(self) -> str:
        """The type of the argument, of an aggregate that has one."""
        assert self.argument is not None, self
        return self.argument.type


@dataclass(frozen=True)
class Partial:
    """What is kept of the values of one argument (None: of tuples) where the filter is true. `kind` is one of KINDS, and the
    names of its columns in cells begin with `name`. `second` is the second argument of a kind that has two, and `options`
    are the constants that decide what is kept."""

    kind: str
    argument: Expression | None
    filter: Expression | None
    name: str = ""
    second: Expression | None = None
    options: tuple[Constant, ...] = ()

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
        return self.kind == other.kind and self.of == other.of

    @property
    def of(self) -> tuple[Expression | None, Expression | None, Expression | None, tuple[Constant, ...]]:
        """What it is kept of: its arguments, its filter and its options."""
        return self.argument, self.filter, self.second, self.options

    def to_json(self) -> dict:
        """A JSON-able form; `Partial.from_json` gives back an equal partial."""
        json = expressions.to_json
        return {"kind": self.kind, "argument": json(self.argument), "filter": json(self.filter), "name": self.name,
                **more_to_json(self)}

    @staticmethod
    def from_json(data: dict) -> Partial:
        """The partial of a form made by `to_json`."""
        load = expressions.from_json
        return Partial(data["kind"], load(data["argument"]), load(data["filter"]), data["name"], *more_from_json(data))


def more_to_json(of: AggregateCall | Partial) -> dict:
    """The fields of a form that most aggregates and partials do not have."""
    return ({"second": expressions.to_json(of.second)} if of.second else {}) | (
        {"options": list(of.options)} if of.options else {})


def more_from_json(data: dict) -> tuple[Expression | None, tuple[Constant, ...]]:
    """`second` and `options` of a form that `more_to_json` is a part of."""
    return expressions.from_json(data.get("second")), tuple(data.get("options", ()))


def needed(call: AggregateCall) -> list[Partial]:
    """What an aggregate is finished from, in the order that its function wants; without names."""
    return [Partial(kind, call.argument, call.filter, "", call.second, _kept_options(call)) for kind in _kinds(call)]


def _kept_options(call: AggregateCall) -> tuple[Constant, ...]:
    """Those options that decide what is kept, and not only what is shown of it."""
    match call.function:
        case "approx_count_distinct":
            return (lg_slots(float(call.options[0] or 0)),)
        case "array_agg" | "hll_sketch_agg" | "histogram":
            return call.options
        case "string_agg":
            return call.options[1:]
        case _:
            return ()


def lg_slots(error: float) -> int:
    """The logarithm of the number of slots of a HyperLogLog sketch of that relative standard error."""
    return next(lg for lg in range(4, 17) if lg == 16 or 1.04 / 2 ** (lg / 2) <= error)


def _kinds(call: AggregateCall) -> tuple[str, ...]:
    if call.function in NEEDED:
        return (NEEDED[call.function],)
    if call.function not in ("sum", "avg"):
        return (call.function,)
    is_decimal = types.decimal_parts(call.argument_type) is not None
    is_integer = call.function == "sum" and call.argument_type in types.INTEGERS  # which wraps; a mean does not
    kind = "decimal_sum" if is_decimal else "integer_sum" if is_integer else "double_sum"
    return (kind,) if call.function == "sum" else (kind, "count")


def kept_once(calls: Iterable[AggregateCall]) -> tuple[Partial, ...]:
    """What is kept for aggregates: each partial once, named by its kind and the number of what it is kept of."""
    kept: dict[Partial, Partial] = {}
    numbers: dict[tuple, int] = {}
    for partial in _kept(calls):
        number = numbers.setdefault(partial.of, len(numbers))
        kept.setdefault(partial, replace(partial, name=f"{partial.kind}{number}"))
    return tuple(kept.values())


def kept_apart(calls: Iterable[AggregateCall]) -> tuple[Partial, ...]:
    """What version 0.1.0 kept for aggregates: the partials of each by themselves, named by its number."""
    return tuple(replace(partial, name=f"a{number}")
                 for number, call in enumerate(calls) for partial in _kept([call]))


def _kept(calls: Iterable[AggregateCall]) -> Iterator[Partial]:
    return (partial for call in calls for partial in needed(call) if not partial.is_tuple_count)
