"""The stream that the tests of the dialect compile over, and Spark with one tuple of it."""

from __future__ import annotations

import pytest

from mars.model.plan import Stream
from sql.read.create import compile_stream
from sql.read.parse import parse

FLOWS = """CREATE STREAM flows (
  timestamp BIGINT, sip STRING, dip STRING, type INT, bytes BIGINT, price DECIMAL(10, 2), ratio DOUBLE, ok BOOLEAN,
  d DATE, seen TIMESTAMP
) FROM KAFKA 'flows' FORMAT CSV TIMESTAMP timestamp UNIT ms"""


@pytest.fixture(scope="session")
def flows() -> Stream:
    return compile_stream(parse(FLOWS))


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession
    session = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
               .config("spark.sql.ansi.enabled", "false").config("spark.sql.session.timeZone", "UTC")
               .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
               .config("spark.sql.codegen.wholeStage", "false")
               .config("spark.sql.codegen.factoryMode", "NO_CODEGEN").config("spark.sql.shuffle.partitions", "1")
               .getOrCreate())
    session.sql("""CREATE OR REPLACE TEMP VIEW tuples AS
        SELECT 1000L AS timestamp, 'a' AS sip, 'b' AS dip, 6 AS type, 2L AS bytes,
        cast(3 AS DECIMAL(10, 2)) AS price, 1.5D AS ratio, true AS ok, DATE '2026-01-31' AS d,
        TIMESTAMP '2026-01-31 01:02:03' AS seen, 0 AS _partition, 0L AS _offset, 0 AS _line""")
    yield session
    session.stop()
