"""What every kind of window tells, over whole arrays. Pure.

A *pane* is the piece of event time that cells are kept for. A *window* is what a result row is about; it consists of one
pane or of several. Both are named by an int64. *Emission* is a third thing: it says when rows are given out, and is no
business of the kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from mars.algebra.grouping import Groups, group
from mars.model.plan import Stream, Window

NEVER = 2**63 - 1  # the end of a window that no watermark closes
Times = np.ndarray  # int64, in the stream's unit


@dataclass(frozen=True)
class Gathered:
    """Which rows become one cell: `groups` of them, the pane of each, and its greatest time (None if cells have none)."""

    groups: Groups
    panes: Times
    lasts: Times | None = None


def stepped_panes(event_times: Times, step: int, offset: int) -> Times:
    """Of each event time the start of the pane [k * step, (k + 1) * step) + offset, for whole k, that it is in."""
    if len(event_times) == 0:
        return np.zeros(0, np.int64)
    # A small batch mostly lies in one pane, and two comparisons are cheaper than a division per tuple.
    first = (int(event_times.min()) - offset) // step * step + offset
    if int(event_times.max()) < first + step:
        return np.full(len(event_times), first, np.int64)
    return (event_times - offset) // step * step + offset if offset else event_times // step * step


class Windows(ABC):
    """The windows of one query over one stream. What holds for every kind:

    - The event time alone decides which pane a tuple is in.
    - Windows close in the order of their ends, at watermarks that `closed_end` tells.

    And for every kind that is not `Joined`:

    - The pane alone decides which windows a tuple is in.
    - Of two panes the greater one is in no window that ends before the other's first one, and its last one ends no earlier.
    - The names of windows ascend in the order of (start, end), which is also that of (end, start).

    The methods here are those of a kind whose panes are its windows; another kind has its own `of_panes`, `first_end` and
    `last_end`.
    """

    late: ClassVar[str] = "a tuple whose window is closed"  # which tuples are, for people

    panes_are_windows: ClassVar[bool] = True  # a pane is in one window, which bears its name
    holds_its_end: ClassVar[bool] = False  # a tuple at window_end belongs to it, so the watermark must have come further
    shown: ClassVar[bool] = True  # results have the columns window_start and window_end

    step: int | None = None  # panes are [k * step, (k + 1) * step) + offset, for all whole k, and named by their starts
    offset: int = 0

    def __init__(self, window: Window | None, stream: Stream, grace_ms: int) -> None:
        self.delay = stream.units(grace_ms) + self.holds_its_end
        self.delay_us = grace_ms * 1_000 + self.holds_its_end

    @property
    @abstractmethod
    def shortest_us(self) -> int:
        """How long the shortest window is, in microseconds."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Which windows there are, for people."""

    def panes(self, event_times: Times) -> Times:
        """The pane of each event time. A kind without `step` has its own."""
        step = self.step
        assert step is not None, self
        return stepped_panes(event_times, step, self.offset)

    def gather(self, keys: Sequence[pa.Array], panes: Times, lasts: Times) -> Gathered:
        """Which of these rows, tuples or cells, become one cell: those that agree in the keys and the pane."""
        groups = group(keys, panes)
        return Gathered(groups, panes[groups.first_row])

    @abstractmethod
    def start(self, windows: Times) -> Times:
        """The start of each window."""

    @abstractmethod
    def end(self, windows: Times) -> Times:
        """The first time after each window; NEVER if there is none."""

    def bounds(self, windows: Times, lasts: Times | None) -> tuple[Times, Times]:
        """The start and the end of each window; `lasts` are the greatest times in them, of a `Joined` kind."""
        return self.start(windows), self.end(windows)

    def shown_end(self, windows: Times, ends: Times) -> Times:
        """The end of each window as rows show it; `ends` are those by which windows close."""
        return ends

    def final(self, windows: Times) -> np.ndarray:
        """bool[n]: is nothing given out of the window any more, once this one is?"""
        return np.ones(len(windows), np.bool_)

    def of_panes(self, panes: Times, above: int | None, up_to: int | None) -> tuple[np.ndarray, Times]:
        """(rows, windows): panes[rows[i]] is in windows[i]. Those windows that end in (above, up_to]; None for no bound.
        Without an upper bound an endless series of windows is given up to the first that holds all these panes."""
        ends = self.end(panes)
        within = np.ones(len(panes), np.bool_)
        if above is not None:
            within &= ends > above
        if up_to is not None:
            within &= ends <= up_to
        rows = np.flatnonzero(within)
        return rows, panes[rows]

    def first_end(self, panes: Times, above: int | None) -> Times:
        """The end of the first window of each pane that ends after `above`."""
        return self.end(panes)

    def last_end(self, panes: Times) -> Times:
        """The end of the last window of each pane: once that is closed, the pane is not needed any more."""
        return self.end(panes)

    def rest_end(self, time: int) -> int:
        """The end of the last window that is closed where nothing follows a tuple of this time (EMIT FINAL TIMEOUT): of all
        that hold it, of a kind of which each shows something else."""
        return int(self.end(self.panes(np.array([time], np.int64)))[0])

    def settled(self, panes: Times, closed_end: int) -> Times:
        """For each pane one that is in the same windows of those that end after `closed_end`: the same one for as many as
        possible, as the cells of panes that are in the same open windows may be merged."""
        return panes

    def closed_time(self, watermark: int) -> int:
        """The windows whose end is at or before this time are closed at this watermark, and no others."""
        return watermark - self.delay

    def closed_end(self, watermark: int) -> int:
        """The same, as `first_end` and `last_end` tell ends: of a kind that does not name windows by times, a name."""
        return self.closed_time(watermark)
