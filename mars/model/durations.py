"""Durations of the dialect: `60 s`, `500ms`, `1 hour`; kept as whole milliseconds everywhere."""

from __future__ import annotations

MILLISECONDS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
WORDS = {"second": "s", "seconds": "s", "minute": "min", "minutes": "min", "hour": "h", "hours": "h",
         "day": "d", "days": "d"}
LONGEST_MS = 36_525 * MILLISECONDS["d"]


def unit_of(word: str) -> str | None:
    """The unit (a key of MILLISECONDS) that a word names, or None: `unit_of('Seconds')` is 's'."""
    lower = word.lower()
    return lower if lower in MILLISECONDS else WORDS.get(lower)


def to_milliseconds(number: int, unit: str) -> int | None:
    """A number of a unit as milliseconds; None when it is 0 or longer than a hundred years."""
    milliseconds = number * MILLISECONDS[unit]
    return milliseconds if 0 < milliseconds <= LONGEST_MS else None


def format_duration(milliseconds: int) -> str:
    """The shortest exact text, which `parse_duration` reads back: `format_duration(60000)` is '1 min', and 90000 is '90
    s'."""
    for unit, size in reversed(MILLISECONDS.items()):
        if milliseconds % size == 0 and milliseconds:
            return f"{milliseconds // size} {unit}"
    return "0 s"
