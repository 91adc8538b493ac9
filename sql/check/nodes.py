"""One function for each kind of node in an expression's tree. It says what the node means in the dialect.

Each takes the Lowering that it is part of and the node, and gives the typed expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from mars.algebra import coercion
from mars.model.expressions import Expression, Literal
from sql import literals
from sql.check.calls import lower_call
from sql.check.casting import lower_cast
from sql.check.intervals import lower_extract, lower_interval
from sql.check.lowering import Lowering
from sql.check.patterns import lower_escape, lower_like, lower_rlike

Method = Callable[[Lowering, Any], Expression]  # the node is of the kind that the method is entered for

BINARY: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "bitwise_and",
    exp.BitwiseOr: "bitwise_or",
    exp.BitwiseXor: "bitwise_xor",
    exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
    exp.IntDiv: "div",
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "null_safe_eq",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "concat",
}


def lower_literal(lowering: Lowering, node: exp.Literal) -> Expression:
    """A number or a text."""
    literal = Literal(node.this, "STRING") if node.is_string else literals.number(node.this)
    if literal is None:
        raise lowering.refuse(
            node, "this number is too large", "38 digits, or the range of DOUBLE", "write a smaller number"
        )
    return literal


def lower_column(lowering: Lowering, node: exp.Column) -> Expression:
    """A column. * cannot be part of an expression."""
    if isinstance(node.this, exp.Star):
        raise lowering.refuse(
            node, "* cannot be part of an expression", "SELECT * FROM stream LIMIT n shows tuples", "name the columns"
        )
    return lowering.scope.column(node, lowering)


def lower_negate(lowering: Lowering, node: exp.Neg) -> Expression:
    """-x; a constant is negated here."""
    value = lowering.lower(node.this)
    negative = literals.negated(value) if isinstance(value, Literal) else None
    if negative and isinstance(value, coercion.CastLiteral):
        negative = coercion.CastLiteral(negative.value, value.type)
    return negative or lowering.call("negate", (value,), node)


def lower_is(lowering: Lowering, node: exp.Is) -> Expression:
    """IS NULL, IS TRUE, IS FALSE."""
    value, other = lowering.lower(node.this), node.expression
    if isinstance(other, exp.Null):
        return lowering.call("is_null", (value,), node)
    if isinstance(other, exp.Boolean):
        return lowering.call("null_safe_eq", (value, lowering.lower(other)), node)
    raise lowering.refuse(
        node, "IS takes NULL, TRUE or FALSE", "", "write x <=> y if NULL shall equal NULL"
    )


def lower_in(lowering: Lowering, node: exp.In) -> Expression:
    """IN: one call if all members are constants, else an equality for each member."""
    if not node.expressions:
        raise lowering.refuse(node, "IN takes a list of constants", "sub-queries are not part of the dialect",
                              "write x IN (1, 2, 3)")
    value = lowering.lower(node.this)
    call = lowering.predicate("in", (value, *(lowering.lower(member) for member in node.expressions)), node)
    value, *members = call.arguments
    if all(isinstance(member, Literal) for member in members):
        return call
    found = [lowering.call("eq", (value, member), node) for member in members]
    while len(found) > 1:  # join them pair by pair; one after another would nest as deep as the list is long
        pairs = [lowering.call("or", pair, node) for pair in zip(found[::2], found[1::2], strict=False)]
        found = pairs + found[len(pairs) * 2:]
    return found[0]


def lower_between(lowering: Lowering, node: exp.Between) -> Expression:
    """a BETWEEN b AND c as a >= b AND a <= c."""
    value = lowering.lower(node.this)
    low = lowering.call("ge", (value, lowering.lower(node.args["low"])), node)
    return lowering.call(
        "and", (low, lowering.call("le", (value, lowering.lower(node.args["high"])), node)), node
    )


def lower_case(lowering: Lowering, node: exp.Case) -> Expression:
    """CASE in both forms; ELSE is always there."""
    arguments: list[Expression] = []
    value = lowering.lower(node.this) if node.this is not None else None
    for branch in node.args["ifs"]:
        condition = lowering.lower(branch.this)
        if value is not None:
            condition = lowering.call("eq", (value, condition), branch)
        arguments += [condition, lowering.lower(branch.args["true"])]
    default = node.args.get("default")
    arguments.append(lowering.lower(default) if default is not None else Literal(None, "VOID"))
    return lowering.call("case", tuple(arguments), node)


def lower_distinct_from(lowering: Lowering, node: exp.NullSafeNEQ) -> Expression:
    """a IS DISTINCT FROM b as NOT a <=> b."""
    equal = lowering.call("null_safe_eq", (lowering.lower(node.this), lowering.lower(node.expression)), node)
    return lowering.call("not", (equal,), node)


def lower_trim(lowering: Lowering, node: exp.Trim) -> Expression:
    """trim(BOTH characters FROM s), LEADING and TRAILING."""
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "trim")
    parts = [part for part in (node.args.get("expression"), node.this) if part is not None]
    return lowering.call(name, tuple(map(lowering.lower, parts)), node)


def lower_substring(lowering: Lowering, node: exp.Substring) -> Expression:
    """substring(s FROM a FOR b)."""
    parts = [part for part in (node.this, node.args.get("start"), node.args.get("length")) if part is not None]
    return lowering.call("substring", tuple(map(lowering.lower, parts)), node)


def lower_position(lowering: Lowering, node: exp.StrPosition) -> Expression:
    """position(t IN s)."""
    return lowering.call("locate", (lowering.lower(node.args["substr"]), lowering.lower(node.this)), node)


def lower_texts(lowering: Lowering, node: exp.Concat) -> Expression:
    """'a' 'b': texts side by side are one."""
    return Literal("".join(part.name for part in node.expressions), "STRING")


def lower_refused(lowering: Lowering, node: exp.Expr) -> Expression:
    """Refuses a kind of node of which REFUSED says what to write instead."""
    raise lowering.refuse(node, *REFUSED[type(node)])


AGGREGATE_ONLY = ("FILTER, DISTINCT and IGNORE NULLS need an aggregate", "this is not one",
                  "write count(DISTINCT x), sum(x) FILTER (WHERE ...), first(x) IGNORE NULLS")
CLOCK = ("the clock is not part of the dialect", "a result must not depend on when it is computed",
         "compare with a constant: TIMESTAMP '2026-01-31 12:00:00'")
SUB_QUERY = ("sub-queries are not part of the dialect", "a SELECT reads one stream",
             "sub-queries work over the results of queries")
REFUSED: dict[type[exp.Expr], tuple[str, str, str]] = {
    exp.Filter: AGGREGATE_ONLY, exp.Distinct: AGGREGATE_ONLY, exp.IgnoreNulls: AGGREGATE_ONLY,
    exp.RespectNulls: AGGREGATE_ONLY, exp.CurrentDate: CLOCK, exp.CurrentTimestamp: CLOCK, exp.CurrentTime: CLOCK,
    exp.Subquery: SUB_QUERY, exp.Select: SUB_QUERY, exp.Exists: SUB_QUERY,
    exp.WithinGroup: ("WITHIN GROUP is not part of the dialect", "array_agg and string_agg go by event time",
                      "write percentile(x, 0.95), array_agg(x, 100) or string_agg(x, ', ', 100)"),
    exp.Window: ("OVER is not part of the dialect", "WINDOWING makes windows of time",
                 "make a query, and use OVER on its results"),
}
METHODS: dict[type[exp.Expr], Method] = dict.fromkeys(REFUSED, lower_refused) | {
    exp.Literal: lower_literal, exp.Column: lower_column, exp.Neg: lower_negate, exp.Is: lower_is, exp.In: lower_in,
    exp.Between: lower_between, exp.Like: lower_like, exp.ILike: lower_like, exp.Escape: lower_escape,
    exp.RegexpLike: lower_rlike, exp.Case: lower_case, exp.Cast: lower_cast, exp.TryCast: lower_cast,
    exp.Extract: lower_extract, exp.Interval: lower_interval,
    exp.Anonymous: lower_call, exp.NullSafeNEQ: lower_distinct_from,
    exp.Trim: lower_trim, exp.Substring: lower_substring, exp.StrPosition: lower_position, exp.Concat: lower_texts,
    exp.BitwiseNot: lambda lowering, node: lowering.call("bitwise_not", (lowering.lower(node.this),), node),
    exp.Paren: lambda lowering, node: lowering.lower(node.this),
    exp.Not: lambda lowering, node: lowering.call("not", (lowering.lower(node.this),), node),
    exp.Boolean: lambda lowering, node: Literal(bool(node.this), "BOOLEAN"),
    exp.Null: lambda lowering, node: Literal(None, "VOID"),
}
