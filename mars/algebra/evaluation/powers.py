"""power of doubles, the same to the bit on every CPU, with the special values of Java's Math.pow.

x^y = exp(y ln x) by mars/algebra/evaluation/elementary.py, to about 2^-100, and 2^-92 near the ends of the range. Powers
that end exactly on a double or on the middle of two are computed in integers, and those to 2, 3, 1/2 and -1 exactly
before they are rounded. So a value is wrong in its last bit about once in 10^12, and then everywhere; with one exception:
if the number differs from a short one only in its last bits, and the exponent is short too, the power may be as near to a
middle as 2^-104.
"""

from __future__ import annotations

import numpy as np

from mars.algebra.evaluation.double_double import fast_two_sum, power_of_two, scaled, two_product, two_sum
from mars.algebra.evaluation.elementary import TINY, doubles, exp_of, ln_of, parts_of
from mars.kernel_cache import kernel


@kernel
def _square_root(value):
    """The whole root of a square below 2^53; 0 if the number is not a square."""
    root = np.int64(np.sqrt(float(value)))
    return root if root * root == value else 0


@kernel
def _exact_power(m, exponent, y):
    """((m * 2^exponent)^y rounded, True) if it has at most 54 bits, as it may lie on the middle of two doubles; else
    (0, False)."""
    whole, exponent = np.int64(m * 9007199254740992.0), exponent - 53
    while whole & 1 == 0:
        whole, exponent = whole >> 1, exponent + 1
    while whole > 1 and y != np.floor(y) and exponent & 1 == 0 and _square_root(whole) > 0:
        whole, exponent, y = _square_root(whole), exponent >> 1, 2.0 * y
    shift, lost = two_product(float(exponent), y)
    if shift != np.floor(shift) or lost != 0.0 or abs(shift) > 4096.0:
        return 0.0, False
    product, bits = np.int64(1), np.int64(shift)
    if whole > 1:
        if y != np.floor(y) or y < 1.0 or y > 34.0:
            return 0.0, False
        for _ in range(np.int64(y)):
            if product > (1 << 54) // whole:
                return 0.0, False
            product *= whole
    high = product & ~0xFFFFFFF
    scale = 1.0
    while product >= 2 * scale:
        scale, bits = 2.0 * scale, bits + 1
    if bits > 1023:
        return np.inf, True
    a, b = two_sum(high / scale, (product - high) / scale)
    return (scaled(a, b, 0.0, bits) if a < 2.0 else scaled(1.0, 0.5 * b, 0.0, bits + 1)), True


@kernel
def _cube(m, exponent):
    square, lost = two_product(m, m)
    a, b = two_product(square, m)
    c, d = two_product(lost, m)
    b, c = two_sum(b, c)
    a, b = fast_two_sum(a, b)
    scale = 2 if a >= 2.0 else 1 if a >= 1.0 else 0 if a >= 0.5 else -1
    unit = power_of_two(1 - scale)
    return scaled(a * unit, b * unit, (c + d) * unit, 3 * exponent + scale - 1)


@kernel
def _finite_power(x, y):
    """x^y of finite numbers, x > 0, y not 0."""
    if y == 2.0:
        return x * x
    if y == 0.5:
        return np.sqrt(x)
    if y == -1.0:
        return 1.0 / x
    m, exponent = parts_of(x)
    value, exact = _exact_power(m, exponent, y)
    if exact:
        return value
    if y == 3.0:
        return _cube(m, exponent)
    # The whole part of the result's exponent is a power of two and must not cost precision.
    shift, lost = two_product(float(exponent), y)
    if lost != 0.0 or shift != np.floor(shift) or abs(shift) > 4096.0:
        shift = 0.0
    high, low = ln_of(m, 0 if shift else exponent)
    near = y * high
    if abs(near) > 4096.0:
        return np.inf if near > 0.0 else 0.0
    near, lost = two_product(y, high) if abs(near) > TINY else (near, 0.0)
    high, low = fast_two_sum(near, lost + y * low)
    return exp_of(high, low, np.int64(shift))


@kernel
def _power(x, y):
    """x^y as Java's Math.pow defines it, correctly rounded."""
    if y == 0.0:
        return 1.0
    if x != x or y != y or (abs(x) == 1.0 and abs(y) == np.inf):
        return np.nan
    whole = y == np.floor(y)
    odd = whole and abs(y) < 9007199254740992.0 and np.int64(y) & 1 == 1
    sign = -1.0 if odd and np.float64(x).view(np.int64) < 0 else 1.0
    if x == 0.0 or abs(x) == np.inf or abs(y) == np.inf:
        large = (abs(x) > 1.0) == (y > 0.0)
        return sign * (np.inf if large else 0.0)
    if x < 0.0 and not whole:
        return np.nan
    size = abs(x)
    if size == 1.0 or y == 1.0:
        return sign * size
    return sign * _finite_power(size, y)


@kernel
def power_rows(bases, exponents):
    out = np.empty(len(bases))
    for row in range(len(bases)):
        out[row] = _power(bases[row], exponents[row])
    return out


def power(bases: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Each double to the power of its exponent, with the special values of Java's Math.pow."""
    return power_rows(doubles(bases), doubles(exponents))


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    power(np.ones(1), np.ones(1))
