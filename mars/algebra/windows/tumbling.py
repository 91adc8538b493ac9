"""Tumbling windows: [start, start + size), start = a multiple of size (epoch, UTC). A window is its only pane, and its start
is its name."""

from __future__ import annotations

import numpy as np

from mars.algebra.windows.kind import Times, Windows
from mars.model.durations import format_duration
from mars.model.plan import Stream, Window


class Tumbling(Windows):
    """Windows of one length side by side."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.window = window
        self.size = stream.units(window.size_ms)

    @property
    def shortest_us(self) -> int:
        return self.window.size_ms * 1_000

    @property
    def words(self) -> str:
        return f"[start, start + {format_duration(self.window.size_ms)}), aligned to the epoch in UTC"

    def panes(self, event_times: Times) -> Times:
        if len(event_times) == 0:
            return np.zeros(0, np.int64)
        # A small batch mostly lies in one window, and two comparisons are cheaper than a division per tuple.
        first = int(event_times.min()) // self.size * self.size
        if int(event_times.max()) < first + self.size:
            return np.full(len(event_times), first, np.int64)
        return event_times // self.size * self.size

    def start(self, windows: Times) -> Times:
        return windows

    def end(self, windows: Times) -> Times:
        return windows + self.size
