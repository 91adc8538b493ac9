"""exp, ln, log10 and power beside Python's decimal arithmetic, which rounds correctly to as many digits as one likes."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

import numpy as np
import pytest

from mars.algebra.evaluation import double_double, elementary, powers

pytestmark = pytest.mark.slow
RANDOM = 100_000
QUICK, SURE = 45, 1_250  # digits; no middle of two doubles has more than 1,100
LEAST, GREATEST, NORMAL = 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308
INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, LEAST, -LEAST, NORMAL, np.nextafter(NORMAL, 0), GREATEST, -GREATEST, INF, -INF, NAN, 1.0, -1.0, 2.0,
           -2.0, 0.5, -0.5, 1.5, 3.0, -3.0, 10.0, 2.0**-53, -2.0**-53, 2.0**-54, -2.0**-54, 2.0**53, 2.0**53 - 1,
           -(2.0**53) - 2, 1 - 2.0**-53, 1 + 2.0**-52, 1e22, 1e23, 709.782712893384, 709.7827128933841, -745.1332191019411,
           -745.1332191019412, -708.3964185322641, -708.3964185322642, 1e300, -1e300, 1e-300]


def oracle(steps: Callable[[Context], Decimal]) -> float:
    """What the steps give, correctly rounded. What even SURE digits leave on the middle of two doubles lies there."""
    for digits in (QUICK, SURE):
        with localcontext(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN) as context:
            value = steps(context)
            margin = abs(value).scaleb(-digits + 5)
            if float(value - margin) == float(value + margin):
                return float(value)
    with localcontext(prec=SURE - 50):
        return float(+value)


def exact_exp(x: float) -> float:
    if x != x or abs(x) == INF:
        return math.exp(x)
    return INF if x > 1e3 else 0.0 if x < -1e3 else oracle(lambda context: context.exp(Decimal(x)))


def exact_logarithm(x: float, logarithm: Callable[[Context, Decimal], Decimal]) -> float:
    if not 0 < x < INF:
        return x if x > 0 else NAN if x < 0 or x != x else -INF
    return oracle(lambda context: logarithm(context, Decimal(x)))


def exact_power(x: float, y: float) -> float:
    """Java's Math.pow: C's, but NaN where |x| is 1 and y is no finite number."""
    if y != y or (abs(x) == 1 and abs(y) == INF):
        return NAN
    if not x or not math.isfinite(x) or not math.isfinite(y) or (x < 0 and y != math.floor(y)):
        try:
            return math.pow(x, y)
        except ValueError:
            return NAN if x else math.copysign(INF, x if y % 2 == 1 else 1.0)
    sign = -1.0 if x < 0 and y % 2 == 1 else 1.0
    near = math.log(abs(x)) * y
    if abs(near) > 760:
        return sign * (INF if near > 0 else 0.0)
    return sign * oracle(lambda context: context.exp(Decimal(y) * context.ln(Decimal(abs(x)))))


def same(found: np.ndarray, expected: list[float], *arguments: np.ndarray) -> None:
    expected = np.array(expected)
    differ = (found.view(np.int64) != expected.view(np.int64)) & ~(np.isnan(found) & np.isnan(expected))
    shown = [(*(float(argument[i]).hex() for argument in arguments), found[i].hex(), expected[i].hex())
             for i in np.flatnonzero(differ)[:5]]
    assert not differ.any(), (int(differ.sum()), shown)


def any_positive(rng: np.random.Generator, count: int) -> np.ndarray:
    """Positive finite doubles of every size, the subnormal ones too, and some near 1."""
    every = rng.integers(1, 0x7FF0000000000000, count // 2).view(np.float64)
    near = 1.0 + rng.choice([-1, 1], count // 4) * 2.0 ** -rng.uniform(1, 52, count // 4)
    return np.concatenate([every, near, rng.lognormal(0, 5, count - len(every) - len(near))])


def test_exp():
    rng = np.random.default_rng(1)
    small = rng.choice([-1, 1], RANDOM // 4) * 2.0 ** -rng.uniform(0, 60, RANDOM // 4)
    values = np.concatenate([rng.uniform(-746, 710, RANDOM // 2), small, rng.normal(0, 3, RANDOM // 4),
                             rng.uniform(-746, -708, 2_000), np.arange(-750.0, 712.0), SPECIAL])
    same(elementary.exp(values), [exact_exp(x) for x in values.tolist()], values)


@pytest.mark.parametrize(("found", "logarithm"), [(elementary.ln, Context.ln), (elementary.log10, Context.log10)],
                         ids=["ln", "log10"])
def test_logarithms(found, logarithm):
    values = np.concatenate([any_positive(np.random.default_rng(2), RANDOM), 10.0 ** np.arange(-300, 300),
                             2.0 ** np.arange(-1074, 1024), 1 + np.arange(-300, 300) * 2.0**-52, SPECIAL])
    same(found(values), [exact_logarithm(x, logarithm) for x in values.tolist()], values)


def test_power():
    rng = np.random.default_rng(3)
    bases = any_positive(rng, RANDOM)
    exponents = np.where(rng.random(RANDOM) < 0.5, rng.uniform(-3, 3, RANDOM),
                         rng.uniform(-745, 710, RANDOM) / np.where(bases == 1, 1, np.log(bases)))
    same_powers(bases, exponents)


def same_powers(bases: np.ndarray, exponents: np.ndarray) -> None:
    expected = [exact_power(*pair) for pair in zip(bases.tolist(), exponents.tolist(), strict=True)]
    same(powers.power(bases, exponents), expected, bases, exponents)


def test_powers_of_special_values():
    bases, exponents = (side.ravel() for side in np.meshgrid(SPECIAL, SPECIAL))
    same_powers(bases, exponents)


def test_powers_that_end_on_a_double_or_between_two():
    """Squares of 27 bits have 54; roots, halves of roots, and powers of two that are subnormal or the half of the least."""
    rng = np.random.default_rng(4)
    whole = [(float(x), float(y)) for y in range(2, 36) for x in rng.integers(2, int(2 ** (54.2 / y)) + 2, 10)]
    pairs = [(x * scale, y) for x, y in whole for scale in (1.0, 2.0**-7, -4.0)]
    pairs += [(float(x) ** 2, y) for x in rng.integers(2, 2**18, 100) for y in (0.5, 1.5, 2.5)]
    pairs += [(float(x) ** 4, y) for x in rng.integers(2, 2**13, 100) for y in (0.25, 0.75, 1.25, -0.75)]
    pairs += [(2.0 ** k, y) for k in (-1074, -1073, -537, -43, -2, -1, 1, 2, 5, 1023) for y in (
        1.0, 0.5, 2.0, 25.0, 215.0, 1022.0, 1023.0, 1024.0, 1074.0, 1075.0, 1076.0, -1023.0, -1075.0, -1.0, 1 / 3)]
    pairs += [(float(x) * 2.0 ** -e, 2.0) for x in rng.integers(2**20, 2**27, 100) for e in range(535, 565, 3)]
    bases, exponents = np.array(pairs).T.copy()
    same_powers(bases, exponents)


def test_common_powers_of_numbers_beside_short_ones():
    """Of x = 1.5 + 2^-52, x^2 is so near the middle of two doubles that 2^-104 of it decides."""
    short = [(i + 0.5) * scale for i in range(1, 40) for scale in (0.1, 1.0, 1e100, 2.0**-340, 2.0**-1074 * 2**30)]
    bases = np.array([x + steps * math.ulp(x) for x in short for steps in (0, 1, 2, 3, 5)])
    for y in (2.0, 3.0, 0.5, -1.0):
        same_powers(bases, np.full(len(bases), y))


def test_what_a_product_loses_is_kept():
    """a * b - c with one rounding, where a CPU can do that, would be another number."""
    assert double_double.two_product(1 + 2.0**-30, 1 + 2.0**-30) == (1 + 2.0**-29, 2.0**-60)
