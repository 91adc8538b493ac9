"""Forms of expressions and clauses beside Spark: what is read has its value, and what it does not read is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException

from mars.algebra.evaluate import evaluate
from mars.errors import SqlError
from mars.model.plan import Stream
from sql.check.compile import compile_select
from sql.read.parse import parse
from sql.say.spark import spark_sql

pytestmark = pytest.mark.slow
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

# Each has two or more operators that could be read in another order.
ORDERS = """!ok = false ; NOT ok = false ; -type * 2 ; - type || 'x' ; ok = true IS NULL ; type = 6 = true ; - - type
type + 1 BETWEEN 3 AND 9 AND ok ; NOT ok IS NULL ; NOT type IN (1) OR ok ; NOT sip LIKE 'a' AND ok ; type > 1 IS NOT NULL
type % 4 * 2 ; type / 4 % 3 ; type div 4 * 2 ; type * 5 div 4 ; -2 % 4 ; bytes - -1 ; ok OR NOT ok AND false
sip || dip LIKE 'ab' ; sip || dip = 'ab' ; type <=> 6 = true ; 1 = 1 IS NOT DISTINCT FROM true ; '1' || 2::int
type NOT BETWEEN 1 AND 2 + 3 ; price::int::string || 'x' ; type = 6 AND ok OR false ; type < 7 = ok ; type != 5 <=> ok
NOT ok = ok IS NULL ; sip || 'b' RLIKE 'ab' ; 1 + 2 || 3 ; 1 || 2 * 3 ; type + bytes * 2 - 3 % 2 ; NOT ok IS TRUE
type IN (1, 6) AND NOT ok IS NULL ; ok AND type BETWEEN 1 AND 10 OR false ; sip LIKE 'a!%' ESCAPE '!' OR ok
type - 1 - 2 - 3 ; type / 2 / 3 ; 2 * type / 4 * 3 ; bytes % 7 % 4 ; ok IS NOT DISTINCT FROM type = 6
NOT type = 6 IS DISTINCT FROM ok ; sip = 'a' IS TRUE ; CASE type WHEN 6 THEN sip || dip ELSE 'z' END LIKE '%b'
cast(type AS STRING) || 1 = '61' ; NOT type < 7 ; type IN (1) OR type IN (6) ; ok = (sip LIKE 'a') ; (sip LIKE 'a') = ok
(type = 6) IN (true) ; (type > 5) BETWEEN false AND true ; ok = (NOT type IN (7)) ; sip LIKE 'b' OR type BETWEEN 6 AND 6"""
TIMES = """seen + INTERVAL '1' DAY ; seen - INTERVAL 90 SECONDS ; INTERVAL 1 HOUR + seen ; d + INTERVAL '1' DAY
d - INTERVAL 2 WEEKS ; d + INTERVAL 1 HOUR ; d - INTERVAL '1' MONTH ; d + INTERVAL 2 YEARS
seen + INTERVAL '1.5' SECOND ; seen - INTERVAL '-1' MINUTE ; seen + INTERVAL 1 DAY 2 HOURS
seen + INTERVAL '3' MILLISECOND - INTERVAL '2' MICROSECONDS ; d + 7 ; 7 + d ; d - type ; seen + INTERVAL 1 DAY > seen
extract(week FROM seen) ; extract(dow FROM d) ; extract(dow_iso FROM d) ; extract(doy FROM d) ; extract(qtr FROM seen)
extract(yearofweek FROM d) ; extract(mons FROM d) ; extract(dayofweek_iso FROM d) * 2 ; trunc(d, 'MON')
date_trunc('mon', seen) ; date_trunc('YY', d) ; date_trunc('dd', seen) ; trunc(seen, 'yyyy')
to_date('31/01/2026', 'dd/MM/yyyy') ; unix_timestamp('31/01/2026', 'dd/MM/yyyy') ; from_unixtime(bytes, 'yyyy D')
to_timestamp(d) ; to_timestamp('2026-01-31 1:02', 'y-M-d H:mm') ; to_timestamp(seen, 'yyyy')
date_format(d, 'dd.MM.yy') ; datediff(seen, '2020-01-01') ; dateadd(d, 3) ; date_diff(d, seen)"""
OTHERS = """trim(BOTH 'a' FROM sip) ; trim(LEADING 'ab' FROM sip) ; trim(TRAILING FROM sip) ; trim('a' FROM sip)
trim(BOTH FROM sip) ; substring(dip FROM 2) ; substr(dip FROM 1 FOR 1) ; position('b' IN dip) ; position('b', dip)
'a' 'b' ; 'a' 'b''c' || sip ; sip LIKE ANY ('x', 'a%') ; sip NOT LIKE ANY ('x', 'a%') ; sip LIKE ALL ('a', 'x')
sip NOT LIKE ALL ('y', 'x') ; sip LIKE ANY ('a') ; NOT sip LIKE ANY ('a', 'b') ; sip ILIKE ANY ('A', 'x') ; type & 3
type | 8 = 14 ; type ^ bytes ; ~type + 1 ; type & 3 + 1 ; type << 2 ; bytes >> 1 ; (type | 1) & 3 ; type & (1 | 2)
(type ^ 1) ^ 3 ; -(~type) ; shiftleft(bytes, 40) ; ~bytes & 7 ; int(ratio) ; string(type) ; bigint(sip)
decimal(ratio) ; timestamp(d) ; date(seen) ; double(price) ; float(type) ; boolean(type) ; nvl2(sip, 1, 2)
nvl2(NULL, type, bytes) ; nvl(NULL, type) ; ifnull(sip, 'x') ; regexp_like(sip, '^a') ; floor(ratio, 1)
ceil(type, -1) ; regexp_replace(dip, '(b)', '$1-\\\\$') ; regexp_extract(dip, 'b', 0)
concat_ws('-', sip, NULL, type) ; log(8) ; sha(sip) ; get_json_object('{"a b": [1, 2]}', '$[''a b''][1]')
trim('a', sip) ; lpad(type, 4, '0') ; bytes - 1 & 3 ; pmod(price, -3)"""
VALUES += [value.strip() for lines in (ORDERS, TIMES, OTHERS) for line in lines.splitlines() for value in line.split(" ; ")]


@pytest.mark.parametrize("value", [
    "type || bytes - 1", "sip LIKE 'a' = ok", "ok = sip LIKE 'a'", "sip NOT LIKE 'a' = ok", "ok <> type IN (6)",
    "type IN (6) = ok", "type = 6 IN (true)", "type > 5 BETWEEN false AND true", "type BETWEEN 1 AND 10 = true",
    "type < 5 IN (true, false)", "sip RLIKE 'a' <= ok", "ok = NOT ok", "NOT type < 7 IN (true)", "sip < dip ILIKE 'true'",
    "type | 1 & 3", "type & 1 | 3", "type ^ 1 & 3", "type & 1 << 2", "type << 1 & 2"])
def test_what_spark_reads_in_another_order_is_refused(flows: Stream, value: str) -> None:
    with pytest.raises(SqlError, match="needs parentheses"):
        compile_select(parse(f"SELECT {value} FROM tuples"), flows, continuous=False)


def test_what_is_read_has_the_value_that_spark_gives_it(spark, flows: Stream) -> None:
    """As it is written, as the plan says it in Spark's SQL, and as Mars itself calculates it."""
    written = ", ".join(f"{value} AS c{i}" for i, value in enumerate(VALUES))
    plan = compile_select(parse(f"SELECT {written} FROM tuples"), flows, continuous=False)
    [row] = spark.sql(f"SELECT {written} FROM tuples").toArrow().to_pylist()
    [same] = spark.sql(spark_sql(plan, flows, "tuples")).toArrow().to_pylist()
    tuples = spark.sql("SELECT * FROM tuples").toArrow().combine_chunks()
    columns = {name: pa.concat_arrays(tuples[name].chunks) for name in plan.aggregation.columns}
    ours = {key.name: evaluate(key.expression, columns, 1).to_pylist()[0] for key in plan.aggregation.keys}
    told = [(value, *values) for value, *values in zip(VALUES, row.values(), same.values(), ours.values(), strict=True)]
    assert [line for line in told if not line[1] == line[2] == line[3]] == []
