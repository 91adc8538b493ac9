"""Spark agrees: with the type of every expression that we accept, and with the plain Spark SQL of every plan."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest

from mars.errors import SqlError
from mars.model.plan import QueryPlan, Stream
from sql.check.compile import compile_select
from sql.read.parse import parse
from sql.say.spark import spark_sql
from sql.statements import CreateQuery

pytestmark = pytest.mark.slow
VALUES = [
    "sip", "type", "bytes", "price", "ratio", "ok", "d", "seen", "cast(ratio AS FLOAT)",
    "cast(price AS DECIMAL(38, 10))", "cast(price AS DECIMAL(38, 0))", "cast(price AS DECIMAL(38, 20))",
    "1", "1.5", "1e0", "'1'", "3000000000"]
BINARY = [
    "{a} + {b}", "{a} * {b}", "{a} / {b}", "{a} % {b}", "{a} - {b}", "{a} div {b}", "{a} = {b}", "{a} < {b}",
    "{a} <=> {b}", "coalesce({a}, {b})", "greatest({a}, {b})", "nullif({a}, {b})",
    "CASE WHEN ok THEN {a} ELSE {b} END", "{a} IN ({b}, NULL)"]
UNARY = [
    "-{a}", "upper({a})", "length({a})", "abs({a})", "sign({a})", "round({a})", "round({a}, 1)",
    "round({a}, -1)", "floor({a})", "ceil({a})", "floor(cast({a} AS DECIMAL(9, 0)))",
    "sqrt({a})", "year({a})", "hour({a})", "to_date({a})",
    "date_trunc('day', {a})", "from_unixtime({a})", "unix_timestamp({a})", "isnan({a})", "substring({a}, 1, 2)",
    "left({a}, 1)", "cast({a} AS STRING)", "cast({a} AS INT)", "cast({a} AS DOUBLE)",
    "cast({a} AS DECIMAL(12, 3))", "cast({a} AS TIMESTAMP)", "cast({a} AS DATE)", "{a} IS NULL"]
AGGREGATES = [
    "sum({a})", "avg({a})", "min({a})", "max({a})", "var_pop({a})", "std({a})", "count(DISTINCT {a})",
    "first({a})"]


def accepted(expressions: list[str], stream: Stream) -> list[str]:
    """Those that we do not refuse."""
    found = []
    for expression in dict.fromkeys(expressions):
        try:
            plan_of([expression], stream)
            found.append(expression)
        except SqlError:
            continue
    return found


def plan_of(expressions: list[str], stream: Stream) -> QueryPlan:
    columns = ", ".join(f"{e} AS c{i}" for i, e in enumerate(expressions))
    return compile_select(parse(f"SELECT {columns} FROM flows"), stream, continuous=False)


def types_of(spark, sql: str) -> list[str]:
    return [field.dataType.simpleString().upper() for field in spark.sql(sql).schema.fields]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["tuple", "row"])
def test_types_are_those_of_spark(spark, flows: Stream, kind: str) -> None:
    twos = combinations_with_replacement(VALUES, 2)
    pairs = [t.format(a=a, b=b) for t, (a, b) in product(BINARY, twos)]
    scalars = pairs + [t.format(a=a) for t, a in product(UNARY, VALUES)]
    aggregates = [t.format(a=a) for t, a in product(AGGREGATES, VALUES)]
    expressions = accepted(scalars if kind == "tuple" else aggregates, flows)
    assert len(expressions) > (800 if kind == "tuple" else 80)
    plan = plan_of(expressions, flows)
    ours = [output.type for output in plan.presentation.outputs]
    written = ", ".join(f"{e} AS c{i}" for i, e in enumerate(expressions))
    theirs = types_of(spark, f"SELECT {written} FROM tuples")
    assert [t for t in zip(expressions, ours, theirs, strict=True) if t[1] != t[2]] == []
    assert types_of(spark, spark_sql(plan, flows, "tuples")) == ours


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "plans").glob("*.sql")), ids=lambda path: path.stem)
def test_the_spark_sql_of_a_plan_runs_and_has_its_columns(spark, flows: Stream, path: Path) -> None:
    statement = parse(path.read_text())
    continuous = isinstance(statement, CreateQuery)
    plan = compile_select(statement.select if continuous else statement, flows, continuous)
    frame = spark.sql(spark_sql(plan, flows, "tuples"))
    frame.collect()
    window = ["window_start", "window_end"] if plan.aggregation.window else []
    assert frame.columns == window + [output.name for output in plan.presentation.outputs]
