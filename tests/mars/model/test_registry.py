"""A stream's query set as it is written to ZooKeeper."""

import zlib
from dataclasses import replace

from mars.model.registry import Query, QuerySet
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse

ZNODE_BYTES_MAX = 1_048_575
STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING, v BIGINT) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s",
                              lambda name: None))
SELECT = "SELECT k, t, count(*), avg(v), count(DISTINCT v) FROM s WHERE v > {n} GROUP BY k, t WINDOWING {n} s"


def query(number: int) -> Query:
    """A query that differs from the others."""
    select = parse(SELECT.format(n=number + 1), lambda name: "stream")
    return Query(f"q{number}", f"query_{number}", compile_select(select, STREAM, True), number, {0: number, 1: 7})


def test_a_thousand_queries_fit_in_a_znode():
    some = [query(number) for number in range(20)]
    queries = QuerySet(1_001, (0, 1), {f"q{number}": replace(some[number % 20], id=f"q{number}") for number in range(1_000)})
    data = queries.dump()
    assert len(zlib.decompress(data)) > ZNODE_BYTES_MAX > 4 * len(data)
    assert QuerySet.load(data) == queries
