"""Type rules: which types a function wants for its arguments, and which type its result has.

A rule takes the arguments and gives (the type each must be cast to, the type of the result), or raises
TypeMismatch.
"""

from __future__ import annotations

from collections.abc import Callable

from mars.algebra import coercion
from mars.algebra.coercion import TypeMismatch
from mars.model.expressions import Expression, Literal
from mars.model.types import decimal_parts

Signature = tuple[tuple[str, ...], str]
Rule = Callable[[tuple[Expression, ...]], Signature]


def fixed(wanted: tuple[str, ...], result: str) -> Rule:
    """The rule of a function with one signature; Spark's implicit casts apply to each argument."""
    def rule(arguments: tuple[Expression, ...]) -> Signature:
        for argument, target in zip(arguments, wanted, strict=False):
            coercion.check_implicit(argument.type, target)
        return wanted[:len(arguments)], result
    return rule


def arithmetic(name: str) -> Rule:
    """The rule of + - * / % and div."""
    def rule(arguments: tuple[Expression, ...]) -> Signature:
        left, right = arguments
        types = coercion.operand_types(left, right)
        for type_ in types:
            coercion.check_calculable(type_)
        wider = coercion.tightest(*types)
        assert wider is not None, types  # two numbers always meet
        if decimal_parts(wider):
            left_type, right_type = (coercion.as_decimal(t) for t in types)
            return (left_type, right_type), \
                "BIGINT" if name == "div" else coercion.decimal_result(name, left_type, right_type)
        if name == "div":
            if wider in ("FLOAT", "DOUBLE"):
                raise TypeMismatch("div divides whole numbers", "write floor(a / b)")
            wider = "BIGINT"
        target = "DOUBLE" if name == "divide" else wider
        return (target, target), target
    return rule


def comparison(arguments: tuple[Expression, ...]) -> Signature:
    """Both sides in the type in which Spark compares them."""
    common = coercion.comparable(*coercion.operand_types(*arguments))
    return (common, common), "BOOLEAN"


def membership(arguments: tuple[Expression, ...]) -> Signature:
    """IN: value and literals in their wider common type."""
    common = coercion.widest([a.type for a in arguments])
    return (common,) * len(arguments), "BOOLEAN"


def widest(arguments: tuple[Expression, ...]) -> Signature:
    """coalesce: all in their wider common type."""
    common = coercion.widest([a.type for a in arguments])
    return (common,) * len(arguments), common


def greatest(arguments: tuple[Expression, ...]) -> Signature:
    """greatest and least: all in their wider common type; text is not mixed with anything else."""
    common = coercion.widest([a.type for a in arguments], text_wins=False)
    return (common,) * len(arguments), common


def if_(arguments: tuple[Expression, ...]) -> Signature:
    """if(condition, value, else value)."""
    coercion.check_implicit(arguments[0].type, "BOOLEAN")
    common = coercion.widest([a.type for a in arguments[1:]])
    return ("BOOLEAN", common, common), common


