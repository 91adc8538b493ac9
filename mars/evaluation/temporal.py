"""Parts of dates and times, in UTC and the proleptic Gregorian calendar."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from mars.evaluation.function import Function, Value
from mars.evaluation.to_text import from_timestamp

SECOND = 1_000_000
INSTANT = pa.timestamp("us", "UTC")


def _part(arrow: Callable) -> Function:
    return Function(lambda arguments, type_: arrow(arguments[0]).cast(pa.int32()))


def _date_trunc(arguments: list[Value], type_: str) -> pa.Array:
    unit, column = arguments
    return pc.floor_temporal(column, unit=unit.as_py().lower(), week_starts_monday=True)


def _from_unixtime(arguments: list[Value], type_: str) -> pa.Array:
    return from_timestamp(pc.multiply(arguments[0], SECOND).cast(INSTANT))


def _unix_timestamp(arguments: list[Value], type_: str) -> pa.Array:
    return pc.divide(arguments[0].cast(pa.int64()), SECOND)  # towards zero, as Spark does


FUNCTIONS = {
    "year": _part(pc.year), "month": _part(pc.month), "day": _part(pc.day), "hour": _part(pc.hour),
    "minute": _part(pc.minute), "second": _part(pc.second),
    "to_date": Function(lambda arguments, type_: arguments[0]),
    "date_trunc": Function(_date_trunc, setting=0), "from_unixtime": Function(_from_unixtime),
    "unix_timestamp": Function(_unix_timestamp),
}
