"""Tumbling windows that are given out while they are open, too: at each multiple of `every`, with the tuples before it, and
when they are closed. What is given out is named by the time at which that is; a window's own end is another thing, which
`shown_end` tells.

So rows come in the order of those times, which event time alone decides, and a replay gives the same ones."""

from __future__ import annotations

import math

import numpy as np

from mars.algebra.windows.kind import Times
from mars.algebra.windows.stepped import Stepped
from mars.model.durations import format_duration
from mars.model.plan import Stream, Window


class Emitted(Stepped):
    """[k * size, T), for each multiple T of `every` in the window [k * size, (k + 1) * size), and for its end."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.size, self._emits = stream.units(window.size_ms), self.every
        self.every = self.step = math.gcd(self.size, self._emits)

    @property
    def shortest_us(self) -> int:
        return self.window.size_ms * 1_000

    @property
    def words(self) -> str:
        return f"[start, start + {format_duration(self.window.size_ms)}), aligned to the epoch in UTC"

    def start(self, windows: Times) -> Times:
        return (windows - 1) // self.size * self.size

    def shown_end(self, windows: Times, ends: Times) -> Times:
        return self.start(windows) + self.size

    def final(self, windows: Times) -> np.ndarray:
        return windows % self.size == 0

    def first_end(self, panes: Times, above: int | None) -> Times:
        after = panes + self.length if above is None else np.maximum(panes + self.length, above + 1)
        emitted, last = -(-after // self._emits) * self._emits, self.last_end(panes)
        return np.where(after > last, emitted, np.minimum(emitted, last))

    def last_end(self, panes: Times) -> Times:
        return panes // self.size * self.size + self.size

    def of_panes(self, panes: Times, above: int | None, up_to: int | None) -> tuple[np.ndarray, Times]:
        rows, names = super().of_panes(panes, above, up_to)
        wanted = self.final(names) | (names % self._emits == 0)
        return (rows, names) if wanted.all() else (rows[wanted], names[wanted])

    def settled(self, panes: Times, closed_end: int) -> Times:
        given = closed_end // self._emits * self._emits  # what came after the last time counts as a change at the next
        return np.where(panes + self.length <= given, panes // self.size * self.size, panes)
