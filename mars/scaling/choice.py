"""The forecast by the model whose last forecasts had the least error."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from mars.scaling.forecast import Floats, models

ERRORS = 30  # the last forecasts of each model that are compared
STEPS = 3  # how many periods ahead are forecast


@dataclass(frozen=True)
class Forecast:
    """`rates` are those of the coming periods. `error` is the mean error of the model's last forecasts, as a rate; `errors`
    are those of all models by name, as far as they know enough."""

    rates: tuple[float, ...]
    model: str
    error: float
    errors: dict[str, float]


class Forecaster:
    """Takes one rate per period. A model is judged by what it said of the period before it came; the one with the least mean
    absolute error is used, as soon as it was right or wrong a few times."""

    JUDGED_MIN = 3

    def __init__(self, season: int) -> None:
        self.models = models(season)
        self.said: dict[str, float] = {}
        self.errors: dict[str, deque[float]] = {model.name: deque(maxlen=ERRORS) for model in self.models}
        self.greatest = 0.0

    def learn(self, rate: float) -> None:
        """The period that has ended had this rate: judge what was said of it, and train all models on it."""
        rate = float(rate) if np.isfinite(rate) and rate > 0 else 0.0
        self.greatest = max(rate, 0.999 * self.greatest)
        for name, said in self.said.items():
            self.errors[name].append(abs(said - rate))
        for model in self.models:
            model.learn(rate)
        found = {model.name: self._sane(model.forecast(STEPS)) for model in self.models}
        self.ahead = {name: rates for name, rates in found.items() if rates is not None}
        self.said = {name: float(rates[0]) for name, rates in self.ahead.items()}

    def forecast(self) -> Forecast | None:
        """What the coming periods bring; None before the first one has ended."""
        if not self.said:
            return None
        errors = {name: float(np.mean(self.errors[name])) for name in self.said if len(self.errors[name]) >= self.JUDGED_MIN}
        name = min(errors, key=lambda name: errors[name], default=next(iter(self.said)))
        return Forecast(tuple(map(float, self.ahead[name])), name, errors.get(name, 0.0), errors)

    def _sane(self, rates: Floats | None) -> Floats | None:
        """No rate below 0, and none far beyond all that has been: a model that runs away is not believed."""
        if rates is None or not np.all(np.isfinite(rates)):
            return None
        return np.clip(rates, 0.0, 2.0 * self.greatest)
