"""The table of the dialect's aggregates: what each takes, and the type of what it gives.

mars/model/partials.py says what is kept of tuples for each; mars/algebra/aggregates.py makes its value of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mars.algebra import coercion
from mars.algebra import signatures as rules

ROOM = 1_000  # values that an array or a text may have, and bars of a histogram


@dataclass(frozen=True)
class Option:
    """A constant that an aggregate takes behind its arguments: a number in these bounds, or a text (without bounds).
    `default` None: it must be given."""

    name: str
    type: type[int] | type[float] | type[str]
    least: float = 0
    greatest: float = 0
    default: int | float | str | None = None


@dataclass(frozen=True)
class Aggregate:
    """`result` gives the type of the result for that of the argument, or raises TypeMismatch; `wanted` does it for the type
    that the argument is cast to. `second` is likewise the type wanted of a second argument, None where there is none.
    `spelling` is what a user writes."""

    name: str
    result: Callable[[str], str]
    doc: str
    spelling: str = ""
    wanted: Callable[[str], str] = lambda type_: type_
    second: Callable[[str], str] | None = None
    options: tuple[Option, ...] = ()


def _as_is(type_: str) -> str:
    return type_


def _always(result: str) -> Callable[[str], str]:
    return lambda type_: result


def _boolean(type_: str) -> str:
    coercion.check_implicit(type_, "BOOLEAN")
    return "BOOLEAN"


def _text(type_: str) -> str:
    coercion.check_implicit(type_, "STRING")
    return "STRING"


def _number(type_: str) -> str:
    """A number keeps its type."""
    rules.double_type(type_)
    return type_


def _text_of_number(type_: str) -> str:
    rules.double_type(type_)
    return "STRING"


LIMIT = Option("n", int, 1, ROOM)
SHARE = Option("p", float, 0, 1)
AGGREGATES = {f.name: f for f in (
    Aggregate("count", _always("BIGINT"), "number of tuples, or of values that are not NULL"),
    Aggregate("count_distinct", _always("BIGINT"), "number of different values, exact"),
    Aggregate("sum", rules.sum_type, "sum of the values; BIGINT wraps; NULL without any"),
    Aggregate("avg", rules.average_type, "mean of the values"),
    Aggregate("sum_distinct", rules.sum_type, "sum of the different values"),
    Aggregate("avg_distinct", rules.average_type, "mean of the different values"),
    Aggregate("min", _as_is, "least value"),
    Aggregate("max", _as_is, "greatest value; NaN is the greatest"),
    Aggregate("bool_and", _boolean, "are all values true?", wanted=_boolean),
    Aggregate("bool_or", _boolean, "is a value true?", wanted=_boolean),
    Aggregate("var_pop", rules.double_type, "population variance"),
    Aggregate("var_samp", rules.double_type, "sample variance; NULL for one value"),
    Aggregate("stddev_pop", rules.double_type, "population standard deviation"),
    Aggregate("stddev_samp", rules.double_type, "sample standard deviation; NULL for one value"),
    Aggregate("skewness", rules.double_type, "skewness; NULL if all values are equal"),
    Aggregate("kurtosis", rules.double_type, "excess kurtosis; NULL if all values are equal"),
    Aggregate("covar_pop", rules.double_type, "population covariance", "covar_pop(x, y)", second=_number),
    Aggregate("covar_samp", rules.double_type, "sample covariance; NULL for one pair", "covar_samp(x, y)", second=_number),
    Aggregate("corr", rules.double_type, "Pearson's correlation; NULL if all x or all y are equal", "corr(x, y)",
              second=_number),
    Aggregate("first", _as_is, "value of the earliest tuple, NULL too"),
    Aggregate("last", _as_is, "value of the latest tuple, NULL too"),
    Aggregate("min_by", _as_is, "value of x where y is least", "min_by(x, y)", second=_as_is),
    Aggregate("max_by", _as_is, "value of x where y is greatest", "max_by(x, y)", second=_as_is),
    Aggregate("array_agg", _always("STRING"), "the n earliest values as a JSON array", "array_agg(x, 100)",
              options=(LIMIT,)),
    Aggregate("string_agg", _text, "the n earliest texts, joined", "string_agg(x, ', ', 100)", _text,
              options=(Option("separator", str), LIMIT)),
    Aggregate("median", rules.double_type, "the middle value, exact"),
    Aggregate("percentile", rules.double_type, "the value below which a share p lies, exact", "percentile(x, 0.95)",
              options=(SHARE,)),
    Aggregate("approx_percentile", _number, "a value below which about a share p lies", "approx_percentile(x, 0.95)",
              options=(SHARE,)),
    Aggregate("approx_count_distinct", _always("BIGINT"), "about how many different values there are",
              "approx_count_distinct(x)", options=(Option("error", float, 0.005, 0.26, 0.0165),)),
    Aggregate("hll_sketch_agg", _always("STRING"), "a HyperLogLog sketch of the values, in base64", "hll_sketch_agg(x)",
              options=(Option("lg_k", int, 4, 16, 12),)),
    Aggregate("top_k", _always("STRING"), "the k most frequent values and their counts, as a JSON array", "top_k(x, 10)",
              options=(Option("k", int, 1, ROOM),)),
    Aggregate("histogram", _text_of_number, "counts of n bars of equal width, as a JSON array",
              "histogram(x, 0, 100, 10)",
              options=(Option("low", float, -1e300, 1e300), Option("high", float, -1e300, 1e300), LIMIT)),
)}
AGGREGATE_ALIASES = {
    "mean": "avg", "variance": "var_samp", "stddev": "stddev_samp", "std": "stddev_samp", "first_value": "first",
    "last_value": "last", "any_value": "first", "every": "bool_and", "some": "bool_or", "any": "bool_or",
    "collect_list": "array_agg", "listagg": "string_agg", "percentile_approx": "approx_percentile",
    "approx_top_k": "top_k",
}
# The aggregate that f(DISTINCT x) is. Where it is f itself, DISTINCT changes nothing.
DISTINCT = {"count": "count_distinct", "sum": "sum_distinct", "avg": "avg_distinct",
            **{name: name for name in ("min", "max", "bool_and", "bool_or")}}
UNCALLABLE = frozenset({"count_distinct", "sum_distinct", "avg_distinct"})
