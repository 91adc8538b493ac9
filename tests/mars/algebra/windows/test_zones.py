"""The days of time zones, against what Python's zoneinfo says second by second."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from io import BytesIO
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from mars.algebra.windows.zones import names, zone

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns", "America/Sao_Paulo",
         "Asia/Beirut", "Africa/Casablanca", "America/Toronto", "Pacific/Kwajalein", "America/Juneau", "UTC", "Asia/Kolkata")


def info_of(name: str) -> ZoneInfo:
    """Python's own reading of the same data."""
    return ZoneInfo.from_file(BytesIO((files("tzdata") / "zoneinfo").joinpath(*name.split("/")).read_bytes()))


def shown(info: ZoneInfo, second: int) -> int:
    """The date that clocks show, as a number of days."""
    return (datetime.fromtimestamp(second, info).date() - date(1970, 1, 1)).days


def seconds(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())


@pytest.mark.parametrize("name", ZONES)
def test_offsets_are_those_of_zoneinfo_at_each_change_and_between(name):
    info, own = info_of(name), zone(name)
    chance = np.random.default_rng(1)
    at = np.concatenate([chance.integers(seconds(2, 1, 1), seconds(9999, 1, 1), 300),
                         chance.integers(seconds(1900, 1, 1), seconds(2100, 1, 1), 500),
                         *[own._changes[:400] + by for by in (-1, 0, 1)]])
    wanted = [datetime.fromtimestamp(second, info).utcoffset() // timedelta(seconds=1) for second in at.tolist()]
    assert own._offsets[np.searchsorted(own._changes, at, "right")].tolist() == wanted


@pytest.mark.parametrize(("name", "day"), [
    ("Europe/Berlin", (2026, 3, 29)), ("Europe/Berlin", (2026, 10, 25)), ("Australia/Lord_Howe", (2026, 4, 5)),
    ("Australia/Lord_Howe", (2026, 10, 4)), ("Pacific/Apia", (2011, 12, 30)), ("America/St_Johns", (2006, 10, 29)),
    ("America/Sao_Paulo", (2017, 10, 15)), ("America/Sao_Paulo", (2018, 2, 18)), ("Asia/Beirut", (2026, 3, 29)),
    ("America/Toronto", (1919, 3, 31)), ("Pacific/Kwajalein", (1993, 8, 21)), ("Europe/Berlin", (5026, 3, 30))])
def test_a_day_begins_when_its_date_or_a_later_one_is_first_shown(name, day):
    info, own, middle = info_of(name), zone(name), seconds(*day)
    at = np.arange(middle - 3 * 86_400, middle + 3 * 86_400, 60)
    wanted = np.maximum.accumulate([shown(info, second) for second in at.tolist()])
    assert own.days(at).tolist() == wanted.tolist()
    for number in np.unique(wanted)[1:].tolist():
        assert own.begins(np.array([number]))[0] == at[np.argmax(wanted == number)]


@pytest.mark.parametrize(("name", "day", "hours"), [
    ("Europe/Berlin", (2026, 3, 29), 23), ("Europe/Berlin", (2026, 10, 25), 25), ("Europe/Berlin", (2026, 7, 1), 24),
    ("Australia/Lord_Howe", (2026, 4, 5), 24.5), ("Australia/Lord_Howe", (2026, 10, 4), 23.5),
    ("Pacific/Apia", (2011, 12, 30), 0),
    ("America/Sao_Paulo", (2017, 10, 15), 23), ("America/Sao_Paulo", (2018, 2, 17), 25)])
def test_a_day_is_as_long_as_it_is(name, day, hours):
    number = (date(*day) - date(1970, 1, 1)).days
    begin, end = zone(name).begins(np.array([number, number + 1])).tolist()
    assert end - begin == hours * 3_600
    midnight = datetime(*day, tzinfo=info_of(name))
    assert hours == 0 or begin == int(midnight.timestamp())


def test_days_of_all_time():
    """Day by day through ten thousand years, each begins in itself, and none before the last one."""
    for name in ("Europe/Berlin", "Pacific/Apia", "America/St_Johns"):
        own, days = zone(name), np.arange(-719_000, 2_932_000)
        begins = own.begins(days)
        assert (np.diff(begins) >= 0).all()
        there = np.diff(begins) > 0
        assert (own.days(begins[:-1])[there] == days[:-1][there]).all()
        assert (own.days(begins[1:] - 1)[there] == days[:-1][there]).all()


def test_every_zone_reads_and_an_unknown_one_is_none():
    assert len(names()) > 400
    assert len({zone(name).version for name in names()}) > 250
    assert "Factory" not in names()
    with pytest.raises(KeyError):
        zone("../zoneinfo/UTC")