def case(arguments: tuple[Expression, ...]) -> Signature:
    """condition, value, condition, value, ..., else value."""
    for condition in arguments[:-1:2]:
        coercion.check_implicit(condition.type, "BOOLEAN")
    common = coercion.widest([a.type for a in (*arguments[1::2], arguments[-1])])
    return ("BOOLEAN", common) * (len(arguments) // 2) + (common,), common


def nullif(arguments: tuple[Expression, ...]) -> Signature:
    """nullif(a, b) in a's type; when Spark compares them in another one, sql/ writes it as CASE."""
    type_ = arguments[0].type
    return (type_, type_), type_


def concat(arguments: tuple[Expression, ...]) -> Signature:
    """Everything as text."""
    return ("STRING",) * len(arguments), "STRING"


def anything(result: str) -> Rule:
    """Arguments of any type, untouched."""
    return lambda arguments: (tuple(a.type for a in arguments), result)


def numeric_as_is(arguments: tuple[Expression, ...]) -> Signature:
    """abs and negation keep the type of their number; NULL counts as DOUBLE."""
    type_ = "DOUBLE" if arguments[0].type == "VOID" else arguments[0].type
    coercion.check_calculable(type_)
    return (type_,), type_


def trim(arguments: tuple[Expression, ...]) -> Signature:
    """trim(text), or trim(characters, text) with constant characters."""
    if len(arguments) == 2 and not (isinstance(arguments[0], Literal) and isinstance(arguments[0].value, str)):
        raise TypeMismatch("the characters must be a constant text", "write trim(BOTH 'x' FROM s)")
    for argument in arguments:
        coercion.check_implicit(argument.type, "STRING")
    return ("STRING",) * len(arguments), "STRING"


def floor_ceil(arguments: tuple[Expression, ...]) -> Signature:
    """A whole number: BIGINT, or DECIMAL without a fraction for DECIMAL. With digits, DECIMAL as round gives it."""
    type_ = arguments[0].type
    if len(arguments) == 2:
        coercion.check_calculable(type_)
        exact = {"FLOAT": "DECIMAL(14,7)", "DOUBLE": "DECIMAL(30,15)"}.get(type_, coercion.as_decimal(type_))
        return round_((Literal(None, exact), arguments[1]))
    coercion.check_calculable(type_)
    parts = decimal_parts(type_)
    if parts:
        return (type_,), coercion.bounded(parts[0] - parts[1] + 1, 0) if parts[1] else type_
    return ("BIGINT" if type_ in ("INT", "BIGINT") else "DOUBLE",), "BIGINT"


def round_(arguments: tuple[Expression, ...]) -> Signature:
    """round(x) and round(x, digits): x's type; a DECIMAL gets the scale that is left."""
    type_ = "DOUBLE" if arguments[0].type == "VOID" else arguments[0].type
    coercion.check_calculable(type_)
    digits = 0
    if len(arguments) == 2:
        if not (isinstance(arguments[1], Literal) and isinstance(arguments[1].value, int)):
            raise TypeMismatch("the number of digits must be a whole constant", "write round(x, 2)")
        digits = arguments[1].value
    parts = decimal_parts(type_)
    wanted = (type_, "INT")[:len(arguments)]
    if not parts:
        return wanted, type_
    whole = parts[0] - parts[1] + 1
    if digits < 0:
        return wanted, coercion.bounded(max(whole, 1 - digits), 0)
    return wanted, coercion.bounded(whole + min(parts[1], digits), min(parts[1], digits))


def pattern(arguments: tuple[Expression, ...]) -> Signature:
    """LIKE and RLIKE: text and a constant pattern."""
    if not isinstance(arguments[1], Literal):
        raise TypeMismatch("the pattern must be a constant text", "write it in single quotes")
    coercion.check_implicit(arguments[0].type, "STRING")
    return ("STRING", "STRING"), "BOOLEAN"


def cast(arguments: tuple[Expression, ...]) -> Signature:
    """A cast has its target as its own type, so sql/ does not ask this rule for it."""
    return (arguments[0].type,), arguments[0].type


def sum_type(type_: str) -> str:
    """Integers as BIGINT, DECIMAL(p, s) as DECIMAL(p + 10, s), else DOUBLE."""
    coercion.check_calculable(type_)
    parts = decimal_parts(type_)
    if parts:
        return coercion.bounded(parts[0] + 10, parts[1])
    return "BIGINT" if type_ in ("INT", "BIGINT") else "DOUBLE"


def average_type(type_: str) -> str:
    """DECIMAL(p, s) as DECIMAL(p + 4, s + 4), else DOUBLE."""
    coercion.check_calculable(type_)
    parts = decimal_parts(type_)
    return coercion.bounded(parts[0] + 4, parts[1] + 4) if parts else "DOUBLE"


def double_type(type_: str) -> str:
    """DOUBLE of any number."""
    coercion.check_calculable(type_)
    return "DOUBLE"
