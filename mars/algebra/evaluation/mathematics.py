"""Mathematical functions on doubles as java.lang.Math has them, and rounding of every number type.

Each gives the same bits on every CPU. Therefore they use from numpy only what IEEE 754 rounds correctly (sqrt, floor,
ceil, + - * /). numpy's exp, log, log10 and power run different code on different CPUs, with other last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation import decimals, elementary, powers
from mars.algebra.evaluation.arrays import masked, numbers, valid_mask
from mars.algebra.evaluation.function import Function, Value, on_doubles
from mars.model import types

EXACT = 2.0 ** 52
# No number has a digit this far from its point, so rounding beyond it is the same as rounding here.
DIGITS_MAX = 400


def to_long(values: np.ndarray) -> np.ndarray:
    """int64 of doubles as Java casts: cut towards zero, saturating, NaN to 0."""
    whole = np.where(np.isnan(values), 0.0, values)
    cut = np.clip(whole, -(2.0 ** 63), 2.0 ** 62).astype(np.int64)
    large = whole > 2.0 ** 62
    if large.any():
        below = np.where(large & (whole < 2.0 ** 63), whole, 0).astype(np.int64)
        cut = np.where(large, np.where(whole < 2.0 ** 63, below, np.iinfo(np.int64).max), cut)
    return cut


def _sign(values: np.ndarray) -> np.ndarray:
    return np.where(values == 0, values, np.sign(values))


def _logarithm(logarithm: Callable[[np.ndarray], np.ndarray]) -> Function:
    """NULL unless the number is above 0 (NaN gives NaN)."""
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        return on_doubles(logarithm)([_positive(arguments[0])], type_)
    return Function(compute)


def _log(arguments: list[Value], type_: str) -> pa.Array:
    """The quotient of both natural logarithms, as in Spark."""
    base, value = (_positive(argument) for argument in arguments)
    return on_doubles(lambda b, x: elementary.ln(x) / elementary.ln(b))([base, value], type_)


def _positive(value: Value) -> Value:
    return pc.if_else(pc.less_equal(value, 0.0), pa.scalar(None, pa.float64()), value)


def _whole(direction: np.ufunc) -> Function:
    """floor and ceil: BIGINT stays, DOUBLE becomes BIGINT, DECIMAL becomes one without a fraction."""
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        column = arguments[0]
        if len(arguments) == 2:
            return _whole_units(column, arguments[1].as_py(), direction is np.floor, types.to_arrow(type_))
        if pa.types.is_decimal(column.type):
            values, unit = decimals.unscaled(column), 10 ** column.type.scale
            whole = values // unit if direction is np.floor else -(-values // unit)
            return decimals.from_unscaled(whole, valid_mask(column), types.to_arrow(type_))
        if not pa.types.is_floating(column.type):
            return column
        return masked(to_long(direction(numbers(column))), valid_mask(column), pa.int64())
    return Function(compute, setting=1)


def _whole_units(column: pa.Array, digits: int, down: bool, type_: pa.Decimal128Type) -> pa.Array:
    """floor and ceil of DECIMALs to so many digits."""
    digits = max(-DIGITS_MAX, min(digits, column.type.scale))
    values, unit = decimals.unscaled(column), 10 ** (column.type.scale - digits)
    whole = values // unit if down else -(-values // unit)
    return decimals.from_unscaled(whole * 10 ** max(-digits, 0), valid_mask(column), type_)


def _rounded(even: bool) -> Function:
    """round, whose halves go away from 0, and bround, whose halves go to the even digit."""
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        column = arguments[0]
        digits = arguments[1].as_py() if len(arguments) == 2 else 0
        if digits is None:
            return pa.nulls(len(column), column.type)
        digits = max(-DIGITS_MAX, min(digits, DIGITS_MAX))
        if pa.types.is_decimal(column.type):
            return _round_decimals(column, digits, types.to_arrow(type_), even)
        if pa.types.is_integer(column.type):
            return column if digits >= 0 else _round_integers(column, -digits, even)
        # A FLOAT is rounded as the DOUBLE that it is: 90.85 is 90.8499984741211, and rounds to 90.8.
        values = round_doubles(numbers(column).astype(np.float64), digits, even)
        return masked(values, valid_mask(column), pa.float64()).cast(types.to_arrow(type_), safe=False)
    return Function(compute, setting=1)


def _round_decimals(column: pa.Array, digits: int, type_: pa.Decimal128Type, even: bool) -> pa.Array:
    places = column.type.scale - min(digits, column.type.scale)
    values = _divided(decimals.unscaled(column), 10 ** places, even)
    if digits < 0:
        values = values * 10 ** -digits
    return decimals.from_unscaled(values, valid_mask(column), type_)


def _round_integers(column: pa.Array, zeros: int, even: bool) -> pa.Array:
    unit = 10 ** zeros
    values = _divided(numbers(column).astype(object), unit, even) * unit
    low = (values & decimals.WORD).astype(np.uint64).view(np.int64)
    return masked(low.astype(column.type.to_pandas_dtype()), valid_mask(column), column.type)


def _divided(values: np.ndarray, unit: int, even: bool) -> np.ndarray:
    """Integers divided and rounded, halves away from 0 or to the even quotient."""
    if not even:
        return decimals.divided(values, unit)
    below, rest = values // unit, values % unit
    return below + ((2 * rest > unit) | ((2 * rest == unit) & (below % 2 == 1)))


def round_doubles(values: np.ndarray, digits: int, even: bool = False) -> np.ndarray:
    """Doubles rounded in the decimal digits that they print, as Spark does: halves away from zero, or to the even digit.

    |x| lies in [n, n + 1) / 10^digits, and is rounded up if it is at least the double next to the midpoint: for
    integers below 2^52 that quotient is correctly rounded. Values beyond go through decimal one by one.
    """
    size, power = np.abs(values), float(10 ** min(abs(digits), 15))
    with np.errstate(all="ignore"):
        plain = np.isfinite(values) & (size < EXACT) & (abs(digits) <= 15)
        # A midpoint has a digit more than the result; beyond 2^52 units of that its double may print another number.
        plain &= (size * power < EXACT / 16) if digits > 0 else (size / power < EXACT)
        whole = np.where(plain, size, 0)
        scale, unit = (power, 1.0) if digits >= 0 else (1.0, power)
        n = np.floor(whole / unit * scale)
        n -= n * unit / scale > whole
        n += (n + 1) * unit / scale <= whole
        middle = (2 * n + 1) * unit / (2 * scale)
        n += (middle < whole) | ((middle == whole) & (n % 2 == 1)) if even else middle <= whole
        rounded = np.copysign(n * unit / scale, values)
    rest = np.isfinite(values) & ~plain
    rounded[~plain] = values[~plain]
    rounded[rest] = [_round_printed(x, digits, ROUND_HALF_EVEN if even else ROUND_HALF_UP) for x in values[rest].tolist()]
    return rounded + 0.0


def _round_printed(value: float, digits: int, mode: str) -> float:
    with localcontext(prec=800):
        return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), mode))


FUNCTIONS = {
    "sqrt": Function(on_doubles(np.sqrt)), "exp": Function(on_doubles(elementary.exp)),
    "power": Function(on_doubles(powers.power)), "sign": Function(on_doubles(_sign)),
    "ln": _logarithm(elementary.ln), "log10": _logarithm(elementary.log10),
    "log": Function(_log), "log2": Function(lambda arguments, type_: _log([pa.scalar(2.0), *arguments], type_)),
    "floor": _whole(np.floor), "ceil": _whole(np.ceil), "round": _rounded(even=False), "bround": _rounded(even=True),
}
