"""The types and units that fit all values of a column."""

from __future__ import annotations

import datetime
import re

from sql.literals import BIGINT_MAX, INT_MAX, NUMBER

INTEGER = re.compile(r"\s*[+-]?\d{1,19}\s*\Z", re.ASCII)
# After a sign, two digits are hours, not one digit of hours and one of minutes: hence the possessive "+".
TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.[0-9]*)?)?"
                  r" ?(?:[Zz]|([+-])([0-9]{1,2}+)(?::?([0-9]{2}))?)?)?")
OFFSET_MAX = datetime.timedelta(hours=18)
UNIT_OF_DIGITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
EARLIEST_S, LATEST_S = 631_152_000, 4_102_444_800    # 1990 to 2100
KEPT = 200


class Seen:
    """What was seen of one column: the types of its values, and the first of them."""

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.texts: list[str] = []

    def add_text(self, value: str) -> None:
        """Adds a field of CSV."""
        found = type_of(value)
        if found:
            self.types.add(found)
            self.texts.append(value) if len(self.texts) < KEPT else None

    def add_json(self, value: object) -> None:
        """Adds a value of JSON; text stays text there, but for dates and times."""
        if value is None:
            return
        if isinstance(value, str):
            found = type_of(value)
            self.types.add(found if found in ("DATE", "TIMESTAMP") else "STRING")
        else:
            kinds: dict[type, str] = {bool: "BOOLEAN", float: "DOUBLE"}
            self.types.add(kinds.get(type(value)) or self.number_or_text(value))
        if len(self.texts) < KEPT:
            self.texts.append(str(value))

    @staticmethod
    def number_or_text(value: object) -> str:
        """INT, BIGINT, or STRING for a value that is not a number."""
        return (type_of(str(value)) if isinstance(value, int) else None) or "STRING"

    def type(self) -> str:
        """The type that all values fit; INT is widened to BIGINT, because some values say nothing about the greatest
        one."""
        types = self.types
        if len(types) == 1 and types != {"INT"}:
            return next(iter(types))
        if types and types <= {"INT", "BIGINT"}:
            return "BIGINT"
        if types and types <= {"INT", "BIGINT", "DOUBLE"}:
            return "DOUBLE"
        return "TIMESTAMP" if types == {"DATE", "TIMESTAMP"} else "STRING"

    def are_times(self) -> bool:
        """True if every kept value is an instant, and one of them can be an event time. (Times in the calendar's first
        and last years cannot.)"""
        times = [time for value in self.texts if (time := parse_time(value))]
        return len(times) == len(self.texts) and any(1 < time.year < 9999 for time in times)


def type_of(value: str) -> str | None:
    """The narrowest type of which the text is a valid value; None for an empty text."""
    stripped = value.strip()
    if not stripped:
        return None
    if INTEGER.match(stripped):
        number = abs(int(stripped))
        return "INT" if number <= INT_MAX else "BIGINT" if number <= BIGINT_MAX else "DOUBLE"
    if NUMBER.match(stripped):
        return "DOUBLE"
    if stripped.lower() in ("true", "false"):
        return "BOOLEAN"
    if parse_time(value):
        return "DATE" if len(stripped) == len("2026-01-31") else "TIMESTAMP"
    return "STRING"


def parse_time(text: str) -> datetime.datetime | None:
    """The instant, in UTC, without its fraction of a second, of a text that is a valid TIMESTAMP; None for any other
    text, and for valid ones whose date does not have four, two and two digits."""
    found = TIME.fullmatch(text.strip(" \t"))
    if found is None:
        return None
    *numbers, sign, hours, minutes = found.groups()
    offset = datetime.timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    if int(minutes or 0) > 59 or offset > OFFSET_MAX:
        return None
    try:
        year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
        time = datetime.datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - an offset is taken off here
        return time + offset if sign == "-" else time - offset
    except (ValueError, OverflowError):
        return None


def time_unit(seen: Seen) -> str | None:
    """The unit in which all whole numbers seen are times between 1990 and 2100, or None."""
    numbers = [int(value) for value in seen.texts if INTEGER.match(value)]
    for unit, per_second in UNIT_OF_DIGITS.items():
        if numbers and all(EARLIEST_S * per_second <= n < LATEST_S * per_second for n in numbers):
            return unit
    return None
