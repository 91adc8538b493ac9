"""Forms of expressions and clauses beside Spark: what is read has its value, and what it does not read is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException

from mars.errors import SqlError
from mars.evaluate import evaluate
from mars.plan import Stream
from sql.compile import compile_select
from sql.parse import parse
from sql.spark import spark_sql

NEITHER = [
    "sip FROM tuples WHERE type BETWEEN SYMMETRIC 10 AND 1", "sip FROM tuples WHERE type BETWEEN ASYMMETRIC 1 AND 10",
    "sip, bytes FROM tuples ORDER BY bytes LIMIT 10 WITH TIES", "sip, bytes FROM tuples ORDER BY bytes LIMIT 10 PERCENT",
    "sip FROM tuples LIMIT 3 BY sip", "sip FROM tuples LIMIT 3 ROWS ONLY", "* EXCEPT sip FROM tuples",
    "* RENAME sip AS x FROM tuples", "* ILIKE 'b%' FROM tuples", "cast(seen AS STRING FORMAT 'yyyy') FROM tuples",
    "cast(sip AS INT DEFAULT 5 ON CONVERSION ERROR) FROM tuples", "sip, count(*) FROM tuples GROUP BY DISTINCT sip",
    "nosuch.tuples.sip FROM tuples", "sip FROM tuples WHERE seen > TIMESTAMP '2026-02-30 00:00:00'",
    "sip FROM tuples WHERE d > DATE '2026-02-29'", "INT '5' FROM tuples", "STRING 'x' FROM tuples", "REAL '5' FROM tuples",
    "cast(seen AS TIME) FROM tuples", "cast(sip AS DATETIME) FROM tuples",
    "cast(sip AS UUID) FROM tuples", "nosuch.sip, count(*) FROM tuples GROUP BY sip",
    "upper(nosuch.sip) FROM tuples GROUP BY upper(sip)", "sip FROM tuples GROUP BY sip HAVING nosuch.sip > 'a'",
    "sip FROM tuples ORDER BY nosuch.sip", "sip AS x FROM tuples ORDER BY tuples.x"]


@pytest.mark.parametrize("rest", NEITHER)
def test_what_spark_does_not_read_is_refused(spark, flows: Stream, rest: str) -> None:
    with pytest.raises((ParseException, AnalysisException)):
        spark.sql(f"SELECT {rest}").collect()
    with pytest.raises(SqlError):
        compile_select(parse(f"SELECT {rest}"), flows, continuous=False)


VALUES = ["type || (bytes - 1)", "bytes - 1 || type", "type || bytes * 2 || sip", "(type || sip) || (bytes + 1)",
          "DATE '2026-02-28'", "timestamp'2026-02-28 01:02:03.5'", "TIMESTAMP '2026-02-28T01:02:03+02:00'",
          "cast('2026-02-29' AS DATE)", "cast('2026-02-30 00:00:00' AS TIMESTAMP)", "d > cast('2026-02-29' AS DATE)",
          "sip IS DISTINCT FROM lower(dip)", "lower('A') IS NOT DISTINCT FROM lower(sip)",
          "extract(hour FROM date_trunc('day', seen))", "extract(day FROM to_date(seen))", "price::DECIMAL(12, 3)",
          "ratio :: decimal(10,2)::STRING", "bytes + '7'::DECIMAL(3, 1)",
          *(f"cast({x} AS FLOAT) {test}" for x in ("0.1", "1.5", "'NaN'", "1e39")
            for test in ("= '0.1'", "> ' 1.5 '", "< '1e300'", "<=> 'NaN'", "IN (0, 1.5)", "IN (type, 0)", "IN (ratio, 0)"))]


def test_what_is_read_has_the_value_that_spark_gives_it(spark, flows: Stream) -> None:
    """As it is written, as the plan says it in Spark's SQL, and as Mars itself calculates it."""
    written = ", ".join(f"{value} AS c{i}" for i, value in enumerate(VALUES))
    plan = compile_select(parse(f"SELECT {written} FROM tuples"), flows, continuous=False)
    [row] = spark.sql(f"SELECT {written} FROM tuples").toArrow().to_pylist()
    [same] = spark.sql(spark_sql(plan, flows, "tuples")).toArrow().to_pylist()
    tuples = spark.sql("SELECT * FROM tuples").toArrow().combine_chunks()
    columns = {name: pa.concat_arrays(tuples[name].chunks) for name in plan.columns}
    ours = {key.name: evaluate(key.expression, columns, 1).to_pylist()[0] for key in plan.keys}
    told = [(value, *values) for value, *values in zip(VALUES, row.values(), same.values(), ours.values(), strict=True)]
    assert [line for line in told if not line[1] == line[2] == line[3]] == []
