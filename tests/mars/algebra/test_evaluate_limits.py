"""Values at the ends of their types: what Spark gives there, or NULL; never an exception, and never something else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from mars.algebra.evaluate import evaluate
from mars.model import types
from mars.model.expressions import Call, Column, Expression, Literal

SECOND, MAX = 1_000_000, 2**63 - 1
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
DAY = 86_400 * SECOND
CYCLE = 146_097 * DAY  # 400 years


def cast(value: object, source: str, target: str) -> object:
    column = pa.array([value], types.to_arrow(source))
    return evaluate(Call("cast", (Column("a", source),), target), {"a": column}, 1)[0].as_py()


def both(name: str, value: int, type_: str, *before: Expression, source: str = "TIMESTAMP") -> object:
    """The function of one time, in microseconds or days; it is the same of a constant."""
    ours = of_time(name, value, type_, before, source)
    if source == "TIMESTAMP" and value > SECOND - MAX:
        seconds = Call("cast", (Call("cast", (Literal(str(value // SECOND), "STRING"),), "BIGINT"),), source)
        of_constant = evaluate(Call(name, (*before, seconds), type_), {}, 1)[0]
        whole = of_time(name, value // SECOND * SECOND, type_, before, source)
        assert (of_constant.cast(pa.int64()) if type_ == "TIMESTAMP" else of_constant).as_py() == whole
    return ours


def of_time(name: str, value: int, type_: str, before: tuple[Expression, ...], source: str) -> object:
    column = pa.array([value, None], pa.int32() if source == "DATE" else pa.int64()).cast(types.to_arrow(source))
    ours = evaluate(Call(name, (*before, Column("t", source)), type_), {"t": column}, 2)
    ours = ours.cast(pa.int64()) if type_ == "TIMESTAMP" else ours
    assert ours[1].as_py() is None
    return ours[0].as_py()


def test_milliseconds_that_were_taken_for_seconds_are_in_the_year_that_spark_says() -> None:
    micros = 1_700_000_000_000 * SECOND
    assert [both(part, micros, "INT") for part in ("hour", "minute", "second")] == [22, 13, 20]
    assert [both(part, micros // DAY, "INT", source="DATE") for part in ("year", "month", "day")] == [55840, 11, 8]
    assert both("date_trunc", micros, "TIMESTAMP", Literal("day", "STRING")) == micros // DAY * DAY


@pytest.mark.parametrize("cycles", [-730, -80, -20, -5, -1, 0, 1, 19, 80, 730])
def test_the_calendar_repeats_every_400_years(cycles: int) -> None:
    for near in (datetime(2024, 2, 29, 12, 34, 56, 789_012, UTC), datetime(1999, 12, 31, 23, 59, 59, 999_999, UTC),
                 datetime(2000, 1, 1, tzinfo=UTC)):
        micros = (near - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        for part in ("hour", "minute", "second"):
            assert both(part, micros + cycles * CYCLE, "INT") == getattr(near, part)
        for part in ("year", "month", "day"):
            moved = 400 * cycles if part == "year" else 0
            assert both(part, (micros + cycles * CYCLE) // DAY, "INT", source="DATE") == getattr(near, part) + moved
        for unit in UNITS:
            cut = both("date_trunc", micros, "TIMESTAMP", Literal(unit, "STRING"))
            assert both("date_trunc", micros + cycles * CYCLE, "TIMESTAMP", Literal(unit, "STRING")) == cut + cycles * CYCLE


def test_the_first_and_last_times() -> None:
    assert both("date_trunc", MAX, "TIMESTAMP", Literal("hour", "STRING")) == MAX // (3600 * SECOND) * 3600 * SECOND
    assert both("date_trunc", -MAX - 1, "TIMESTAMP", Literal("microsecond", "STRING")) == -MAX - 1
    assert both("date_trunc", -MAX - 1, "TIMESTAMP", Literal("day", "STRING")) is None
    assert both("date_trunc", -MAX - 1, "TIMESTAMP", Literal("year", "STRING")) is None
    first_day = -MAX // DAY
    assert both("year", first_day, "INT", source="DATE") == -290308
    column = pa.array([first_day, first_day + 1], pa.int32()).cast(pa.date32())
    instants = evaluate(Call("cast", (Column("d", "DATE"),), "TIMESTAMP"), {"d": column}, 2).cast(pa.int64())
    assert instants.to_pylist() == [None, (first_day + 1) * DAY]


def test_dates_have_a_text_in_the_years_1_to_9999() -> None:
    days = pa.array([(day - date(1970, 1, 1)).days + step for day, step in (
        (date.min, -1), (date.min, 0), (date.max, 0), (date.max, 1), (date.max, 10**7))], pa.int32())
    texts = evaluate(Call("cast", (Column("d", "DATE"),), "STRING"), {"d": days.cast(pa.date32())}, 5)
    assert texts.to_pylist() == [None, "0001-01-01", "9999-12-31", None, None]


def test_constants_beyond_the_year_9999_are_compared() -> None:
    far = Call("cast", (Literal(1_767_225_600_000, "BIGINT"),), "TIMESTAMP")
    column = pa.array([0, 1_767_225_600_000 * SECOND], pa.int64()).cast(pa.timestamp("us", "UTC"))
    for function, wanted in (("in", [False, True]), ("eq", [False, True]), ("lt", [True, False])):
        ours = evaluate(Call(function, (Column("t", "TIMESTAMP"), far), "BOOLEAN"), {"t": column}, 2)
        assert ours.to_pylist() == wanted


NINES = "9" * 38


@pytest.mark.parametrize(("text", "type_", "value"), [
    ("9" * 1200, "DECIMAL(38,0)", None), ("0" * 1200 + "7", "DECIMAL(38,0)", 7), ("0." + "9" * 1200, "DECIMAL(5,2)", 1),
    ("1" * 38 + "." + "5" * 3000, "DECIMAL(38,0)", Decimal("1" * 37 + "2")),
    (f"9.{NINES[1:]}e37", "DECIMAL(38,0)", Decimal(NINES)), ("00000" + NINES, "DECIMAL(38,0)", Decimal(NINES)),
    ("-00000" + NINES, "DECIMAL(38,0)", Decimal("-" + NINES)), (NINES + ".5", "DECIMAL(38,0)", None),
    ("1e-1000", "DECIMAL(38,10)", 0), ("1e38", "DECIMAL(38,0)", None), ("1e37", "DECIMAL(38,0)", Decimal(10) ** 37),
    ("0e39", "DECIMAL(38,0)", None), ("1e99999999999999999999", "DECIMAL(38,0)", None),
    ("1e-99999999999999999999", "DECIMAL(38,0)", None), (f"0.{NINES}4", "DECIMAL(38,38)", Decimal(f"0.{NINES}")),
])
def test_text_of_any_length_as_decimal(text: str, type_: str, value: object) -> None:
    assert cast(text, "STRING", type_) == value
