"""Calls of aggregates: from the tree of a call, with FILTER and IGNORE NULLS around it, to an AggregateCall."""

from __future__ import annotations

from sqlglot import exp

from mars.algebra import coercion, functions
from mars.algebra.aggregate_functions import AGGREGATES, DISTINCT, Aggregate, Option
from mars.model import types
from mars.model.expressions import Call, Constant, Expression, Literal
from mars.model.partials import AggregateCall
from sql.check.lower import TreeLowering
from sql.check.lowering import Lowering, Scope
from sql.places import call_name


def is_aggregate(node: exp.Expr) -> bool:
    """True for an aggregate call, with its FILTER and IGNORE NULLS around it."""
    name = call_name(aggregate_call(node))
    return functions.aggregate_name(name) is not None or name.lower() == "count_if"


def aggregate_call(node: exp.Expr) -> exp.Expr:
    """The call inside FILTER (WHERE ...) and IGNORE NULLS."""
    while isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        node = node.this
    return node


def read_aggregate(node: exp.Expr, tuples: Scope, outer: Lowering) -> AggregateCall:
    """The aggregate with its arguments and filter over the tuple's columns; SqlError if they are not valid."""
    lowering = TreeLowering(outer.sql, tuples)
    call, conditions, ignore_nulls = aggregate_call(node), [], False
    while node is not call:
        if isinstance(node, exp.Filter):
            conditions.append(lowering.lower(node.expression.this))
        ignore_nulls = ignore_nulls or isinstance(node, exp.IgnoreNulls)
        node = node.this
    written, arguments = call_name(call), call.expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.IgnoreNulls):
        ignore_nulls, arguments = True, [arguments[0].this]
    picks = functions.aggregate_name(written) in ("first", "last")
    if picks and len(arguments) == 2 and isinstance(arguments[1], exp.Boolean):
        ignore_nulls, arguments = ignore_nulls or bool(arguments[1].this), arguments[:1]  # first(x, true)
    if written.lower() == "count_if" and len(arguments) == 1:
        conditions.append(lowering.lower(arguments[0]))
        made = AggregateCall("count", None, None, "BIGINT")
    else:
        made = read_call(call, written, arguments, lowering)
    if ignore_nulls:
        if made.argument is None or made.function not in ("first", "last"):
            raise lowering.refuse(call, f"IGNORE NULLS does not work with {written}",
                                  "every other aggregate leaves out NULLs anyway", "remove IGNORE NULLS")
        conditions.append(lowering.call("is_not_null", (made.argument,), call))
    filter_: Expression | None = None
    for condition in conditions:
        both = (filter_, condition) if filter_ else (condition, Literal(True, "BOOLEAN"))
        joined = lowering.predicate("and", both, call)
        filter_ = joined if filter_ else joined.arguments[0]
    return AggregateCall(made.function, made.argument, filter_, made.type, made.second, made.options)


def read_call(call: exp.Expr, written: str, arguments: list[exp.Expr], lowering: Lowering) -> AggregateCall:
    """The aggregate without its filter; the argument is None for count(*)."""
    function = functions.aggregate_name(written)
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = arguments[0].expressions
    if distinct and function == "count" and len(arguments) > 1:
        return AggregateCall("count_distinct", one_text(call, arguments, lowering), None, "BIGINT")
    takes = AGGREGATES[function] if function else None
    if (takes is None or (takes.second is None and not takes.options)) and len(arguments) != 1:
        hint = f"write {written}({'DISTINCT ' if distinct else ''}x)"
        raise lowering.refuse(call, f"{written} takes one argument", f"{len(arguments)} are given", hint)
    assert function is not None, written  # only count_if has none, and takes one argument elsewhere
    star = any(isinstance(argument, exp.Star) for argument in arguments)
    if distinct and (function not in DISTINCT or star):
        raise lowering.refuse(call, f"DISTINCT does not work with {written}", "it works in count(DISTINCT x)",
                              "write count(DISTINCT x)")
    if star and function != "count":
        raise lowering.refuse(
            call, f"{written} needs a column", "* is only for count(*)", f"write {written}(x)"
        )
    if star:
        return AggregateCall("count", None, None, "BIGINT")
    if distinct:
        function = DISTINCT[function]
    return typed_call(call, AGGREGATES[function], arguments, lowering)


