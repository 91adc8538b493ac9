"""Models that forecast a rate from its history: the last value, seasonal naive, exponential smoothing (Holt-Winters) and
ARIMA. Each is trained with every value that comes.

They are written over numpy instead of taken from a library of statistics: a library would take seconds to import and a
hundred megabytes in the server's process, and these few lines are checked against known series.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HISTORY_SEASONS = 3  # older values say little of the coming period
HISTORY_MAX = 5_000
FIT_MIN, FIT_MAX = 12, 600  # values that ARIMA needs, and the newest that it is fitted to


class Model(Protocol):
    """`learn` takes the value of the period that has ended. `forecast` gives those of the next `steps` periods; None while
    it knows too little. It may be negative or not finite: whoever asks puts that right."""

    name: str

    def learn(self, value: float) -> None: ...
    def forecast(self, steps: int) -> Floats | None: ...


class Last:
    """The coming period is like the last one."""

    name = "last value"

    def __init__(self) -> None:
        self.value: float | None = None

    def learn(self, value: float) -> None:
        self.value = value

    def forecast(self, steps: int) -> Floats | None:
        return None if self.value is None else np.full(steps, self.value)


class SeasonalNaive:
    """The coming period is like the same one of the last season, plus what the last hour's periods were above theirs."""

    name = "seasonal naive"

    def __init__(self, season: int, drift: int = 60) -> None:
        self.season, self.drift = season, drift
        self.values: deque[float] = deque(maxlen=2 * season)

    def learn(self, value: float) -> None:
        self.values.append(value)

    def forecast(self, steps: int) -> Floats | None:
        if len(self.values) < self.season + min(self.drift, self.season):
            return None
        known, recent = np.array(self.values), min(self.drift, self.season)
        above = float(np.mean(known[-recent:] - known[-recent - self.season:-self.season or None]))
        return known[-self.season + np.arange(steps) % self.season] + above


class HoltWinters:
    """Exponential smoothing with additive level, damped trend and, if there is a season, additive season (ETS(A,Ad,A)).

    All combinations of its parameters are kept up to date beside each other; the one whose one-step forecasts had the least
    squared error, older errors counting less, is used. So learning one more value is the same as training anew on all.
    """

    LEVEL, TREND, SEASON = (0.1, 0.3, 0.5, 0.8), (0.0, 0.05, 0.2), (0.05, 0.2, 0.4)
    DAMPING, FORGET = 0.95, 0.99

    def __init__(self, season: int = 1) -> None:
        self.name = "exponential smoothing" + (" with season" if season > 1 else "")
        self.season = season
        parts = np.meshgrid(self.LEVEL, self.TREND, self.SEASON if season > 1 else (0.0,))
        self.alpha, self.beta, self.gamma = (part.ravel() for part in parts)
        self.first: list[float] = []
        self.error = np.zeros(len(self.alpha))
        self.level = self.trend = self.error
        self.seasonal: Floats = np.zeros((season, len(self.alpha)))
        self.at = 0

    def learn(self, value: float) -> None:
        if len(self.first) < self.season:
            self.first.append(value)
            if len(self.first) == self.season:
                self._begin()
            return
        season = self.seasonal[self.at]
        trend = self.DAMPING * self.trend
        self.error = self.FORGET * self.error + (value - self.level - trend - season) ** 2
        level = self.alpha * (value - season) + (1 - self.alpha) * (self.level + trend)
        self.seasonal[self.at] = self.gamma * (value - level) + (1 - self.gamma) * season
        self.trend = self.beta * (level - self.level) + (1 - self.beta) * trend
        self.level, self.at = level, (self.at + 1) % self.season

    def forecast(self, steps: int) -> Floats | None:
        if len(self.first) < self.season:
            return None
        best = int(np.argmin(self.error))
        damped = np.cumsum(self.DAMPING ** np.arange(1, steps + 1))
        season = self.seasonal[(self.at + np.arange(steps)) % self.season, best]
        return self.level[best] + damped * self.trend[best] + season

    def _begin(self) -> None:
        mean = float(np.mean(self.first))
        self.level, self.trend = np.full(len(self.alpha), mean), np.zeros(len(self.alpha))
        self.seasonal = np.repeat(np.array(self.first)[:, None] - mean, len(self.alpha), axis=1)
        if self.season == 1:
            self.level, self.seasonal = np.full(len(self.alpha), self.first[0]), np.zeros((1, len(self.alpha)))


class Arima:
    """ARIMA(p, 1, q), after a difference over the season if there is one. It is fitted anew at each forecast, by least
    squares in two steps (Hannan and Rissanen): a long autoregression gives the shocks, and the values are then regressed on
    their own last p and on the last q shocks."""

    def __init__(self, p: int = 2, q: int = 1, season: int = 1) -> None:
        self.name = f"ARIMA({p},1,{q})" + (" with season" if season > 1 else "")
        self.p, self.q, self.season = p, q, season
        self.values: deque[float] = deque(maxlen=FIT_MAX + season + 1)

    def learn(self, value: float) -> None:
        self.values.append(value)

    def forecast(self, steps: int) -> Floats | None:
        known = np.array(self.values)
        lag = self.season if self.season > 1 else 0
        if len(known) < lag + FIT_MIN + 1:
            return None
        base = known[lag:] - known[:-lag] if lag else known
        ahead = base[-1] + np.cumsum(self._differences(np.diff(base), steps))
        return ahead + known[-lag + np.arange(steps) % lag] if lag else ahead

    def _differences(self, x: Floats, steps: int) -> Floats:
        """The next differences. With no more than noise in the history, the coefficients are near 0, and so are these."""
        long = max(self.p, min(len(x) // 4, 10))
        shocks = np.concatenate([np.zeros(long), x[long:] - _lags(x, long, long) @ _fitted(_lags(x, long, long), x[long:])])
        first = max(self.p, long + self.q)
        rows = np.hstack([_lags(x, self.p, first), _lags(shocks, self.q, first)])
        weights = _fitted(rows, x[first:])
        past, noise, ahead = list(x[-self.p:]), list(shocks[-self.q:]), []
        for _ in range(steps):
            lags = past[:-self.p - 1:-1] + noise[:-self.q - 1:-1]
            ahead.append(float(np.dot(weights, lags)))
            past.append(ahead[-1])
            noise.append(0.0)
        return np.array(ahead)


def _lags(values: Floats, count: int, first: int) -> Floats:
    """One row for each value from `first` on: the `count` values before it, the nearest first."""
    return np.stack([values[first - k:len(values) - k] for k in range(1, count + 1)], axis=1)


def _fitted(rows: Floats, values: Floats) -> Floats:
    """The coefficients of a regression, held back a little so that few rows do not give wild ones."""
    square = rows.T @ rows
    ridge = 1e-3 * np.trace(square) / max(1, len(square)) + 1e-12
    return np.linalg.solve(square + ridge * np.eye(len(square)), rows.T @ values)


def models(season: int) -> tuple[Model, ...]:
    """All of them, for a history whose season has so many periods (1: it has none)."""
    plain: tuple[Model, ...] = (Last(), HoltWinters(), Arima())
    return (*plain, SeasonalNaive(season), HoltWinters(season), Arima(season=season)) if season > 1 else plain
