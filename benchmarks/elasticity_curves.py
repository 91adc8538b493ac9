"""Curves of load for the laboratory: offsets a second, for each second of some days. The same in each run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rates = NDArray[np.float64]
DAY_S = 86_400
LOW, HIGH = 8_000.0, 80_000.0  # of a day: a peak of ten times its low
NOISE = 0.04


def day(rng: np.random.Generator, days: int) -> Rates:
    """People's days: a low at night, a first peak at noon, the greatest in the evening; none is quite like the last."""
    hours = np.arange(days * DAY_S) % DAY_S / 3600
    shape = 0.62 * _hump(hours, 12.0, 3.2) + 1.0 * _hump(hours, 20.0, 2.6)
    size = np.repeat(rng.uniform(0.92, 1.08, days), DAY_S)
    return LOW + (HIGH - LOW) * shape / shape.max() * size


def day_with_an_explosion(rng: np.random.Generator, days: int) -> Rates:
    """The same, and on the last day something happens at 15:00: three times the load within ten seconds, and for an hour
    less and less."""
    rates, at = day(rng, days), (days - 1) * DAY_S + 15 * 3600
    since = np.arange(len(rates)) - at
    return rates * (1 + np.where(since < 0, 0.0, 2.0 * np.minimum(since / 10, 1.0) * np.exp(-np.maximum(since, 0) / 1_800)))


def bursts(rng: np.random.Generator, days: int) -> Rates:
    """A steady load, and thirty times a day three times of it, for two to ten minutes. Nothing foretells them."""
    rates = np.full(days * DAY_S, 20_000.0)
    for start in rng.integers(0, len(rates) - 700, 30 * days):
        rates[start:start + rng.integers(120, 600)] = 60_000.0
    return rates


def ramps(rng: np.random.Generator, days: int) -> Rates:
    """Up and down in straight lines, each of one to three hours, and level for a while between them."""
    points, levels = [0], [30_000.0]
    while points[-1] < days * DAY_S:
        points += [points[-1] + int(rng.uniform(3_600, 10_800)), 0]
        points[-1] = points[-2] + int(rng.uniform(1_800, 7_200))
        level = rng.uniform(10_000, 75_000)
        levels += [level, level]
    return np.interp(np.arange(days * DAY_S), points, levels)


def level(rng: np.random.Generator, days: int) -> Rates:
    """Always the same: whoever changes anything here flaps."""
    return np.full(days * DAY_S, 36_000.0)


CURVES: dict[str, Callable[[np.random.Generator, int], Rates]] = {
    "day": day, "day with an explosion": day_with_an_explosion, "bursts": bursts, "ramps": ramps, "level": level}


def curve(name: str, days: int, seed: int = 1) -> Rates:
    """The curve with its noise: from second to second, and slower over some minutes."""
    rng = np.random.default_rng(seed)
    rates = CURVES[name](rng, days)
    slow = np.interp(np.arange(len(rates)), np.arange(0, len(rates) + 300, 300),
                     rng.normal(0.0, NOISE / 2, len(rates) // 300 + 1 + (len(rates) % 300 > 0)))
    return np.maximum(rates * (1 + slow + rng.normal(0.0, NOISE, len(rates))), 0.0)


def _hump(hours: Rates, at: float, width: float) -> Rates:
    away = np.minimum(np.abs(hours - at), 24 - np.abs(hours - at))
    return np.exp(-0.5 * (away / width) ** 2)