def one_text(call: exp.Expr, arguments: list[exp.Expr], lowering: Lowering) -> Expression:
    """A text for each combination of values, and no other combination; NULL if a value is. All but the last have their
    length before them."""
    parts: list[Expression] = []
    for node in arguments:
        value = lowering.lower(node)
        if value.type in ("FLOAT", "DOUBLE"):
            value = lowering.call("add", (value, Literal(0.0, "DOUBLE")), node)  # -0.0 is 0.0
        elif value.type == "TIMESTAMP":  # has no text in far years
            value = Call("cast", (value,), "DECIMAL(20,6)")
        elif value.type == "DATE":
            value = lowering.call("datediff", (value, Literal("1970-01-01", "DATE")), node)
        text = lowering.cast(value, "STRING", node)
        parts += [lowering.call("length", (text,), node), Literal(":", "STRING"), text]
    return lowering.call("concat", (*parts[:-3], parts[-1]), call)


def typed_call(call: exp.Expr, takes: Aggregate, given: list[exp.Expr], lowering: Lowering) -> AggregateCall:
    """The aggregate of arguments and options, each cast to the type that it takes."""
    written, count = call_name(call), 1 if takes.second is None else 2
    least = count + sum(option.default is None for option in takes.options)
    if not least <= len(given) <= count + len(takes.options):
        raise lowering.refuse(call, f"{written} does not take {len(given)} argument{'s' * (len(given) != 1)}", takes.doc,
                              f"write {takes.spelling}")
    arguments = [lowering.lower(node) for node in given[:count]]
    if takes.name == "count" and isinstance(arguments[0], Literal) and arguments[0].value is not None:
        return AggregateCall("count", None, None, "BIGINT")
    try:
        result = takes.result(arguments[0].type)
        first = lowering.cast(arguments[0], takes.wanted(arguments[0].type), call)
        second = None if takes.second is None else lowering.cast(arguments[1], takes.second(arguments[1].type), call)
    except coercion.TypeMismatch as mismatch:
        types_ = ", ".join(argument.type for argument in arguments)
        raise lowering.refuse(call, f"{written} does not take {types_}", mismatch.reason, mismatch.hint) from None
    nodes = [*given[count:], *[None] * (count + len(takes.options) - len(given))]
    options = tuple(read_option(call, takes, option, node, lowering)
                    for option, node in zip(takes.options, nodes, strict=True))
    if takes.name == "histogram" and float(options[0] or 0) >= float(options[1] or 0):
        raise lowering.refuse(call, f"low of {written} must be below high", takes.doc, f"write {takes.spelling}")
    return AggregateCall(takes.name, first, None, result, second, options)


def read_option(call: exp.Expr, takes: Aggregate, option: Option, node: exp.Expr | None, lowering: Lowering) -> Constant:
    """The constant that is given for an option, or its default."""
    if node is None:
        return option.default
    value = lowering.lower(node)
    if isinstance(value, Literal) and value.value is not None:
        if option.type is str and value.type == "STRING":
            return str(value.value)
        wanted = types.INTEGERS if option.type is int else ("INT", "BIGINT", "FLOAT", "DOUBLE")
        if value.type in wanted or (option.type is float and types.decimal_parts(value.type)):
            number = option.type(value.value)
            if not isinstance(number, str) and option.least <= number <= option.greatest:
                return number
    kind = {int: "whole constant", float: "constant", str: "constant text"}[option.type]
    bounds = "" if option.type is str else f" from {option.least:,} to {option.greatest:,}"
    raise lowering.refuse(node, f"{option.name} of {call_name(call)} must be a {kind}{bounds}", takes.doc,
                          f"write {takes.spelling}")
