"""Functions of dates and times, and the words for units and parts that they take."""

from __future__ import annotations

from collections.abc import Callable

from mars.algebra import coercion, datetime_patterns
from mars.algebra.coercion import TypeMismatch
from mars.algebra.scalars.function import Function
from mars.algebra.signatures import Rule, Signature, fixed
from mars.model.expressions import Expression, Literal

UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
DATE_UNITS = UNITS[:4]
OTHER_UNITS = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}


def unit_of(written: object) -> str:
    """The unit that a word means: `unit_of('MON')` is month."""
    lower = str(written).lower()
    return OTHER_UNITS.get(lower, lower)


def _cut(place: int, units: tuple[str, ...], type_: str, spelling: str) -> Rule:
    """The rule of a function that cuts a time down to a constant unit, its argument at `place`."""
    def rule(arguments: tuple[Expression, ...]) -> Signature:
        unit, value = arguments[place], arguments[1 - place]
        if not isinstance(unit, Literal) or unit_of(unit.value) not in units:
            raise TypeMismatch("the unit must be one of " + ", ".join(units), f"write {spelling}")
        coercion.check_implicit(value.type, type_)
        return (("STRING", type_) if place == 0 else (type_, "STRING")), type_
    return rule


def _patterned(source: str, result: str, read: Callable[[str], list[datetime_patterns.Part]]) -> Rule:
    """The rule of a function of a value and, if it is given, a constant pattern."""
    def rule(arguments: tuple[Expression, ...]) -> Signature:
        coercion.check_implicit(arguments[0].type, source)
        for pattern in arguments[1:]:
            if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
                raise TypeMismatch("the pattern must be a constant text", "write it in single quotes: 'yyyy-MM-dd'")
            read(pattern.value)
        return (source, "STRING")[:len(arguments)], result
    return rule


FUNCTIONS = (
    Function("year", 1, 1, fixed(("DATE",), "INT"), "year(d)", "year of a date or time (UTC)"),
    Function("month", 1, 1, fixed(("DATE",), "INT"), "month(d)", "month, 1 to 12"),
    Function("day", 1, 1, fixed(("DATE",), "INT"), "day(d)", "day of the month, 1 to 31"),
    Function("hour", 1, 1, fixed(("TIMESTAMP",), "INT"), "hour(t)", "hour of a time (UTC), 0 to 23"),
    Function("minute", 1, 1, fixed(("TIMESTAMP",), "INT"), "minute(t)", "minute, 0 to 59"),
    Function("second", 1, 1, fixed(("TIMESTAMP",), "INT"), "second(t)", "second, 0 to 59"),
    Function("to_date", 1, 2, fixed(("DATE",), "DATE"), "to_date(t[, pattern])", "the date of a time or text"),
    Function("date_trunc", 2, 2, _cut(0, UNITS, "TIMESTAMP", "date_trunc('hour', t)"), "date_trunc('hour', t)",
             "the time cut down to a unit (UTC)"),
    Function("from_unixtime", 1, 2, _patterned("BIGINT", "STRING", datetime_patterns.written),
             "from_unixtime(seconds[, pattern])", "seconds since the epoch as 'yyyy-MM-dd HH:mm:ss', or by a pattern (UTC)"),
    Function("unix_timestamp", 1, 2, fixed(("TIMESTAMP",), "BIGINT"), "unix_timestamp(t[, pattern])",
             "whole seconds since the epoch"),
    Function("dayofweek", 1, 1, fixed(("DATE",), "INT"), "dayofweek(d)", "day of the week, 1 (Sunday) to 7"),
    Function("weekday", 1, 1, fixed(("DATE",), "INT"), "weekday(d)", "day of the week, 0 (Monday) to 6"),
    Function("dayofyear", 1, 1, fixed(("DATE",), "INT"), "dayofyear(d)", "day of the year, 1 to 366"),
    Function("quarter", 1, 1, fixed(("DATE",), "INT"), "quarter(d)", "quarter, 1 to 4"),
    Function("weekofyear", 1, 1, fixed(("DATE",), "INT"), "weekofyear(d)", "week by ISO 8601, 1 to 53"),
    Function("yearofweek", 1, 1, fixed(("DATE",), "INT"), "yearofweek(d)", "year to which the ISO 8601 week belongs"),
    Function("trunc", 2, 2, _cut(1, DATE_UNITS, "DATE", "trunc(d, 'month')"), "trunc(d, 'month')",
             "the date cut down to a unit"),
    Function("date_add", 2, 2, fixed(("DATE", "INT"), "DATE"), "date_add(d, days)", "the date so many days later"),
    Function("date_sub", 2, 2, fixed(("DATE", "INT"), "DATE"), "date_sub(d, days)", "the date so many days earlier"),
    Function("datediff", 2, 2, fixed(("DATE", "DATE"), "INT"), "datediff(end, start)", "number of days from start to end"),
    Function("add_months", 2, 2, fixed(("DATE", "INT"), "DATE"), "add_months(d, months)",
             "the date so many months later, or the last day of that month"),
    Function("last_day", 1, 1, fixed(("DATE",), "DATE"), "last_day(d)", "the last day of its month"),
    Function("time_add", 2, 2, fixed(("TIMESTAMP", "BIGINT"), "TIMESTAMP"), "t + INTERVAL '1' DAY",
             "the time so much later; the interval is a constant"),
    Function("date_format", 2, 2, _patterned("TIMESTAMP", "STRING", datetime_patterns.written), "date_format(t, pattern)",
             "the time by a pattern: 'yyyy-MM-dd HH:mm'"),
    Function("to_timestamp", 1, 2, _patterned("STRING", "TIMESTAMP", datetime_patterns.read), "to_timestamp(s[, pattern])",
             "the time that a text is, read by a pattern"),
)
