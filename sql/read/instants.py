"""Instants in statements: ISO 8601 text, as UTC to the microsecond."""

from __future__ import annotations

import datetime
import re

from sql.read.reader import Reader
from sql.refusals import refusal_at

FINER = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def take_instant(reader: Reader, clause: str) -> str:
    """Takes an instant in single quotes, as `parse_instant` gives it; `clause` is what it follows, for the error."""
    place = reader.take_text("an instant")
    instant = parse_instant(place.value)
    if instant is None:
        raise refusal_at(reader.sql, place, f"'{place.value}' is not a time", "expected ISO 8601",
                         f"write {clause} '2026-01-31T12:00:00Z'")
    return instant


def parse_instant(text: str) -> str | None:
    """An ISO 8601 time (without an offset: UTC) as the text of the instant in UTC, to the microsecond at or after it, or
    None."""
    try:
        time = datetime.datetime.fromisoformat(text.strip())
        time = time.replace(tzinfo=datetime.UTC) if time.tzinfo is None else time.astimezone(datetime.UTC)
        time += datetime.timedelta(microseconds=bool(FINER.search(text)))  # fromisoformat cuts it off
    except (ValueError, OverflowError):
        return None
    return time.replace(tzinfo=None).isoformat() + "Z"


def us_of(instant: str) -> int:
    """Microseconds since the epoch of a text that `parse_instant` gave."""
    return (datetime.datetime.fromisoformat(instant) - EPOCH) // datetime.timedelta(microseconds=1)
