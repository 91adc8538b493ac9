"""Parts of dates and times, in UTC and the proleptic Gregorian calendar."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import masked, numbers, valid_mask
from mars.algebra.evaluation.function import Function, Value
from mars.algebra.evaluation.patterned import date_format
from mars.algebra.evaluation.to_text import from_timestamp

SECOND = 1_000_000
INSTANT = pa.timestamp("us", "UTC")
# The calendar repeats itself, weekdays too.
CYCLE_YEARS, CYCLE_DAYS = 400, 146_097
CYCLE = CYCLE_DAYS * 86_400 * SECOND


def _part(arrow: Callable) -> Function:
    return Function(lambda arguments, type_: arrow(arguments[0]).cast(pa.int32()))


def _date_part(arrow: Callable) -> Function:
    """A part of DATEs that no cycle changes."""
    return _part(lambda column: arrow(_shifted(column)[0]))


def _shifted(column: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """(the DATEs or TIMESTAMPs moved into the years 1970 to 2369, by how many cycles): Arrow keeps a year in 16 bits."""
    values = numbers(column)
    cycle = values.dtype.type(CYCLE if pa.types.is_timestamp(column.type) else CYCLE_DAYS)
    cycles = values // cycle
    if not cycles.any():
        return column, cycles
    return masked(values - cycles * cycle, valid_mask(column), pa.from_numpy_dtype(values.dtype)).cast(column.type), cycles


def _year(column: pa.Array, arrow: Callable) -> pa.Array:
    near, cycles = _shifted(column)
    return pc.add(arrow(near).cast(pa.int32()), pa.array(cycles * CYCLE_YEARS, pa.int32()))


def _date_trunc(arguments: list[Value], type_: str) -> pa.Array:
    """NULL if the unit began before the first TIMESTAMP."""
    unit, column = arguments
    near, cycles = _shifted(column)
    cut = pc.floor_temporal(near, unit=unit.as_py().lower(), week_starts_monday=True)
    if near is column:
        return cut
    values = numbers(cut) + cycles * CYCLE  # wraps if it is too early
    began = values <= numbers(column)
    valid = valid_mask(column)
    return masked(values, began if valid is None else began & valid, pa.int64()).cast(INSTANT)


def _from_unixtime(arguments: list[Value], type_: str) -> pa.Array:
    times = pc.multiply(arguments[0], SECOND).cast(INSTANT)
    return from_timestamp(times) if len(arguments) == 1 else date_format(times, arguments[1].as_py())


def _unix_timestamp(arguments: list[Value], type_: str) -> pa.Array:
    return pc.divide(arguments[0].cast(pa.int64()), SECOND)  # towards zero, as Spark does


FUNCTIONS = {
    "dayofweek": _date_part(lambda days: pc.day_of_week(days, count_from_zero=False, week_start=7)),
    "weekday": _date_part(pc.day_of_week), "dayofyear": _date_part(pc.day_of_year), "quarter": _date_part(pc.quarter),
    "weekofyear": _date_part(pc.iso_week), "yearofweek": Function(lambda arguments, type_: _year(arguments[0], pc.iso_year)),
    "year": Function(lambda arguments, type_: _year(arguments[0], pc.year)),
    "month": _date_part(pc.month), "day": _date_part(pc.day), "hour": _part(pc.hour),
    "minute": _part(pc.minute), "second": _part(pc.second),
    "to_date": Function(lambda arguments, type_: arguments[0]),
    "date_trunc": Function(_date_trunc, setting=0), "from_unixtime": Function(_from_unixtime, setting=1),
    "unix_timestamp": Function(_unix_timestamp),
}
