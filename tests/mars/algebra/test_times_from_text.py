"""Dates and times in text: ASCII digits, the zones that every machine has, offsets of up to 18 hours, as in Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from mars.algebra.evaluation import from_text


def instant(text: str) -> datetime | None:
    return from_text.to_timestamp(pa.array([text]))[0].as_py()


@pytest.mark.parametrize(("zone", "hour"), [
    ("Z", 12), ("+1", 11), (" +01:30", 10), ("-01:30", 13), ("UTC+2", 10), (" Europe/Berlin", 11), (" EST", 17),
    (" EST5EDT", 17), ("+12:00", 0),
    (" localtime", None), (" posixrules", None), (" right/Europe/Berlin", None), (" posix/Europe/Berlin", None),
    (" Factory", None), (" ROC", None), (" europe/berlin", None), (" ../zoneinfo/UTC", None), (" Europe", None),
    ("+18:01", None), ("+18:00:01", None), ("-18:30", None), ("+19", None), ("+1:60", None), ("+\u0661", None)])
def test_zones_are_the_same_on_every_machine(zone: str, hour: int | None) -> None:
    read = instant(f"2024-01-02 12:00:00{zone}")
    assert (read and (read.day, read.hour)) == (None if hour is None else (2, hour))


def test_an_offset_of_18_hours_is_the_greatest() -> None:
    assert instant("2024-01-02 12:00:00+18:00") == datetime(2024, 1, 1, 18, tzinfo=UTC)
    assert instant("2024-01-02 12:00:00-18:00") == datetime(2024, 1, 3, 6, tzinfo=UTC)


def test_digits_are_those_of_ascii() -> None:
    texts = pa.array(["2024-01-02", "\u0662\u0660\u0662\u0664-01-02", "2024-\u0661-02"])
    assert from_text.to_date(texts).to_pylist() == [date(2024, 1, 2), None, None]
    assert instant("2024-01-02 0\u0661:00:00") is None
