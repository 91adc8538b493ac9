"""More functions of numbers."""

from __future__ import annotations

from mars.algebra import coercion
from mars.algebra.coercion import TypeMismatch
from mars.algebra.scalars.function import Function
from mars.algebra.signatures import Signature, arithmetic, fixed, round_
from mars.model.expressions import Expression


def _bits(arguments: tuple[Expression, ...]) -> Signature:
    """Whole numbers in their wider type."""
    types = coercion.operand_types(arguments[0], arguments[-1])
    for type_ in types:
        _check_whole(type_)
    wider = "BIGINT" if "BIGINT" in types else "INT"
    return (wider,) * len(arguments), wider


def _shifted(arguments: tuple[Expression, ...]) -> Signature:
    """A whole number keeps its type."""
    type_ = "INT" if arguments[0].type == "VOID" else arguments[0].type
    _check_whole(type_)
    coercion.check_implicit(arguments[1].type, "INT")
    return (type_, "INT"), type_


def _check_whole(type_: str) -> None:
    if type_ not in ("INT", "BIGINT"):
        raise TypeMismatch(f"a whole number is needed, but this is {type_}", "write cast(... AS BIGINT)")


FUNCTIONS = (
    Function("bitwise_and", 2, 2, _bits, "a & b", "the bits that both have"),
    Function("bitwise_or", 2, 2, _bits, "a | b", "the bits that one has"),
    Function("bitwise_xor", 2, 2, _bits, "a ^ b", "the bits in which they differ"),
    Function("bitwise_not", 1, 1, _bits, "~a", "the other bits"),
    Function("shiftleft", 2, 2, _shifted, "shiftleft(a, n)", "the bits n places to the left"),
    Function("shiftright", 2, 2, _shifted, "shiftright(a, n)", "the bits n places to the right, with the sign"),
    Function("shiftrightunsigned", 2, 2, _shifted, "shiftrightunsigned(a, n)", "likewise, filled with 0"),
    Function("pmod", 2, 2, arithmetic("modulo"), "pmod(a, b)", "remainder that is not negative, for b > 0"),
    Function("bround", 1, 2, round_, "bround(a[, digits])", "rounded, halves to the even digit"),
    Function("log", 1, 2, fixed(("DOUBLE",) * 2, "DOUBLE"), "log([base,] a)",
             "logarithm to a base; NULL unless both are > 0"),
    Function("log2", 1, 1, fixed(("DOUBLE",), "DOUBLE"), "log2(a)", "logarithm to base 2; NULL unless a > 0"),
)
