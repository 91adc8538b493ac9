"""Do the lengths of time in a statement fit its stream, and each other?"""

from __future__ import annotations

import math

from mars.algebra.windows.hopping import pane_ms
from mars.model.durations import format_duration
from mars.model.plan import UNITS_PER_SECOND, Stream, Window
from sql.refusals import refusal
from sql.statements import SelectStatement

PANES_MAX = 10_000  # of a window: a row merges the cells of all its panes


def check(select: SelectStatement, stream: Stream) -> None:
    """SqlError if a duration is no whole number of the event time's units, or a window has too many panes."""
    clauses, window = select.clauses, select.clauses.window
    if (time := clauses.time) is not None and time.text.lower() != stream.time_column.lower():
        raise refusal(select.sql, time.start, time.end, f"{time.text} is not the event time of {stream.name}",
                      "windows are of the event time", f"write {stream.time_column}")
    if window is not None:
        for milliseconds in (window.size_ms, window.every_ms, abs(window.offset_ms or 0), window.max_ms):
            _check_unit(select, stream, "WINDOWING", milliseconds or 0)
        _check_landmark(select, stream, window)
        _check_panes(select, window)
    for keyword, milliseconds in (("WATERMARK", clauses.watermark_ms), ("GRACE", clauses.grace_ms),
                                  ("LATE", clauses.late_for_ms)):
        _check_unit(select, stream, keyword, milliseconds or 0)
    _check_unit(select, stream, "WATERMARK", clauses.max_ahead_ms or 0, "MAXAHEAD")
    _check_unit(select, stream, "EMIT", clauses.emit_every_ms or 0, "EMIT EVERY")
    _check_emissions(select)


def _check_unit(select: SelectStatement, stream: Stream, keyword: str, milliseconds: int, word: str = "") -> None:
    """`keyword` tells the clause, and `word` the part of it that gives this length, if it has another name."""
    unit_ms = 1000 // UNITS_PER_SECOND[stream.time_unit] if UNITS_PER_SECOND[stream.time_unit] < 1000 else 1
    if milliseconds % unit_ms:
        start, end = select.clauses.places[keyword]
        rounded = format_duration(max(unit_ms, milliseconds // unit_ms * unit_ms))
        raise refusal(select.sql, start, end,
                      f"{word or keyword} {format_duration(milliseconds)} does not fit the unit of the event time",
                      f"{stream.time_column} counts in {stream.time_unit}", f"write {word or keyword} {rounded}")


def _check_landmark(select: SelectStatement, stream: Stream, window: Window) -> None:
    if window.from_us is not None and window.from_us * UNITS_PER_SECOND[stream.time_unit] % 1_000_000:
        raise refusal(select.sql, *select.clauses.places["WINDOWING"],
                      "the landmark does not fit the unit of the event time",
                      f"{stream.time_column} counts in {stream.time_unit}", "leave out what is finer")


def _check_emissions(select: SelectStatement) -> None:
    """SqlError if what is given out so often would be cut into too many panes."""
    every_ms, window = select.clauses.emit_every_ms, select.clauses.window
    if every_ms is None or window is None or (panes := window.size_ms // math.gcd(window.size_ms, every_ms)) <= PANES_MAX:
        return
    least_ms = -(-window.size_ms // PANES_MAX)
    least_ms = next(step for step in range(least_ms, window.size_ms + 1) if window.size_ms % step == 0)
    raise refusal(select.sql, *select.clauses.places["EMIT"], f"each window would have {panes:,} panes",
                  "a pane is as long as the greatest common divisor of the window and EMIT EVERY; a window has at most "
                  f"{PANES_MAX:,}", f"write EMIT EVERY {format_duration(least_ms)}")


def _check_panes(select: SelectStatement, window: Window) -> None:
    if window.kind not in ("hopping", "days") or (panes := window.size_ms // pane_ms(window)) <= PANES_MAX:
        return
    every_ms = -(-window.size_ms // PANES_MAX)
    every_ms = next(step for step in range(every_ms, window.size_ms + 1) if window.size_ms % step == 0)
    raise refusal(select.sql, *select.clauses.places["WINDOWING"], f"each window would have {panes:,} panes",
                  f"a pane is as long as the greatest common divisor of window and step; a window has at most {PANES_MAX:,}",
                  f"write EVERY {format_duration(every_ms)}")
