"""Landmark windows: from a landmark to now, given out at each step of event time. A landmark is each start of a period
(`LandmarkEach`), or one instant (`LandmarkFrom`); WHERE leaves out tuples before that one (sql/check/landmark.py)."""

from __future__ import annotations

import numpy as np

from mars.algebra.windows.kind import NEVER, Times
from mars.algebra.windows.stepped import Stepped
from mars.model.durations import format_duration
from mars.model.plan import UNITS_PER_SECOND, Stream, Window


class Landmark(Stepped):
    """What both kinds share: panes are as long as the step, and those that closed windows have passed are as one."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.step = self.every

    @property
    def shortest_us(self) -> int:
        return (self.window.every_ms or 0) * 1_000

    def rest_end(self, time: int) -> int:
        """That of the first one: the later ones of its period show the same."""
        return int(self.first_end(self.panes(np.array([time], np.int64)), None)[0])

    def settled(self, panes: Times, closed_end: int) -> Times:
        return np.where(panes + self.every <= closed_end, self.start(panes + 1), panes)


class LandmarkEach(Landmark):
    """[k * size, k * size + i * every), i = 1 .. size / every."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.size = stream.units(window.size_ms)

    @property
    def words(self) -> str:
        each, every = format_duration(self.window.size_ms), format_duration(self.window.every_ms or 0)
        return f"from each begin of {each}, aligned to the epoch in UTC, to now, given out each {every}"

    def start(self, windows: Times) -> Times:
        return (windows - 1) // self.size * self.size

    def last_end(self, panes: Times) -> Times:
        return panes // self.size * self.size + self.size


class LandmarkFrom(Landmark):
    """[from, from + i * every), i = 1, 2, and so on without an end."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        assert window.from_us is not None, window
        self.origin = window.from_us * UNITS_PER_SECOND[stream.time_unit] // 1_000_000
        self.phase = self.offset = self.origin % self.every

    @property
    def words(self) -> str:
        landmark = np.datetime64(self.window.from_us, "us").astype(object).isoformat()
        return f"from {landmark}Z to now, given out each {format_duration(self.window.every_ms or 0)}"

    def start(self, windows: Times) -> Times:
        return np.full(len(windows), self.origin)

    def last_end(self, panes: Times) -> Times:
        return np.full(len(panes), NEVER)
