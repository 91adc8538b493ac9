"""The windows of a plan in Spark SQL; each kind of mars/algebra/windows has its line in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mars.model.plan import Stream, Window


@dataclass(frozen=True)
class SparkWindow:
    """`start` gives the start of a tuple's window from the text of its event time, by explode(...) if it is in several;
    `end` is the end of the window that starts at `_window`. Times are in the stream's unit."""

    start: Callable[[str], str]
    end: str


def of(window: Window, stream: Stream) -> SparkWindow:
    """The window as Spark computes it."""
    return KINDS[window.kind](window, stream)


def tumbling(window: Window, stream: Stream) -> SparkWindow:
    """Windows of one length side by side."""
    size = stream.units(window.size_ms)
    return SparkWindow(lambda time: f"{time} - pmod({time}, {size}L)", f"(_window + {size}L)")


KINDS = {"tumbling": tumbling}
