"""No window: all tuples lie in one pane, which no watermark closes. Only a SELECT that runs once has it."""

from __future__ import annotations

import numpy as np

from mars.algebra.windows.kind import NEVER, Times, Windows


class Whole(Windows):
    """One window without a beginning and an end."""

    shown = False

    @property
    def shortest_us(self) -> int:
        return NEVER

    @property
    def words(self) -> str:
        return "none: over all tuples"

    def panes(self, event_times: Times) -> Times:
        return np.zeros(len(event_times), np.int64)

    def start(self, windows: Times) -> Times:
        return np.full(len(windows), -NEVER)

    def end(self, windows: Times) -> Times:
        return np.full(len(windows), NEVER)
