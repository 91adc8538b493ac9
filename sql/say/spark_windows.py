"""The windows of a plan in Spark SQL; each kind of mars/algebra/windows has its line in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mars.errors import UserError
from mars.model.durations import MILLISECONDS
from mars.model.plan import UNITS_PER_SECOND, Stream, Window


@dataclass(frozen=True)
class SparkWindow:
    """`window` gives a number that tells a tuple's window from others, from the text of its event time, by explode(...) if
    it is in several; `start` and `end` are those of the window that is told by `_window`. Times are in the stream's unit.
    `group` is what Spark groups by."""

    window: Callable[[str], str]
    start: str
    end: str
    group: str = "_window"


def of(window: Window, stream: Stream) -> SparkWindow:
    """The window as Spark computes it. UserError if it cannot."""
    return KINDS[window.kind](window, stream)


def tumbling(window: Window, stream: Stream) -> SparkWindow:
    """Windows of one length side by side."""
    size = stream.units(window.size_ms)
    return SparkWindow(lambda time: f"{time} - pmod({time}, {size}L)", "_window", f"(_window + {size}L)")


def hopping(window: Window, stream: Stream) -> SparkWindow:
    """Windows of one length, of which one begins each step."""
    size, every, offset = (stream.units(ms or 0) for ms in (window.size_ms, window.every_ms, window.offset_ms))

    def starts(time: str) -> str:
        since = f"pmod({time} - {offset}L, {every}L)"  # from the last start
        last = f"{time} - {since}"
        return f"explode(sequence({last} - ({size - 1}L - {since}) div {every}L * {every}L, {last}, {every}L))"

    return SparkWindow(starts, "_window", f"(_window + {size}L)")


def days(window: Window, stream: Stream) -> SparkWindow:
    """Windows of a zone's days; told by their first day. Spark's days end where its clocks show another date."""
    size, every, offset = ((ms or 0) // MILLISECONDS["d"] for ms in (window.size_ms, window.every_ms, window.offset_ms))
    per_second, zone = UNITS_PER_SECOND[stream.time_unit], window.zone

    def starts(time: str) -> str:
        seconds = f"timestamp_seconds(floor({time} / {per_second}))"
        day = f"unix_date(to_date(from_utc_timestamp({seconds}, '{zone}')))"
        since = f"pmod({day} - {offset}, {every})"
        return f"explode(sequence({day} - {since} - ({size - 1} - {since}) div {every} * {every}, {day} - {since}, {every}))"

    def begin(day: str) -> str:
        midnight = f"to_utc_timestamp(cast(date_from_unix_date(cast({day} AS INT)) AS TIMESTAMP), '{zone}')"
        return f"(unix_seconds({midnight}) * {per_second}L)"

    return SparkWindow(starts, begin("_window"), begin(f"(_window + {size})"))


def landmark_days(window: Window, stream: Stream) -> SparkWindow:
    """Refused: where a day has 23 or 25 hours it has other steps."""
    raise UserError("Landmarks at a zone's midnight cannot be shown as Spark SQL", "steps depend on how long a day is",
                    "write EXPLAIN without FORMAT SPARK, or leave out AT TIME ZONE")


def landmark_each(window: Window, stream: Stream) -> SparkWindow:
    """From each start of a period to each step after it; told by its end."""
    size, every = stream.units(window.size_ms), stream.units(window.every_ms or 0)

    def ends(time: str) -> str:
        first, last = (f"{time} - pmod({time}, {length}L) + {length}L" for length in (every, size))
        return f"explode(sequence({first}, {last}, {every}L))"

    return SparkWindow(ends, f"(_window - 1L - pmod(_window - 1L, {size}L))", "_window")


def landmark_from(window: Window, stream: Stream) -> SparkWindow:
    """Refused: the number of windows of a tuple depends on the last tuple."""
    raise UserError("Windows from one landmark cannot be shown as Spark SQL", "they go on for as long as tuples come",
                    "write EXPLAIN without FORMAT SPARK, or LANDMARK EACH")


def emitted(window: Window, stream: Stream) -> SparkWindow:
    """Refused: which rows are given out depends on when tuples came."""
    raise UserError("EMIT EVERY cannot be shown as Spark SQL", "a batch gives each window once",
                    "write EXPLAIN without FORMAT SPARK, or EMIT FINAL, whose rows are the final ones")


def session(window: Window, stream: Stream) -> SparkWindow:
    """Spark's own sessions; refused where Spark has none."""
    per_second = UNITS_PER_SECOND[stream.time_unit]
    if window.max_ms is not None or per_second > 1_000_000:
        raise UserError("These sessions cannot be shown as Spark SQL",
                        "Spark's have no longest time, and count microseconds",
                        "write EXPLAIN without FORMAT SPARK, or leave out MAX")
    micros = 1_000_000 // per_second
    start, end = (f"unix_micros(session_window.{side}) div {micros}L" for side in ("start", "end"))
    return SparkWindow(lambda time: f"timestamp_micros({time} * {micros}L)", f"({start})", f"({end})",
                       f"session_window(_window, '{window.size_ms} milliseconds')")


def sliding(window: Window, stream: Stream) -> SparkWindow:
    """Refused: which windows there are depends on the group's other tuples, and Spark has no such windows."""
    raise UserError("Sliding windows cannot be shown as Spark SQL", "Spark groups by none that depend on other tuples",
                    "write EXPLAIN without FORMAT SPARK, or WINDOWING 60 s EVERY 1 s")


KINDS = {"tumbling": tumbling, "hopping": hopping, "landmark each": landmark_each, "landmark from": landmark_from,
         "session": session, "sliding": sliding, "days": days, "landmark days": landmark_days, "emitted": emitted}
