"""exp, ln and log10 of doubles, the same to the bit on every CPU, and correctly rounded.

The forms of the C library and of numpy differ from machine to machine: they choose code by what the CPU can do, and a
result near the middle of two doubles falls to one side or the other. These use IEEE 754's + - * / and integers alone
(mars/algebra/evaluation/double_double.py). The argument is reduced by a table (Tang, "Table-driven implementation of the
exponential function", ACM TOMS 15, 1989, and "... of the logarithm function", TOMS 16, 1990), a short series gives the
rest to about 2^-100, and that is rounded once: so a value is wrong in its last bit about once in 10^13, and then
everywhere.

The tables are made by Python's decimal arithmetic, whose ln and exp are correctly rounded. A change of any result here
changes which keys group together: mars/computing.py numbers it.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from mars.algebra.evaluation.arrays import read_only
from mars.algebra.evaluation.double_double import add, divide, fast_two_sum, multiply, rounded, scaled, two_product, two_sum
from mars.kernel_cache import kernel

STEPS, PLACES = 256, 128  # how many steps a doubling of exp has, and how many places the numbers from 1 to 2
FIRST, LAST = 90, 182  # places of sqrt(1/2) and sqrt(2), and one more
DIGITS = 60


def _parts(value: Decimal, *bits: int) -> tuple[float, ...]:
    """Doubles that add up to the value, those but the last cut to so many bits behind the point."""
    parts = []
    for places in bits:
        parts.append(int(value * 2**places) / 2**places)
        value -= Decimal(parts[-1])
    return *parts, float(value)


def _pair(value: Decimal) -> tuple[float, float]:
    return float(value), float(value - Decimal(float(value)))


def _tables() -> tuple[np.ndarray, ...]:
    """(powers of 2^(1/STEPS), c near PLACES/i of 10 bits, -ln c): what is no double is a row of two of them."""
    with localcontext(prec=DIGITS):
        ln2 = Decimal(2).ln()
        powers = [_pair((ln2 * i / STEPS).exp()) for i in range(STEPS)]
        inverses = [round(1024 * PLACES / i) / 1024 for i in range(FIRST, LAST + 1)]
        logarithms = [_pair(-Decimal(c).ln()) for c in inverses]
    return np.array(powers), np.array(inverses), np.array(logarithms)


POWERS, INVERSES, LOGARITHMS = map(read_only, _tables())
with localcontext(prec=DIGITS):
    LN2_A, LN2_B, LN2_C = _parts(Decimal(2).ln(), 42, 90)
    STEP_A, STEP_B, STEP_C = _parts(Decimal(2).ln() / STEPS, 40, 74)
    INVERSE_STEP = float(STEPS / Decimal(2).ln())
    LOG10_E, LOG10_E_LOW = _pair(1 / Decimal(10).ln())
    THIRD, THIRD_LOW = _pair(Decimal(1) / 3)
    FIFTH, FIFTH_LOW = _pair(Decimal(1) / 5)
    SIXTH, SIXTH_LOW = _pair(Decimal(1) / 6)
    F24, F24_LOW = _pair(Decimal(1) / 24)
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding a number to it rounds the number to a whole one
NEAR_1, TINY = 2.0**-20, 2.0**-54
UNSIGNED, MANTISSA = 0x7FFFFFFFFFFFFFFF, (1 << 52) - 1


@kernel
def exp_of(x, low, shift):
    """exp(x + low) * 2^shift, rounded; x is no NaN."""
    if x + shift * LN2_A > 710.0:
        return np.inf
    if x + shift * LN2_A < -746.0:
        return 0.0
    if abs(x) < TINY:
        return scaled(1.0, 0.0, 0.0, shift)
    steps = (x * INVERSE_STEP + ROUND) - ROUND
    count = np.int64(steps)
    r, lost = two_sum(x - steps * STEP_A, -(steps * STEP_B))
    r, r_low = two_sum(r, lost + (low - steps * STEP_C))
    # exp(r) - 1 = r + r^2 (1/2 + r (1/6 + r (1/24 + r/120 + ...)))
    tail = r * (1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * (1 / 40320 + r / 362880))))
    a, a_low = fast_two_sum(F24, F24_LOW + tail)
    a, a_low = add(SIXTH, SIXTH_LOW, *multiply(r, r_low, a, a_low))
    a, a_low = add(0.5, 0.0, *multiply(r, r_low, a, a_low))
    a, a_low = multiply(*multiply(r, r_low, r, r_low), a, a_low)
    a, a_low = add(r, r_low, a, a_low)
    place = count & (STEPS - 1)
    power, power_low = POWERS[place, 0], POWERS[place, 1]
    a, a_low = multiply(power, power_low, a, a_low)
    return scaled(power, a, a_low + power_low, (count - place) // STEPS + shift)


@kernel
def parts_of(x):
    """(m, e) with x = m * 2^e and sqrt(1/2) <= m < sqrt(2), of a finite x > 0."""
    extra = 0
    if x < 2.2250738585072014e-308:
        x, extra = x * 18014398509481984.0, -54
    bits = np.float64(x).view(np.int64)
    m, exponent = np.int64((bits & MANTISSA) | (1023 << 52)).view(np.float64), (bits >> 52) - 1023 + extra
    return (0.5 * m, exponent + 1) if m >= 1.4142135623730951 else (m, exponent)


@kernel
def ln_of(m, exponent):
    """(ln(m * 2^exponent), what it lost), of parts as parts_of gives them."""
    place = np.int64(m * PLACES + 0.5) - FIRST
    product, lost = two_product(m, INVERSES[place])
    z, z_low = fast_two_sum(product - 1.0, lost)
    # ln(1 + z) = 2 (s + s^3/3 + s^5/5 + ...) with s = z / (2 + z)
    d, d_low = two_sum(2.0, z)
    s, s_low = divide(z, z_low, d, d_low + z_low)
    q, q_low = multiply(s, s_low, s, s_low)
    tail = q * (1 / 7 + q * (1 / 9 + q * (1 / 11 + q / 13)))
    a, a_low = fast_two_sum(FIFTH, FIFTH_LOW + tail)
    a, a_low = add(THIRD, THIRD_LOW, *multiply(q, q_low, a, a_low))
    a, a_low = multiply(*multiply(q, q_low, s, s_low), a, a_low)
    a, a_low = add(s, s_low, a, a_low)
    b, b_low = two_product(float(exponent), LN2_B)
    total, first = two_sum(exponent * LN2_A, LOGARITHMS[place, 0])
    total, second = two_sum(total, 2.0 * a)
    total, third = two_sum(total, b)
    rest = first + second + third + (LOGARITHMS[place, 1] + 2.0 * a_low + b_low + exponent * LN2_C)
    return fast_two_sum(total, rest)


@kernel
def _ln_rounded(x):
    if not x > 0.0 or x == np.inf:
        return x if x > 0.0 or x != x else np.nan if x < 0.0 else -np.inf
    z = x - 1.0
    if abs(z) < NEAR_1:  # here z - z^2/2 may be the middle of two doubles, and the next term decides
        square, lost = two_product(z, z)
        cubic = z * square * (THIRD - z * (0.25 - z * (0.2 - z / 6)))
        return rounded(z, -0.5 * square, cubic - 0.5 * lost)
    return ln_of(*parts_of(x))[0]


@kernel
def _log10_rounded(x):
    if not x > 0.0 or x == np.inf:
        return x if x > 0.0 or x != x else np.nan if x < 0.0 else -np.inf
    high, low = ln_of(*parts_of(x))
    return multiply(high, low, LOG10_E, LOG10_E_LOW)[0]


@kernel
def _exp_rows(values):
    out = np.empty(len(values))
    for row in range(len(values)):
        x = values[row]
        out[row] = x if x != x else exp_of(x, 0.0, 0)
    return out


@kernel
def _ln_rows(values):
    out = np.empty(len(values))
    for row in range(len(values)):
        out[row] = _ln_rounded(values[row])
    return out


@kernel
def _log10_rows(values):
    out = np.empty(len(values))
    for row in range(len(values)):
        out[row] = _log10_rounded(values[row])
    return out


KERNELS = (_exp_rows, _ln_rows, _log10_rows)


def doubles(values: np.ndarray) -> np.ndarray:
    """The array in the form for which the kernels are compiled."""
    return read_only(np.ascontiguousarray(values).view())


def exp(values: np.ndarray) -> np.ndarray:
    """e to the power of each double."""
    return _exp_rows(doubles(values))


def ln(values: np.ndarray) -> np.ndarray:
    """The natural logarithm of each double: -infinity of 0, NaN of negative numbers."""
    return _ln_rows(doubles(values))


def log10(values: np.ndarray) -> np.ndarray:
    """The decimal logarithm of each double: -infinity of 0, NaN of negative numbers."""
    return _log10_rows(doubles(values))


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    for function in (exp, ln, log10):
        function(np.ones(1))
