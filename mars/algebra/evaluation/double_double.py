"""Sums of two doubles that stand for one number of about 106 bits, and their rounding to one double.

After Dekker, "A floating-point technique for extending the available precision" (Numerische Mathematik 18, 1971), and Boldo
and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd" (IEEE Transactions on
Computers 57, 2008). Only + - * / of IEEE 754 and integers are used, which every CPU gives to the bit; numba keeps their
order, and does not join a product and a sum into one rounding, as none of its fast-math flags is set. Nothing here looks
at infinities, NaN or what is too large for a product of parts: callers keep within about 2^±500.
"""

from __future__ import annotations

import numpy as np

from mars.kernel_cache import kernel

SPLITTER = 134217729.0  # 2^27 + 1
LEAST_EXPONENT = -1074


@kernel
def two_sum(a, b):
    """(a + b rounded, what that lost)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def fast_two_sum(a, b):
    """two_sum for |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


@kernel
def two_product(a, b):
    """(a * b rounded, what that lost)."""
    product = a * b
    high = SPLITTER * a
    a_high = high - (high - a)
    a_low = a - a_high
    high = SPLITTER * b
    b_high = high - (high - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def add(a, a_low, b, b_low):
    """The sum of two such numbers, of which the first is not the smaller one or has its sign."""
    total, lost = two_sum(a, b)
    return fast_two_sum(total, lost + (a_low + b_low))


@kernel
def multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The product of two such numbers."""
    product, lost = two_product(a, b)
    return fast_two_sum(product, lost + (a * b_low + a_low * b))


@kernel
def divide(a, a_low, b, b_low):
    """The quotient of two such numbers."""
    first = a / b
    product, lost = multiply(first, 0.0, b, b_low)
    rest, rest_lost = two_sum(a, -product)
    return fast_two_sum(first, (rest + (rest_lost + (a_low - lost))) / b)


@kernel
def power_of_two(exponent):
    """2^exponent, for -1022 <= exponent <= 1023."""
    return np.int64((exponent + 1023) << 52).view(np.float64)


@kernel
def to_odd(a, b):
    """a + b rounded to the neighbour whose last bit is odd, unless it is exact: what is added to it then rounds as if to
    the whole sum. a is a + b rounded, and not 0 unless b is."""
    if b != 0.0:
        bits = np.float64(a).view(np.int64)
        if bits & 1 == 0:
            return np.int64(bits + (1 if (a > 0.0) == (b > 0.0) else -1)).view(np.float64)
    return a


@kernel
def rounded(a, b, c):
    """a + b + c, rounded once; each is much smaller than the one before."""
    total, lost = two_sum(a, b)
    return total + to_odd(*two_sum(lost, c))


@kernel
def scaled(a, b, c, exponent):
    """(a + b + c) * 2^exponent, rounded once, for 1 <= a < 2: also where that is subnormal, infinite or 0."""
    if exponent > 1024:
        return np.inf
    if exponent >= -1022 and not (exponent == -1022 and a == 1.0 and b < 0.0):
        half = exponent >> 1
        return rounded(a, b, c) * power_of_two(half) * power_of_two(exponent - half)
    if exponent < LEAST_EXPONENT - 2:
        return 0.0
    # Doubles from here to twice of it lie as far apart as the least double, seen at this scale.
    base = power_of_two(52 + LEAST_EXPONENT - exponent)
    total, lost = two_sum(base, a)
    lost, last = two_sum(lost, b)
    whole = (total + to_odd(*two_sum(lost, last + c))) - base
    return np.int64(whole / power_of_two(LEAST_EXPONENT - exponent)).view(np.float64)
