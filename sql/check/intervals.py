"""Arithmetic with times: constant intervals, days, and the parts of a time that extract names."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from mars.model.expressions import Expression, Literal
from sql.check.lowering import Lowering

SIGNS: dict[type[exp.Expr], int] = {exp.Add: 1, exp.Sub: -1}
MICROS = {"microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
          "day": 86_400_000_000, "week": 7 * 86_400_000_000}
MONTHS = {"month": 1, "year": 12}
EXAMPLE = "write t + INTERVAL '1' DAY, or INTERVAL '90' SECOND"
PARTS = {
    "year": ("year", "y", "years", "yr", "yrs"), "month": ("month", "mon", "mons", "months"),
    "day": ("day", "d", "days", "dayofmonth"), "hour": ("hour", "h", "hours", "hr", "hrs"),
    "minute": ("minute", "m", "min", "mins", "minutes"), "second": ("second", "s", "sec", "secs", "seconds"),
    "quarter": ("quarter", "qtr"), "weekofyear": ("week", "w", "weeks"), "yearofweek": ("yearofweek",),
    "dayofweek": ("dayofweek", "dow"), "weekday": ("dayofweek_iso", "dow_iso"), "dayofyear": ("doy",),
}
PART_OF = {word: part for part, words in PARTS.items() for word in words}


def is_interval(node: exp.Expr) -> bool:
    """True for INTERVAL '1' DAY, and for several units, like INTERVAL 1 DAY 2 HOURS."""
    return isinstance(node, exp.Interval) or (
        isinstance(node, exp.Add) and is_interval(node.this) and is_interval(node.expression))


def lower_interval(lowering: Lowering, node: exp.Expr) -> Expression:
    """Refuses an interval that is not added to a time."""
    raise lowering.refuse(node, "an interval stands alone", "it can only be added to a DATE or TIMESTAMP, or taken from it",
                          EXAMPLE)


def lower_shifted(lowering: Lowering, node: exp.Expr) -> Expression:
    """t + INTERVAL and t - INTERVAL. Whole days of a DATE give a DATE."""
    time, interval = (node.expression, node.this) if is_interval(node.this) and isinstance(node, exp.Add) else (
        node.this, node.expression)
    if is_interval(time):
        return lower_interval(lowering, node)
    value, sign = lowering.lower(time), SIGNS[type(node)]
    if value.type not in ("DATE", "TIMESTAMP"):
        raise lowering.refuse(node, f"an interval cannot be added to {value.type}", "it is added to a DATE or TIMESTAMP",
                              "write cast(... AS TIMESTAMP) + INTERVAL '1' DAY")
    units, months, micros = read_interval(lowering, interval)
    if months and value.type == "DATE" and not micros:
        return lowering.call("add_months", (value, Literal(sign * months, "INT")), node)
    if months:
        raise lowering.refuse(interval, "months and years are added to a DATE alone", "their length differs",
                              "write add_months(t, 1), or an interval of days")
    if value.type == "DATE" and units <= {"day", "week"}:
        return lowering.call("date_add", (value, Literal(sign * micros // MICROS["day"], "INT")), node)
    return lowering.call("time_add", (value, Literal(sign * micros, "BIGINT")), node)


def read_interval(lowering: Lowering, node: exp.Expr) -> tuple[set[str], int, int]:
    """(its units, its months, its microseconds)."""
    if isinstance(node, exp.Add):
        one, two = read_interval(lowering, node.this), read_interval(lowering, node.expression)
        return one[0] | two[0], one[1] + two[1], one[2] + two[2]
    unit, value = node.args.get("unit"), node.this.unnest() if node.this else None
    name = unit.name.lower().removesuffix("s") if isinstance(unit, exp.Var) else ""
    text = value.this.strip() if isinstance(value, exp.Literal) else ""
    shape = r"[+-]?[0-9]{1,12}(\.[0-9]{1,6})?" if name == "second" else r"[+-]?[0-9]{1,12}"
    if name not in MICROS and name not in MONTHS:
        raise lowering.refuse(node, "an interval has one number and one unit", "the units are year, month, "
                              + ", ".join(reversed(MICROS)), EXAMPLE)
    if not re.fullmatch(shape, text, re.ASCII):
        raise lowering.refuse(node, "an interval is a constant", "its number is whole, or seconds with a fraction", EXAMPLE)
    months, micros = int(text) * MONTHS[name] if name in MONTHS else 0, int(Decimal(text) * MICROS.get(name, 0))
    if abs(months) > 120_000 or abs(micros) > 10_000 * 366 * MICROS["day"]:
        raise lowering.refuse(node, "the interval is too long", "it has at most 10,000 years", EXAMPLE)
    return {name}, months, micros


def lower_days(lowering: Lowering, operands: tuple[Expression, Expression], node: exp.Expr) -> Expression:
    """DATE + days and DATE - days are date_add and date_sub."""
    first, second = operands
    if first.type == second.type == "DATE" and isinstance(node, exp.Sub):
        raise lowering.refuse(node, "two dates are not subtracted", "that would be an interval",
                             "write datediff(end, start)")
    if first.type == "INT" and isinstance(node, exp.Add):
        first, second = second, first
    if second.type == "INT":
        return lowering.call("date_add" if isinstance(node, exp.Add) else "date_sub", (first, second), node)
    return lowering.call("add" if isinstance(node, exp.Add) else "subtract", operands, node)


def lower_extract(lowering: Lowering, node: exp.Extract) -> Expression:
    """extract(part FROM t) is part(t)."""
    part = PART_OF.get(node.name.lower())
    if part is None:
        raise lowering.refuse(node, f"a time has no part {node.name.lower()}", "",
                              "write year, quarter, month, week, day, dow, doy, hour, minute, second")
    value = lowering.call(part, (lowering.lower(node.expression),), node)
    return lowering.call("add", (value, Literal(1, "INT")), node) if node.name.lower().endswith("_iso") else value
