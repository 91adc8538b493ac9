"""Time zones: which day of a zone an instant is in, and when a day begins, over whole arrays. Pure but for reading the data.

The data are those of the package `tzdata`, of which the lock names the version. Each machine has its own data too, but a
machine's updates come when they come, and days of two kinds would be in one window.
"""

from __future__ import annotations

import zlib
from datetime import datetime
from functools import cache
from importlib.resources import files
from io import BytesIO
from zoneinfo import ZoneInfo

import numpy as np

DAY_S = 86_400
WEEK_S = 7 * DAY_S
CYCLE_S = 146_097 * DAY_S  # 400 years: then a rule gives the same dates again
END_S = 253_402_300_800  # the year 10000
HEADER, COUNTS_AT = 44, 20  # of a TZif file (RFC 9636)
FAR = 2**62


class Zone:
    """The days of one zone, by the number of their date: 0 is 1970-01-01. A day begins at the first instant at which the
    zone's clocks show its date, or a later one: where midnight is left out, at the time after it. What is repeated of a day
    after the next one has begun belongs to that next one. A date that a zone left out has no instant."""

    def __init__(self, changes: np.ndarray, offsets: np.ndarray) -> None:
        """`changes` int64[n] are the instants, in s, at which the offset from UTC becomes offsets[i + 1]."""
        self._changes, self._offsets = changes, offsets
        self._since = np.append(-FAR, changes)
        lasts = np.append((changes - 1 + offsets[:-1]) // DAY_S, FAR)
        self._reached = np.maximum.accumulate(lasts)  # the last day that has begun before the offset changes again
        self.version = zlib.crc32(np.concatenate([changes, offsets]).astype("<i8").tobytes())

    def days(self, seconds: np.ndarray) -> np.ndarray:
        """The day of each instant."""
        at = np.searchsorted(self._changes, seconds, "right")
        days = (seconds + self._offsets[at]) // DAY_S
        return np.maximum(days, np.append(-FAR, self._reached)[at])

    def begins(self, days: np.ndarray) -> np.ndarray:
        """The instant at which each day begins."""
        at = np.searchsorted(self._reached, days, "left")
        return np.maximum(self._since[at], days * DAY_S - self._offsets[at])


def names() -> list[str]:
    """All zones that there are."""
    return [name for name in (files("tzdata") / "zones").read_text().split() if name != "Factory"]


@cache
def zone(name: str) -> Zone:
    """The zone of that exact name; KeyError if there is none."""
    if name not in names():
        raise KeyError(name)
    data = (files("tzdata") / "zoneinfo").joinpath(*name.split("/")).read_bytes()
    changes, offsets, rule = _table(data)
    if "," in rule:
        more, then = _ruled(ZoneInfo.from_file(BytesIO(data)), int(changes[-1]), int(offsets[-1]))
        changes, offsets = np.append(changes, more), np.append(offsets, then)
    return Zone(changes, offsets)


def _table(data: bytes) -> tuple[np.ndarray, np.ndarray, str]:
    """(changes, offsets before and after each of them, the rule for later years) of a TZif file of version 2 or later."""
    assert data[:4] == b"TZif", data[:4]
    assert data[4:5] >= b"2", data[:5]

    def counts(at: int) -> list[int]:
        return np.frombuffer(data, ">i4", 6, at + COUNTS_AT).tolist()

    utc, standard, leaps, times, types, letters = counts(0)
    second = HEADER + 5 * times + 6 * types + letters + 8 * leaps + standard + utc  # the first table has 32 bits
    utc, standard, leaps, times, types, letters = counts(second)
    at = second + HEADER
    changes = np.frombuffer(data, ">i8", times, at).astype(np.int64)
    numbers = np.frombuffer(data, np.uint8, times, at + 8 * times)
    kinds = np.frombuffer(data, np.dtype([("offset", ">i4"), ("summer", "u1"), ("name", "u1")]), types, at + 9 * times)
    offsets = kinds["offset"].astype(np.int64)[np.append(0, numbers)]
    end = at + 9 * times + 6 * types + letters + 12 * leaps + standard + utc
    return changes, offsets, data[end:].decode().strip()


def _ruled(info: ZoneInfo, after: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """The changes that a rule gives from an instant on, and the offsets after them. A rule has two changes a year at
    most, so the weeks of 400 years show all of them."""
    found: list[tuple[int, int]] = []
    for end in range(after + WEEK_S, after + CYCLE_S + WEEK_S, WEEK_S):
        if (now := _offset(info, end)) != offset:
            low, high = end - WEEK_S, end
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(info, middle) == offset else (low, middle)
            found.append((high, now))
            offset = now
    cycles = np.arange((END_S - after) // CYCLE_S + 1)[:, None] * CYCLE_S
    changes, offsets = np.array(found, np.int64).reshape(-1, 2).T
    return (cycles + changes).ravel(), np.tile(offsets, len(cycles))


def _offset(info: ZoneInfo, at: int) -> int:
    offset = datetime.fromtimestamp(at, info).utcoffset()
    assert offset is not None, at
    return int(offset.total_seconds())
