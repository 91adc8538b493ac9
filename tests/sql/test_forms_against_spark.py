"""Forms of expressions and clauses beside Spark: what is read has its value, and what it does not read is refused."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException

from mars.errors import SqlError
from mars.plan import Stream
from sql.compile import compile_select
from sql.parse import parse

NEITHER = [
    "sip FROM tuples WHERE type BETWEEN SYMMETRIC 10 AND 1", "sip FROM tuples WHERE type BETWEEN ASYMMETRIC 1 AND 10",
    "sip, bytes FROM tuples ORDER BY bytes LIMIT 10 WITH TIES", "sip, bytes FROM tuples ORDER BY bytes LIMIT 10 PERCENT",
    "sip FROM tuples LIMIT 3 BY sip", "sip FROM tuples LIMIT 3 ROWS ONLY", "* EXCEPT sip FROM tuples",
    "* RENAME sip AS x FROM tuples", "* ILIKE 'b%' FROM tuples", "cast(seen AS STRING FORMAT 'yyyy') FROM tuples",
    "cast(sip AS INT DEFAULT 5 ON CONVERSION ERROR) FROM tuples", "sip, count(*) FROM tuples GROUP BY DISTINCT sip",
    "nosuch.tuples.sip FROM tuples"]


@pytest.mark.parametrize("rest", NEITHER)
def test_what_spark_does_not_read_is_refused(spark, flows: Stream, rest: str) -> None:
    with pytest.raises((ParseException, AnalysisException)):
        spark.sql(f"SELECT {rest}").collect()
    with pytest.raises(SqlError):
        compile_select(parse(f"SELECT {rest}"), flows, continuous=False)
