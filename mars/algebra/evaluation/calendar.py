"""Days and the proleptic Gregorian calendar, and arithmetic with days, months and microseconds. What leaves the range of
DATE or TIMESTAMP is NULL; days and differences of days wrap as in Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import masked, numbers
from mars.algebra.evaluation.function import Function, Value, all_valid, arrays

LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
INSTANT = pa.timestamp("us", "UTC")
INT32 = np.iinfo(np.int32)


def civil(days: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(year, month, day) of days since 1970, as int64."""
    shifted = days.astype(np.int64) + 719_468  # since 0000-03-01, so that a leap day ends its year
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = np.where(month < 10, month + 3, month - 9)
    return year + era * 400 + (month <= 2), month, day


def days_of(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Days since 1970 of a date, as int64; a month is 1 to 12."""
    year = year - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def is_leap(year: np.ndarray) -> np.ndarray:
    """bool[n]: has the year 366 days?"""
    return (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))


def month_length(year: np.ndarray, month: np.ndarray) -> np.ndarray:
    """The number of days of a month."""
    return LENGTHS[month - 1] + ((month == 2) & is_leap(year))


def _dates(days: np.ndarray, valid: np.ndarray | None) -> pa.Array:
    """DATEs of int64 days, NULL beyond their range."""
    known = (days >= INT32.min) & (days <= INT32.max)
    valid = known if valid is None else known & valid
    return masked(np.where(known, days, 0).astype(np.int32), valid, pa.int32()).cast(pa.date32())


def _moved_days(arguments: list[Value], sign: int) -> pa.Array:
    columns = arrays(arguments)
    days = (numbers(columns[0]).astype(np.int64) + sign * numbers(columns[1]).astype(np.int64)).astype(np.int32)
    return masked(days, all_valid(columns), pa.int32()).cast(pa.date32())


def _datediff(arguments: list[Value], type_: str) -> pa.Array:
    return pc.subtract(*(argument.cast(pa.int32()) for argument in arguments))


def _add_months(arguments: list[Value], type_: str) -> pa.Array:
    columns = arrays(arguments)
    year, month, day = civil(numbers(columns[0]))
    months = year * 12 + month - 1 + numbers(columns[1])
    year, month = months // 12, months % 12 + 1
    return _dates(days_of(year, month, np.minimum(day, month_length(year, month))), all_valid(columns))


def _last_day(arguments: list[Value], type_: str) -> pa.Array:
    year, month, _ = civil(numbers(arguments[0]))
    return _dates(days_of(year, month, month_length(year, month)), all_valid(arguments))


def _trunc(arguments: list[Value], type_: str) -> pa.Array:
    days, unit = numbers(arguments[0]).astype(np.int64), arguments[1].as_py()
    if unit == "week":
        return _dates(days - (days + 3) % 7, all_valid(arguments[:1]))  # 1970 began on a Thursday
    year, month, _ = civil(days)
    first = {"year": np.ones_like(month), "quarter": (month - 1) // 3 * 3 + 1, "month": month}[unit]
    return _dates(days_of(year, first, np.ones_like(month)), all_valid(arguments[:1]))


def _time_add(arguments: list[Value], type_: str) -> pa.Array:
    columns = arrays(arguments)
    times, micros = numbers(columns[0]), numbers(columns[1])
    moved, valid = times + micros, all_valid(columns)
    fits = (moved < times) == (micros < 0)
    return masked(moved, fits if valid is None else fits & valid, pa.int64()).cast(INSTANT)


FUNCTIONS = {
    "date_add": Function(lambda arguments, type_: _moved_days(arguments, 1)),
    "date_sub": Function(lambda arguments, type_: _moved_days(arguments, -1)),
    "datediff": Function(_datediff), "add_months": Function(_add_months), "last_day": Function(_last_day),
    "trunc": Function(_trunc, setting=1), "time_add": Function(_time_add),
}
