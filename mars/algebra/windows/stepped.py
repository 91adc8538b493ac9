"""What windows of several panes have in common: they end at equal steps, and each is named by its end."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mars.algebra.windows.kind import NEVER, Times, Windows
from mars.model.plan import Stream, Window


class Stepped(Windows):
    """Windows that end at all k * every + phase, for whole k. A pane is in each window that ends from the first such time
    after it to its `last_end`. A kind may count in something else than time, if its names ascend as ends do."""

    panes_are_windows = False
    late = "a tuple whose windows are all closed"

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        assert window.every_ms is not None, window
        self.window = window
        self.every = stream.units(window.every_ms)
        self.phase = 0

    @property
    def length(self) -> int:
        """How long a pane is, in the unit that windows are named in."""
        assert self.step is not None, self
        return self.step

    def end(self, windows: Times) -> Times:
        return windows

    @abstractmethod
    def last_end(self, panes: Times) -> Times: ...

    def first_end(self, panes: Times, above: int | None) -> Times:
        first = self._at_or_after(panes + self.length)
        return first if above is None else np.maximum(first, self._at_or_after(np.array(above + 1)))

    def rest_end(self, time: int) -> int:
        return int(self.end(self.last_end(self.panes(np.array([time], np.int64))))[0])

    def of_panes(self, panes: Times, above: int | None, up_to: int | None) -> tuple[np.ndarray, Times]:
        first, counts = self.reach(panes, above, up_to)
        rows = np.repeat(np.arange(len(panes)), counts)
        nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, first[rows] + nth * self.every

    def reach(self, panes: Times, above: int | None, up_to: int | None) -> tuple[Times, np.ndarray]:
        """The end of the first window of each pane, and the number of its windows: of those that `of_panes` gives."""
        if len(panes) == 0:
            return panes, panes
        first, last = self.first_end(panes, above), self.last_end(panes)
        if up_to is None:
            up_to = int(self.first_end(panes.max(keepdims=True), None)[0]) if int(last.max()) == NEVER else NEVER
        return first, np.maximum(0, (np.minimum(last, up_to) - first) // self.every + 1)

    def _at_or_after(self, times: Times) -> Times:
        """The least end that is no earlier than each time."""
        return self.phase - (self.phase - times) // self.every * self.every
