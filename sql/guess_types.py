"""The types and units that some values of a column agree on."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

from sql.clauses import parse_instant
from sql.literals import BIGINT_MAX, INT_MAX, NUMBER

INTEGER = re.compile(r"\s*[+-]?\d{1,19}\s*\Z", re.ASCII)
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
            self.types.add({bool: "BOOLEAN", float: "DOUBLE"}.get(type(value)) or self.number_or_text(value))
        if len(self.texts) < KEPT:
            self.texts.append(str(value))

    @staticmethod
    def number_or_text(value: object) -> str:
        """INT, BIGINT, or STRING for what is no number."""
        return (type_of(str(value)) if isinstance(value, int) else None) or "STRING"

    def type(self) -> str:
        """The type that all values fit; INT is widened to BIGINT, since some values tell nothing of the
        greatest."""
        types = self.types
        if len(types) == 1 and types != {"INT"}:
            return next(iter(types))
        if types and types <= {"INT", "BIGINT"}:
            return "BIGINT"
        if types and types <= {"INT", "BIGINT", "DOUBLE"}:
            return "DOUBLE"
        return "TIMESTAMP" if types == {"DATE", "TIMESTAMP"} else "STRING"

    def all_texts(self, reads: Callable[[str], object]) -> bool:
        """True if there is a value and every kept one reads."""
        return bool(self.texts) and all(reads(value) is not None for value in self.texts)


def type_of(value: str) -> str | None:
    """The narrowest type that a text reads as; None for an empty one."""
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
    if len(stripped) >= 10 and stripped[4:5] == "-":
        if parse_date(stripped):
            return "DATE"
        if parse_instant(stripped):
            return "TIMESTAMP"
    return "STRING"


def parse_date(text: str) -> datetime.date | None:
    """A date written 2026-01-31, or None."""
    try:
        return datetime.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def time_unit(seen: Seen) -> str | None:
    """The unit in which all whole numbers seen are times between 1990 and 2100, or None."""
    numbers = [int(value) for value in seen.texts if INTEGER.match(value)]
    for unit, per_second in UNIT_OF_DIGITS.items():
        if numbers and all(EARLIEST_S * per_second <= n < LATEST_S * per_second for n in numbers):
            return unit
    return None
