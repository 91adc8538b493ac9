"""Kinds of windows whose panes are not windows, as plain as they can be: what asks a kind must be right for these too."""

from __future__ import annotations

import numpy as np

from mars.algebra.windows import Windows
from mars.algebra.windows.kind import Times
from mars.model.plan import Stream, Window


class Stepped(Windows):
    """Panes of STEP_MS; every window ends at the end of one. Below, the windows of a pane are told by their ends."""

    panes_are_windows = False
    STEP_MS = 20_000

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.size, self.step = stream.units(window.size_ms), stream.units(self.STEP_MS)

    @property
    def shortest_us(self) -> int:
        return self.STEP_MS * 1_000

    @property
    def words(self) -> str:
        return "some"

    def end(self, windows: Times) -> Times:
        return windows

    def of_panes(self, panes: Times, above: int | None, up_to: int | None) -> tuple[np.ndarray, Times]:
        ends = panes[:, None] + np.arange(self.step, self.size + 1, self.step)
        within = ends <= self.last_end(panes)[:, None]
        if above is not None:
            within &= ends > above
        if up_to is not None:
            within &= ends <= up_to
        rows, _ = np.nonzero(within)
        return rows, ends[within]

    def first_end(self, panes: Times, above: int | None) -> Times:
        first = panes + self.step
        return first if above is None else np.maximum(first, (above // self.step + 1) * self.step)


class Hopping(Stepped):
    """Windows of one length, of which one begins each STEP_MS."""

    def start(self, windows: Times) -> Times:
        return windows - self.size

    def last_end(self, panes: Times) -> Times:
        return panes + self.size


class Landmark(Stepped):
    """From the begin of each period of the window's length to each step in it. A tuple at the end belongs to it."""

    holds_its_end = True

    def start(self, windows: Times) -> Times:
        return (windows - 1) // self.size * self.size

    def last_end(self, panes: Times) -> Times:
        return panes // self.size * self.size + self.size


OTHERS = {"hopping": Hopping, "landmark": Landmark}
