"""Windows of whole days of a time zone, whose days have 23, 24 or 25 hours, or others. Panes and windows are not named by
instants but by numbers of days, or of steps: what is of equal length there is not so in time."""

from __future__ import annotations

import math

import numpy as np

from mars.algebra.windows.kind import Times
from mars.algebra.windows.stepped import Stepped
from mars.algebra.windows.zones import zone
from mars.model.durations import MILLISECONDS, format_duration
from mars.model.plan import UNITS_PER_SECOND, Stream, Window

DAY_MS = MILLISECONDS["d"]
HOUR_US = MILLISECONDS["h"] * 1_000
LONGER = 2  # days, by which a number of a zone's days is never longer than the same number of 24 hours


class Zoned(Stepped):
    """What both kinds share: days by their numbers, and the instants at which they begin, in the stream's unit."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        assert window.zone is not None, window
        self.zone, self._second = zone(window.zone), UNITS_PER_SECOND[stream.time_unit]
        self.size = window.size_ms // DAY_MS

    def days(self, times: Times) -> Times:
        """The day of each instant."""
        return self.zone.days(times // self._second)

    def begins(self, days: Times) -> Times:
        """The instant at which each day begins."""
        return self.zone.begins(days) * self._second

    def closed_end(self, watermark: int) -> int:
        return int(self.at(np.array([self.closed_time(watermark)]))[0])

    def at(self, times: Times) -> Times:
        """The greatest name that a window can have which ends at or before each instant."""
        raise NotImplementedError


class Days(Zoned):
    """Windows of so many days, of which one begins each so many days. They are named by the day at whose begin they end, and
    panes by their first day."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        self.every, moved = (window.every_ms or 0) // DAY_MS, (window.offset_ms or 0) // DAY_MS
        self._length = math.gcd(self.size, self.every)
        self._first, self.phase = moved % self._length, (moved + self.size) % self.every

    @property
    def length(self) -> int:
        return self._length

    @property
    def shortest_us(self) -> int:
        return self.window.size_ms * 1_000 - HOUR_US

    @property
    def words(self) -> str:
        window, moved_ms = self.window, self.window.offset_ms or 0
        begins = "" if window.every_ms == window.size_ms else f", one begins each {format_duration(window.every_ms or 0)}"
        moved = "" if not moved_ms else f"{format_duration(abs(moved_ms))} {'after' if moved_ms > 0 else 'before'} "
        since = f", counted from {moved}1970-01-01" if self.every > 1 else ""
        return (f"{format_duration(window.size_ms)} from midnight to midnight in {window.zone}, however long a day is there"
                f"{begins}{since}")

    def panes(self, event_times: Times) -> Times:
        return (self.days(event_times) - self._first) // self._length * self._length + self._first

    def start(self, windows: Times) -> Times:
        return self.begins(windows - self.size)

    def end(self, windows: Times) -> Times:
        return self.begins(windows)

    def last_end(self, panes: Times) -> Times:
        return self.phase + (panes + self.size - self.phase) // self.every * self.every

    def at(self, times: Times) -> Times:
        return self.days(times)


class LandmarkDays(Zoned):
    """From the begin of each so many days to now, given out each step from there, and once more at the end of these days.
    Steps of whole days are the zone's. A window is named by the number of its period and its step, one number for both."""

    def __init__(self, window: Window, stream: Stream, grace_ms: int) -> None:
        super().__init__(window, stream, grace_ms)
        every_ms = window.every_ms or 0
        self._step_days, self._step = (every_ms // DAY_MS, 0) if every_ms % DAY_MS == 0 else (0, stream.units(every_ms))
        self._steps = (self.size + LONGER) * DAY_MS // every_ms + 1  # more than a period ever has
        self.every = 1

    @property
    def length(self) -> int:
        return 1

    @property
    def shortest_us(self) -> int:
        return (self.window.every_ms or 0) * 1_000

    @property
    def words(self) -> str:
        each, every = format_duration(self.window.size_ms), format_duration(self.window.every_ms or 0)
        return f"from midnight in {self.window.zone}, each {each}, to now, given out each {every} and at the end"

    def panes(self, event_times: Times) -> Times:
        days = self.days(event_times)
        periods = days // self.size
        if self._step_days:
            return periods * self._steps + days % self.size // self._step_days
        return periods * self._steps + (event_times - self.begins(periods * self.size)) // self._step

    def start(self, windows: Times) -> Times:
        return self.begins((windows - 1) // self._steps * self.size)

    def end(self, windows: Times) -> Times:
        periods = (windows - 1) // self._steps
        steps, first = windows - periods * self._steps, periods * self.size
        if self._step_days:
            return self.begins(first + steps * self._step_days)
        return np.minimum(self.begins(first) + steps * self._step, self.begins(first + self.size))

    def last_end(self, panes: Times) -> Times:
        periods = panes // self._steps
        if self._step_days:
            return periods * self._steps + self.size // self._step_days
        first = periods * self.size
        return periods * self._steps - (self.begins(first) - self.begins(first + self.size)) // self._step

    def rest_end(self, time: int) -> int:
        """That of the first one: the later ones of its period show the same."""
        return int(self.end(self.first_end(self.panes(np.array([time], np.int64)), None))[0])

    def of_panes(self, panes: Times, above: int | None, up_to: int | None) -> tuple[np.ndarray, Times]:
        rows, names = super().of_panes(panes, above, up_to)
        # A day that the zone left out would give the window of the day before once more.
        again = (self.end(names) == self.end(names - 1)) & ((names - 1) % self._steps > 0) if self._step_days else None
        return (rows, names) if again is None or not again.any() else (rows[~again], names[~again])

    def settled(self, panes: Times, closed_end: int) -> Times:
        return np.where(panes + 1 <= closed_end, panes // self._steps * self._steps, panes)

    def at(self, times: Times) -> Times:
        return self.panes(times)
