"""Exact decimal arithmetic with Spark's rules: rounding half up to the result's scale, NULL when its precision is too small.

Values become Python integers in numpy object arrays, which hold products of any size: about a microsecond a value.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import limbs, valid_mask

WORD = (1 << 64) - 1
DIGITS_MAX = 38
# Exponents are Java's ints.
EXPONENT_END = 1 << 31


def unscaled(array: pa.Array) -> np.ndarray:
    """The integers value * 10^scale of a decimal array as an object array; 0 at a NULL."""
    words = limbs(array)
    total = words[:, -1].astype(object)
    for column in range(words.shape[1] - 2, -1, -1):
        total = total * (1 << 64) + words[:, column].view(np.uint64).astype(object)
    valid = valid_mask(array)
    if valid is not None:
        total[~valid] = 0
    return total


def from_unscaled(values: np.ndarray, valid: np.ndarray | None, type_: pa.Decimal128Type) -> pa.Array:
    """A decimal array of integers value * 10^scale; NULL where `valid` is False or the precision is too small."""
    fits = np.abs(values) < 10 ** type_.precision if len(values) else np.zeros(0, np.bool_)
    fits = fits.astype(np.bool_) if valid is None else fits.astype(np.bool_) & valid
    values = np.where(fits, values, 0)
    words = np.empty((len(values), 2), np.int64)
    words[:, 0] = (values & WORD).astype(np.uint64).view(np.int64)
    words[:, 1] = (values >> 64).astype(np.int64)
    array = pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(words)])
    return array if fits.all() else pc.if_else(pa.array(fits), array, pa.scalar(None, type_))


def divided(numerator: np.ndarray, denominator: np.ndarray | int) -> np.ndarray:
    """Integers divided and rounded half away from zero; the denominator is not 0."""
    # numpy would make a machine word of 10**19, twice which does not fit in one.
    size = np.abs(denominator) if isinstance(denominator, np.ndarray) else abs(denominator)
    quotient = (2 * np.abs(numerator) + size) // (2 * size)
    return np.where((numerator < 0) != (denominator < 0), -quotient, quotient)


def rescaled(values: np.ndarray, scale: int, wanted: int) -> np.ndarray:
    """Unscaled values of one scale in another one, rounded half up."""
    return values * 10 ** (wanted - scale) if wanted >= scale else divided(values, 10 ** (scale - wanted))


def convert(array: pa.Array, type_: pa.Decimal128Type) -> pa.Array:
    """A decimal array (128 or 256 bits) in another precision and scale: half up, NULL when it does not fit."""
    if array.type == type_:
        return array
    return from_unscaled(rescaled(unscaled(array), array.type.scale, type_.scale), valid_mask(array), type_)


def both_valid(left: pa.Array, right: pa.Array) -> np.ndarray:
    """bool[n]: neither is NULL."""
    return pc.and_(left.is_valid(), right.is_valid()).to_numpy(zero_copy_only=False)


def add(left: pa.Array, right: pa.Array, type_: pa.Decimal128Type, sign: int = 1) -> pa.Array:
    """left + sign * right."""
    scale = max(left.type.scale, right.type.scale)
    total = (rescaled(unscaled(left), left.type.scale, scale)
             + sign * rescaled(unscaled(right), right.type.scale, scale))
    return from_unscaled(rescaled(total, scale, type_.scale), both_valid(left, right), type_)


def multiply(left: pa.Array, right: pa.Array, type_: pa.Decimal128Type) -> pa.Array:
    """left * right."""
    product = unscaled(left) * unscaled(right)
    return from_unscaled(rescaled(product, left.type.scale + right.type.scale, type_.scale),
                         both_valid(left, right), type_)


def divide(left: pa.Array, right: pa.Array, type_: pa.Decimal128Type) -> pa.Array:
    """left / right; NULL for division by zero."""
    numerator, denominator, valid = _division(left, right)
    shift = type_.scale + right.type.scale - left.type.scale
    if shift >= 0:
        numerator = numerator * 10 ** shift
    else:
        denominator = denominator * 10 ** -shift
    return from_unscaled(divided(numerator, denominator), valid, type_)


def modulo(left: pa.Array, right: pa.Array, type_: pa.Decimal128Type) -> pa.Array:
    """The remainder of left / right with the sign of left; NULL for division by zero."""
    numerator, denominator, valid, scale = _aligned_division(left, right)
    rest = np.abs(numerator) % np.abs(denominator)
    return from_unscaled(rescaled(np.where(numerator < 0, -rest, rest), scale, type_.scale), valid, type_)


def whole_quotient(left: pa.Array, right: pa.Array) -> pa.Array:
    """The whole part of left / right as BIGINT (its low 64 bits, as Spark); NULL for division by zero."""
    numerator, denominator, valid, _ = _aligned_division(left, right)
    quotient = np.abs(numerator) // np.abs(denominator)
    quotient = np.where((numerator < 0) != (denominator < 0), -quotient, quotient)
    return pa.array((quotient & WORD).astype(np.uint64).view(np.int64), mask=~valid)


def _aligned_division(left: pa.Array, right: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    scale = max(left.type.scale, right.type.scale)
    numerator, denominator, valid = _division(left, right)
    return (rescaled(numerator, left.type.scale, scale), rescaled(denominator, right.type.scale, scale), valid, scale)


def _division(left: pa.Array, right: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(numerator, denominator with 1 for 0, where the quotient is not NULL)."""
    denominator = unscaled(right)
    zero = (denominator == 0).astype(np.bool_)
    return unscaled(left), np.where(zero, 1, denominator), both_valid(left, right) & ~zero


def quantized(text: str, type_: pa.Decimal128Type) -> Decimal | None:
    """The number that the text writes, rounded half up to the type's scale; None if it does not fit."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None  # an exponent beyond all bounds
    # Spark gives up such numbers before it rounds them, a zero too.
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or value.adjusted() >= DIGITS_MAX or abs(exponent) >= EXPONENT_END:
        return None
    with localcontext(prec=2 * DIGITS_MAX + 1):
        rounded = value.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
    return rounded if rounded.copy_abs() < 10 ** (type_.precision - type_.scale) else None
