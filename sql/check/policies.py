"""The policies of a plan: window, watermark, grace, idle and start. Applies defaults and refuses what is not valid."""

from __future__ import annotations

from mars.model.durations import format_duration
from mars.model.plan import UNITS_PER_SECOND, Stream
from sql.refusals import refusal
from sql.statements import SelectStatement

WATERMARK_MS, GRACE_MS, IDLE_MS = 5_000, 0, 30_000


def read(select: SelectStatement, stream: Stream, continuous: bool) -> dict:
    """The policy of time that our clauses decide, as fields of the Aggregation."""
    clauses = select.clauses
    check_window(select, continuous)
    size_ms = clauses.window.size_ms if clauses.window else 0
    for keyword, milliseconds in (("WINDOWING", size_ms), ("WATERMARK", clauses.watermark_ms), ("GRACE", clauses.grace_ms)):
        check_unit(select, stream, keyword, milliseconds or 0)
    idle_ms = IDLE_MS if clauses.idle_ms is None else clauses.idle_ms or None
    return {
        "watermark_ms": WATERMARK_MS if clauses.watermark_ms is None else clauses.watermark_ms,
        "grace_ms": GRACE_MS if clauses.grace_ms is None else clauses.grace_ms,
        "idle_ms": idle_ms,
    }


def start_of(select: SelectStatement, continuous: bool) -> str:
    """Where the query starts."""
    return select.clauses.start or ("LATEST" if continuous else "EARLIEST")


def check_window(select: SelectStatement, continuous: bool) -> None:
    """A continuous query needs a window, and the clauses about time need one too."""
    if select.clauses.window is not None:
        return
    if continuous:
        start, end = select.last
        raise refusal(select.sql, start, end, "a continuous query needs a window",
                      "without a window its groups would never be complete", "add WINDOWING 60 s at the end")
    for keyword in ("WATERMARK", "GRACE", "EMIT"):
        if keyword in select.clauses.places:
            start, end = select.clauses.places[keyword]
            raise refusal(
                select.sql, start, end, f"{keyword} needs a window", "", "add WINDOWING 60 s, or remove it"
            )


def check_unit(select: SelectStatement, stream: Stream, keyword: str, milliseconds: int) -> None:
    """A duration is a whole number of the event time's units."""
    unit_ms = 1000 // UNITS_PER_SECOND[stream.time_unit] if UNITS_PER_SECOND[stream.time_unit] < 1000 else 1
    if milliseconds % unit_ms:
        start, end = select.clauses.places[keyword]
        rounded = format_duration(max(unit_ms, milliseconds // unit_ms * unit_ms))
        raise refusal(select.sql, start, end,
                      f"{keyword} {format_duration(milliseconds)} does not fit the unit of the event time",
                      f"{stream.time_column} counts in {stream.time_unit}", f"write {keyword} {rounded}")
