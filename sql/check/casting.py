"""cast(x AS type), x::type and type(x)."""

from __future__ import annotations

from sqlglot import exp

from mars.algebra import coercion
from mars.model import types
from mars.model.expressions import Call, Expression, Literal
from sql import literals
from sql.check.lowering import Lowering
from sql.places import span
from sql.refusals import did_you_mean, no_type

KIND = exp.DType
KINDS = {KIND.BOOLEAN, KIND.INT, KIND.BIGINT, KIND.FLOAT, KIND.DOUBLE, KIND.DECIMAL, KIND.TEXT, KIND.DATE, KIND.TIMESTAMPTZ}
# The types that can be called like functions.
CALLED = ("boolean", "int", "bigint", "float", "double", "decimal", "string", "date", "timestamp")


def lower_cast(lowering: Lowering, node: exp.Cast) -> Expression:
    """cast(x AS type) and x::type. A constant is cast here, if that is exact."""
    value, written = lowering.lower(node.this), node.to.sql("spark")
    target = types.normalize(written)
    if target and node.to.this not in KINDS:
        # sqlglot writes types of other systems as the nearest one of Spark: a time of day as TIMESTAMP.
        written, target = node.to.sql(), None
    if target is None:
        usual = "write INT, BIGINT, DOUBLE, DECIMAL(p, s) or STRING"
        raise lowering.refuse(node, *no_type(written, did_you_mean(written, functions_types(), usual)))
    return cast_to(lowering, value, target, node)


def cast_to(lowering: Lowering, value: Expression, target: str, node: exp.Expr) -> Expression:
    """The value as a type; a constant is cast here, if that is exact."""
    if not coercion.castable(value.type, target):
        raise lowering.refuse(node, f"{value.type} cannot be cast to {target}", "", "cast it to TIMESTAMP first")
    if not isinstance(value, Literal):
        return value if value.type == target else Call("cast", (value,), target)
    folded = value if value.type == target else literals.fold(value, target)
    if folded and coercion.is_whole_constant(folded) and not (isinstance(node, exp.Cast) and is_suffixed(lowering, node)):
        return coercion.CastLiteral(folded.value, folded.type)
    return folded or Call("cast", (value,), target)


def is_suffixed(lowering: Lowering, node: exp.Cast) -> bool:
    """Is it a number with a letter, like 10L? sqlglot turns that into a cast."""
    number = node.this
    is_number = isinstance(number, exp.Literal) and not number.is_string
    return is_number and lowering.sql[slice(*span(node))] != number.this


def functions_types() -> tuple[str, ...]:
    """The types that a cast may name, for did-you-mean."""
    return tuple(t for t in types.ARROW if t != "VOID")
