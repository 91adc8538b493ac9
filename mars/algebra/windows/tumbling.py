"""Tumbling windows: [start, start + size), start = a multiple of size (epoch, UTC). A window is its only pane, and its start
is its name."""

from __future__ import annotations

from mars.algebra.windows.kind import Times, Windows
from mars.model.durations import format_duration
from mars.model.plan import Stream, Window


class Tumbling(Windows):
    """Windows of one length side by side."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.window = window
        self.step = self.size = stream.units(window.size_ms)

    @property
    def shortest_us(self) -> int:
        return self.window.size_ms * 1_000

    @property
    def words(self) -> str:
        return f"[start, start + {format_duration(self.window.size_ms)}), aligned to the epoch in UTC"

    def start(self, windows: Times) -> Times:
        return windows

    def end(self, windows: Times) -> Times:
        return windows + self.size
