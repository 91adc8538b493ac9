"""Which window a tuple belongs to. Times are int64 in the stream's own unit, before and after."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from mars.model.plan import Stream, Window

Time = TypeVar("Time", int, np.ndarray)  # one, or an array of them


def assign(window: Window | None, stream: Stream, event_time: np.ndarray) -> np.ndarray:
    """The window start of each event time, int64[n]. Without a window all tuples share the start 0."""
    if window is None:
        return np.zeros(len(event_time), np.int64)
    return ASSIGN[window.kind](window, stream, event_time)


def end(window: Window, stream: Stream, start: Time) -> Time:
    """The first time after the window that begins at `start` (a number or an array of starts)."""
    return END[window.kind](window, stream, start)


def _assign_tumbling(window: Window, stream: Stream, event_time: np.ndarray) -> np.ndarray:
    size = stream.units(window.size_ms)
    if len(event_time) == 0:
        return np.zeros(0, np.int64)
    # A small batch mostly lies in one window, and two comparisons are cheaper than a division per tuple.
    first = int(event_time.min()) // size * size
    if int(event_time.max()) < first + size:
        return np.full(len(event_time), first, np.int64)
    return event_time // size * size


def _end_tumbling(window: Window, stream: Stream, start: Time) -> Time:
    return start + stream.units(window.size_ms)


ASSIGN = {"tumbling": _assign_tumbling}
END = {"tumbling": _end_tumbling}
