"""Hopping windows: [start, start + size), start = a multiple of `every`, moved by an offset. Tumbling ones with an offset
are those whose step is their size. A pane is as long as the greatest common divisor of both, so each tuple is aggregated
once."""

from __future__ import annotations

import math

from mars.algebra.windows.kind import Times
from mars.algebra.windows.stepped import Stepped
from mars.model.durations import format_duration
from mars.model.plan import Stream, Window


def pane_ms(window: Window) -> int:
    """How long a pane of these windows is."""
    return math.gcd(window.size_ms, window.every_ms or 0)


class Hopping(Stepped):
    """Windows of one length, of which one begins each `every`."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.size, self.step = stream.units(window.size_ms), stream.units(pane_ms(window))
        moved = stream.units(window.offset_ms or 0)
        self.offset, self.phase = moved % self.step, (moved + self.size) % self.every

    @property
    def shortest_us(self) -> int:
        return self.window.size_ms * 1_000

    @property
    def words(self) -> str:
        window, offset_ms = self.window, self.window.offset_ms or 0
        aligned = "the epoch in UTC" if not offset_ms else \
            f"{format_duration(abs(offset_ms))} {'after' if offset_ms > 0 else 'before'} the epoch in UTC"
        begins = "" if window.every_ms == window.size_ms else f"one begins each {format_duration(window.every_ms or 0)}, "
        return f"[start, start + {format_duration(window.size_ms)}), {begins}aligned to {aligned}"

    def start(self, windows: Times) -> Times:
        return windows - self.size

    def last_end(self, panes: Times) -> Times:
        return self.phase + (panes + self.size - self.phase) // self.every * self.every
