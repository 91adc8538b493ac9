"""The clause that says which windows there are.

    window := WINDOWING d [zone] [EVERY d [zone]] [OFFSET [-] d] | LANDMARK EACH period EVERY d | LANDMARK FROM 't' EVERY d
            | SLIDING d | SESSION GAP d [MAX d] | COUNT n [EVERY m]
    period := d [zone] | HOUR | DAY [zone]
    zone   := AT TIME ZONE 'name', after whole days

Whether the lengths fit each other is looked at in sql/check/lengths.py, which knows the stream.
"""

from __future__ import annotations

from mars.model.durations import MILLISECONDS, format_duration
from mars.model.plan import Window
from sql.read import zones
from sql.read.instants import take_instant, us_of
from sql.read.reader import Reader
from sql.read.words import Word
from sql.refusals import not_supported, refusal, refusal_at

KINDS = "write WINDOWING 60 s, WINDOWING 60 s EVERY 10 s, LANDMARK EACH DAY EVERY 1 min, or SESSION GAP 5 min"
SESSION = "write WINDOWING SESSION GAP 5 min, or SESSION GAP 5 min MAX 1 h"
PERIODS = {"HOUR": MILLISECONDS["h"], "DAY": MILLISECONDS["d"]}


def read_windowing(reader: Reader, word: Word) -> dict:
    """What follows WINDOWING. The windows that Mars does not have are recognised, and refused."""
    if reader.accept("SESSION"):
        return {"window": _session(reader)}
    if reader.accept("SLIDING"):
        return {"window": Window("sliding", reader.take_duration("SLIDING"))}
    if reader.word.is_("COUNT"):
        raise not_supported(reader.sql, word.start, reader.word.end, f"WINDOWING {reader.word.value.upper()}", KINDS)
    if landmark := reader.accept("LANDMARK"):
        return {"window": _landmark(reader, landmark)}
    size_ms = reader.take_duration("WINDOWING")
    if reader.word.is_("SLIDE"):
        raise refusal_at(reader.sql, reader.word, "a step begins with EVERY", "",
                         f"write WINDOWING {format_duration(size_ms)} EVERY 10 s")
    zone = zones.take(reader, size_ms)
    first = reader.word
    every_ms = _every(reader, size_ms) if reader.accept("EVERY") else size_ms
    zone = zone or zones.take(reader, size_ms)
    if zone:
        zones.check_days(reader, first, "EVERY", every_ms)
    first = reader.word
    offset_ms = _offset(reader, every_ms) if reader.accept("OFFSET") else 0
    if zone:
        zones.check_days(reader, first, "OFFSET", offset_ms)
        return {"window": Window("days", size_ms, every_ms, offset_ms or None, zone=zone)}
    return {"window": side_by_side(size_ms, every_ms, offset_ms)}


def side_by_side(size_ms: int, every_ms: int, offset_ms: int = 0) -> Window:
    """Windows of one length, of which one begins each `every_ms`."""
    if (every_ms, offset_ms) == (size_ms, 0):
        return Window("tumbling", size_ms)
    return Window("hopping", size_ms, every_ms, offset_ms or None)


def _every(reader: Reader, size_ms: int) -> int:
    first = reader.word
    every_ms = reader.take_duration("EVERY")
    if every_ms > size_ms:
        raise refusal(reader.sql, first.start, reader.words[reader.position - 1].end,
                      f"EVERY {format_duration(every_ms)} is longer than the window",
                      "tuples between two windows would be in none",
                      f"write WINDOWING {format_duration(every_ms)}, or EVERY {format_duration(size_ms)} or shorter")
    return every_ms


def _offset(reader: Reader, every_ms: int) -> int:
    first = reader.word
    sign = -1 if reader.accept("-") else 1
    offset_ms = reader.take_duration("OFFSET", zero=True)
    if offset_ms >= every_ms:
        raise refusal(reader.sql, first.start, reader.words[reader.position - 1].end,
                      f"OFFSET {format_duration(offset_ms)} is not below the step",
                      f"a window begins each {format_duration(every_ms)}, so the same windows have a smaller offset",
                      f"write OFFSET {'-' if sign < 0 else ''}{format_duration(offset_ms % every_ms)}")
    return sign * offset_ms


def _landmark(reader: Reader, word: Word) -> Window:
    hint = "write WINDOWING LANDMARK EACH DAY EVERY 1 min, or LANDMARK FROM '2026-01-31' EVERY 1 min"
    if reader.take("EACH", "FROM", hint=hint).is_("FROM"):
        from_us = us_of(take_instant(reader, "LANDMARK FROM"))
        every_ms = _step(reader, hint)
        return Window("landmark from", every_ms, every_ms, from_us=from_us)
    period = reader.accept(*PERIODS)
    first = period or reader.word
    size_ms = PERIODS[period.value.upper()] if period else reader.take_duration("EACH")
    zone = zones.take(reader, size_ms)
    every_ms = _step(reader, hint)
    if size_ms % every_ms:
        raise refusal(reader.sql, first.start, reader.words[reader.position - 1].end,
                      f"{format_duration(size_ms)} is no whole number of steps of {format_duration(every_ms)}", "",
                      f"write LANDMARK EACH {format_duration(-(-size_ms // every_ms) * every_ms)} EVERY "
                      f"{format_duration(every_ms)}")
    return Window("landmark days" if zone else "landmark each", size_ms, every_ms, zone=zone)


def _session(reader: Reader) -> Window:
    if not reader.accept("GAP"):
        raise reader.expected("GAP and a duration", SESSION)
    gap_ms = reader.take_duration("GAP")
    return session(gap_ms, reader.take_duration("MAX") if reader.accept("MAX") else None)


def session(gap_ms: int, max_ms: int | None = None) -> Window:
    """Sessions that end where a group is silent for longer than the gap, or after the longest time."""
    return Window("session", gap_ms, max_ms=max_ms)


def _step(reader: Reader, hint: str) -> int:
    reader.take("EVERY", hint=hint)
    return reader.take_duration("EVERY")
