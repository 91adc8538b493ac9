"""Many different queries over one stream, whose counts all follow from the count of (sip, type, minute); pure.

Each has other aggregates too, which make it cost what a real one costs; their values are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice, product
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.generator import TYPES

KEYS = (("sip", "type"), ("type",), ("sip",), ())
WINDOWS_S = (60, 120, 180, 300)
WATERMARK_S = 5
OTHERS = "sum(bytes) AS total, max(packets) AS most, avg(duration) AS mean, count(DISTINCT dip) AS dips"


class Wanted(Protocol):
    """A query, and the answer that it must give."""

    def sql(self, name: str, stream: str) -> str:
        """The statement that creates it."""

    def expected(self, counted: pa.Table) -> pa.Table:
        """Its counts, from the count by sip, type and timestamp."""


@dataclass(frozen=True)
class Shape:
    """What one query groups by, in which windows, and which type alone it counts, if one."""

    keys: tuple[str, ...]
    window_s: int
    only: str | None

    def sql(self, name: str, stream: str) -> str:
        """The statement that creates it."""
        columns = ", ".join((*self.keys, "timestamp"))
        where = f" WHERE type = '{self.only}'" if self.only else ""
        return (f"CREATE QUERY {name} AS SELECT {columns}, count(*), {OTHERS} FROM {stream}{where} GROUP BY {columns} "
                f"WINDOWING {self.window_s} s WATERMARK {WATERMARK_S} s FROM EARLIEST")

    def expected(self, counted: pa.Table) -> pa.Table:
        """Its counts, from the count by sip, type and timestamp, the minute's start in seconds."""
        if self.only:
            counted = counted.filter(pc.equal(counted["type"], self.only))
        minutes = counted["timestamp"]
        start = pc.multiply(pc.divide(minutes, self.window_s), self.window_s)
        counted = counted.set_column(counted.column_names.index("timestamp"), "timestamp", start)
        sums = counted.group_by([*self.keys, "timestamp"]).aggregate([("count", "sum")])
        return sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])


def shapes(count: int) -> list[Shape]:
    """So many shapes; they repeat after all are used."""
    return list(islice(cycle(_every()), count))


def _every() -> Iterator[Shape]:
    for only, window_s, keys in product((None, *TYPES), WINDOWS_S, KEYS):
        yield Shape(keys, window_s, only)
