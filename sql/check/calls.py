"""Calls of scalar functions by their names, and what to write instead of functions that the dialect does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from mars.algebra import coercion, functions
from mars.algebra.scalars import times
from mars.model import types
from mars.model.expressions import Call, Expression, Literal
from sql.check.casting import CALLED, cast_to
from sql.check.lowering import Lowering
from sql.check.patterns import match
from sql.places import call_name
from sql.refusals import did_you_mean

Special: TypeAlias = Callable[[Lowering, tuple[Expression, ...], exp.Expr], Expression]
# Short names are alike by chance: below this, `instr` would mean `first`.
ALIKE = 0.7
MEANT = {
    "window": "write WINDOWING 60 s after GROUP BY",
    "tumble": "write WINDOWING 60 s after GROUP BY",
    "hop": "write WINDOWING 60 s after GROUP BY",
    **dict.fromkeys(("now", "current_timestamp", "current_date", "curdate", "localtimestamp"),
                    "a result must not depend on when it is computed"),
    **dict.fromkeys(("rand", "random", "randn", "uuid"), "a result must not depend on chance"),
    **dict.fromkeys(("quantile", "approx_quantile", "percentile_cont", "percentile_disc"),
                    "write percentile(x, 0.95), which is exact, or approx_percentile(x, 0.95)"),
    "topk": "write top_k(x, 10)",
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "cbrt", "log1p", "expm1"),
                    "its last digits depend on the CPU: calculate it from the results"),
    **dict.fromkeys(("xxhash64", "hash"), "write crc32(s), or sha2(s, 256)"),
    "collect_set": "write top_k(x, 100), or array_agg(x, 100)",
}


def lower_call(lowering: Lowering, node: exp.Anonymous) -> Expression:
    """A scalar function."""
    written = call_name(node)
    if written.lower() in OTHERWISE:
        wanted, lower = OTHERWISE[written.lower()]
        if wanted != len(node.expressions):
            raise lowering.refuse(node, f"{written} takes {wanted} argument{'s' * (wanted != 1)}", "",
                                  f"write {written}({', '.join('abc'[:wanted])})")
        return lower(lowering, node)
    name = functions.scalar_name(written)
    if name is None:
        hint = MEANT.get(written.lower()) or did_you_mean(written, [*functions.callable_names(), *OTHERWISE],
                                                          "docs/dialect.md lists the functions", ALIKE)
        raise lowering.refuse(node, f"unknown function {written}", "", hint)
    function, count = functions.SCALARS[name], len(node.expressions)
    if count < function.minimum or count > (function.maximum or count):
        raise lowering.refuse(node, f"{written} does not take {count} argument{'s' * (count != 1)}",
                              function.doc, f"write {function.spelling}")
    arguments = tuple(lowering.lower(argument) for argument in node.expressions)
    special = SPECIAL.get(name)
    return special(lowering, arguments, node) if special else lowering.call(name, arguments, node)


def lower_nullif(lowering: Lowering, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
    """nullif(a, b); as CASE if Spark compares in another type than that of a."""
    equal = lowering.predicate("eq", arguments, node)
    if equal.arguments[0] == arguments[0]:
        return Call("nullif", equal.arguments, arguments[0].type)
    return lowering.call("case", (equal, Literal(None, arguments[0].type), arguments[0]), node)


def lower_date_trunc(lowering: Lowering, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
    """date_trunc(unit, t), with the unit's usual name."""
    return lowering.call("date_trunc", (unit_name(arguments[0]), arguments[1]), node)


def lower_trunc(lowering: Lowering, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
    """trunc(d, unit), with the unit's usual name."""
    return lowering.call("trunc", (arguments[0], unit_name(arguments[1])), node)


def unit_name(unit: Expression) -> Expression:
    """A constant unit by its usual name: 'MON' is 'month'."""
    is_text = isinstance(unit, Literal) and isinstance(unit.value, str)
    return Literal(times.unit_of(unit.value), "STRING") if isinstance(unit, Literal) and is_text else unit


def lower_to_timestamp(lowering: Lowering, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
    """to_timestamp(x[, pattern]): the pattern is for a text; anything else is cast."""
    value = arguments[0]
    if value.type == "STRING" and len(arguments) == 2:
        return lowering.call("to_timestamp", arguments, node)
    if not coercion.castable(value.type, "TIMESTAMP"):
        raise lowering.refuse(node, f"{value.type} cannot be cast to TIMESTAMP", "",
                             "write to_timestamp(text, 'yyyy-MM-dd')")
    return lowering.cast(value, "TIMESTAMP", node)


def lower_read_time(name: str) -> Special:
    """to_date(x, pattern) and unix_timestamp(x, pattern), of the time that to_timestamp reads."""
    def lower(lowering: Lowering, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
        time = lower_to_timestamp(lowering, arguments, node) if len(arguments) == 2 else arguments[0]
        return lowering.call(name, (time,), node)
    return lower


def lower_log(lowering: Lowering, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
    """log(x) is ln(x)."""
    return lowering.call("log" if len(arguments) == 2 else "ln", arguments, node)


def lower_nvl2(lowering: Lowering, node: exp.Expr) -> Expression:
    """nvl2(a, b, c): b unless a is NULL."""
    value, other, default = (lowering.lower(argument) for argument in node.expressions)
    return lowering.call("if", (lowering.call("is_not_null", (value,), node), other, default), node)


def lower_regexp_like(lowering: Lowering, node: exp.Expr) -> Expression:
    """regexp_like(s, pattern) is s RLIKE pattern."""
    return match(lowering, node, *node.expressions)


def lower_type(lowering: Lowering, node: exp.Expr) -> Expression:
    """int(x) is cast(x AS INT)."""
    name = types.normalize(call_name(node))
    assert name is not None, node
    return cast_to(lowering, lowering.lower(node.expressions[0]), name, node)


# Calls that are other expressions: their number of arguments, and what they are.
OTHERWISE: dict[str, tuple[int, Callable[[Lowering, exp.Expr], Expression]]] = {
    "nvl2": (3, lower_nvl2), "regexp_like": (2, lower_regexp_like), "regexp": (2, lower_regexp_like),
    **dict.fromkeys(CALLED, (1, lower_type)),
}
SPECIAL: dict[str, Special] = {
    "nullif": lower_nullif, "date_trunc": lower_date_trunc, "trunc": lower_trunc, "to_timestamp": lower_to_timestamp,
    "log": lower_log,
    "to_date": lower_read_time("to_date"), "unix_timestamp": lower_read_time("unix_timestamp"),
}
