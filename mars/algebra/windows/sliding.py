"""Sliding windows: for each time t at which a group has a tuple, those of its tuples in (t - size, t]. A pane is one event
time, and a window is named by its end, t."""

from __future__ import annotations

import numpy as np

from mars.algebra.windows.kind import Times
from mars.algebra.windows.ranged import Ranged
from mars.kernel_cache import kernel
from mars.model.durations import format_duration
from mars.model.plan import Stream, Window


class Sliding(Ranged):
    """A window for each event time of a group."""

    holds_its_end = True

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.window = window
        self.size, self.step = stream.units(window.size_ms), 1

    @property
    def shortest_us(self) -> int:
        return self.window.size_ms * 1_000

    @property
    def words(self) -> str:
        return f"(t - {format_duration(self.window.size_ms)}, t], one for each event time t of a group"

    def panes(self, event_times: Times) -> Times:
        return event_times

    def start(self, windows: Times) -> Times:
        return windows - self.size

    def end(self, windows: Times) -> Times:
        return windows

    def first_end(self, panes: Times, above: int | None) -> Times:
        return panes if above is None else np.maximum(panes, above + 1)

    def last_end(self, panes: Times) -> Times:
        return panes + self.size - 1

    def rest_end(self, time: int) -> int:
        """That of its own one: there is none without a tuple at its end."""
        return time

    def ranges(self, ids: np.ndarray, panes: Times, above: int | None, up_to: int | None
               ) -> tuple[np.ndarray, np.ndarray, Times]:
        last, names = self.of_panes(panes, above, up_to)
        return reach_back(ids, panes, self.size)[last], last, names


@kernel
def reach_back(ids: np.ndarray, times: np.ndarray, length: int) -> np.ndarray:
    """int64[n]: the first place of the same group that is less than `length` before each place."""
    found = np.empty(len(ids), np.int64)
    first = 0
    for place in range(len(ids)):
        while ids[first] != ids[place] or times[first] <= times[place] - length:
            first += 1
        found[place] = first
    return found


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    reach_back(np.zeros(1, np.int32), np.zeros(1, np.int64), 1)
