"""Calculating with numbers: integers wrap as in Java, division by zero is NULL, decimals are exact or NULL."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation import decimals
from mars.algebra.evaluation.arrays import masked, numbers
from mars.algebra.evaluation.function import Function, Value, all_valid, arrays
from mars.model import types


def _binary(plain: Callable, exact: Callable) -> Function:
    """`plain` for integers and floats (Arrow's unchecked functions wrap), `exact` for decimals."""
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        if pa.types.is_decimal(arguments[0].type):
            return exact(*arrays(arguments), types.to_arrow(type_))
        return plain(*arguments)
    return Function(compute)


def _nonzero(divisor: Value) -> Value:
    """The divisor with NULL for zero."""
    return pc.if_else(pc.equal(divisor, pa.scalar(0, divisor.type)), pa.scalar(None, divisor.type), divisor)


def _divide(left: Value, right: Value) -> pa.Array:
    return pc.divide(left, _nonzero(right))


def _modulo(left: Value, right: Value) -> pa.Array:
    columns = arrays([left, _nonzero(right)])
    valid = all_valid(columns)
    divisor = numbers(columns[1])
    with np.errstate(all="ignore"):
        rest = np.fmod(numbers(columns[0]), divisor if valid is None else np.where(valid, divisor, 1))
    return masked(rest, valid, columns[0].type)


def _pmod(arguments: list[Value], type_: str) -> pa.Array:
    """The remainder r, or (r + divisor) % divisor if it is negative."""
    left, right = arrays(arguments)
    rest = MODULO.compute([left, right], type_)
    if pa.types.is_decimal(rest.type):
        moved = decimals.add(rest, right, rest.type)
        below = pc.and_(pc.less(rest, pa.scalar(Decimal(0), rest.type)),
                        pc.greater(right, pa.scalar(Decimal(0), right.type)))
        return pc.if_else(below, moved, rest)
    return pc.if_else(pc.less(rest, pa.scalar(0, rest.type)), _modulo(pc.add(rest, right), right), rest)


def _div(arguments: list[Value], type_: str) -> pa.Array:
    left, right = arguments
    if pa.types.is_decimal(left.type):
        return decimals.whole_quotient(*arrays(arguments))
    # Arrow leaves the least BIGINT divided by -1 undefined; negation wraps as in Java.
    minus_one = pc.equal(right, pa.scalar(-1, right.type))
    quotient = pc.divide(left, _nonzero(pc.if_else(minus_one, pa.scalar(1, right.type), right)))
    return pc.if_else(minus_one, pc.negate(left), quotient)


MODULO = _binary(_modulo, decimals.modulo)
FUNCTIONS = {
    "add": _binary(pc.add, decimals.add),
    "subtract": _binary(pc.subtract, lambda left, right, type_: decimals.add(left, right, type_, sign=-1)),
    "multiply": _binary(pc.multiply, decimals.multiply),
    "divide": _binary(_divide, decimals.divide),
    "modulo": MODULO, "pmod": Function(_pmod),
    "div": Function(_div),
    "negate": Function(lambda arguments, type_: pc.negate(arguments[0])),
    "abs": Function(lambda arguments, type_: pc.abs(arguments[0])),
}
