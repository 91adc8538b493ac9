"""Session windows: the longest runs of a group's tuples whose neighbours in time differ by at most the gap. A window starts
at the first tuple's time and ends at the last one's + gap; a tuple at its end still belongs to it.

MAX cuts a run: a window is no longer than that, a tuple past its end begins the next one. Where a run is cut depends on its
first tuple, which a mapper cannot know. So with MAX each event time has a cell of its own; without it a cell is a run, and
runs of one group that lie within the gap of each other become one wherever they meet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mars.algebra.grouping import Groups, group
from mars.algebra.windows import runs
from mars.algebra.windows.joined import Joined
from mars.algebra.windows.kind import Gathered, Times
from mars.model.durations import format_duration
from mars.model.plan import Stream, Window


class Session(Joined):
    """Runs of a group's tuples."""

    holds_its_end = True
    late = "a tuple whose session is closed, or that would reopen a closed one or bridge it to another"

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.window = window
        self.gap = stream.units(window.size_ms)
        self.most = None if window.max_ms is None else stream.units(window.max_ms)
        self.shortest = self.gap if self.most is None else min(self.gap, self.most)

    @property
    def shortest_us(self) -> int:
        return min(self.window.size_ms, self.window.max_ms or self.window.size_ms) * 1_000

    @property
    def words(self) -> str:
        gap, most = format_duration(self.window.size_ms), self.window.max_ms
        cut = "" if most is None else f", cut {format_duration(most)} after the first"
        return f"sessions of each group: tuples at most {gap} apart{cut}, [first, last + {gap}]"

    def panes(self, event_times: Times) -> Times:
        return event_times

    def gather(self, keys: Sequence[pa.Array], panes: Times, lasts: Times) -> Gathered:
        if self.most is not None:  # a cell of one time, or a window, whose greatest time several cells may tell
            groups = group(keys, panes)
            return Gathered(groups, panes[groups.first_row], runs.greatest(groups.ids, lasts, groups.count))
        groups = group(keys, np.zeros(len(panes), np.int64))
        ids, rows, first, last = runs.joined(groups.ids, groups.count, panes, lasts, self.gap)
        return Gathered(Groups(ids, rows), first, last)

    def start(self, windows: Times) -> Times:
        return windows

    def end(self, windows: Times) -> Times:
        """No window of this first time ends earlier; `bounds` tells where it ends."""
        return windows + self.shortest

    def ends(self, starts: Times, lasts: Times) -> Times:
        """The end of each window."""
        return lasts + self.gap if self.most is None else np.minimum(lasts + self.gap, starts + self.most)

    def bounds(self, windows: Times, lasts: Times | None) -> tuple[Times, Times]:
        assert lasts is not None, self
        return windows, self.ends(windows, lasts)

    def rest_end(self, time: int) -> int:
        return time + self.gap

    def windows_of(self, ids: np.ndarray, first: Times, last: Times) -> tuple[Times, Times]:
        order = np.lexsort((first, ids))
        numbers = runs.numbered(ids[order], first[order], last[order], self.gap, -1 if self.most is None else self.most)
        window = np.empty(len(ids), np.int64)
        window[order] = numbers
        begins = np.flatnonzero(np.diff(numbers, prepend=-1))
        starts = first[order][begins]
        lasts = np.maximum.reduceat(last[order], begins) if len(begins) else starts
        return starts[window], self.ends(starts, lasts)[window]
