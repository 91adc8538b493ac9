"""A SELECT over queries: which names in it are streams and queries; the engine finds every table that is not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mars.errors import SqlError
from mars.results.embedded.engine import Engine
from sql.read.parse import parse

KINDS = {"flows": "stream", "talkers": "query"}
TALKERS = pa.table({"a": [1, 2], "flows": [1, 2], "s": ["x", "y"], "t": pa.array([0, 1], pa.timestamp("us", "UTC"))})
READ = [
    "WITH flows AS (SELECT * FROM talkers) SELECT count(*) FROM flows",
    "with `Flows` as (SELECT * FROM Talkers) SELECT count(*) FROM FLOWS f, talkers WHERE f.a = 1",
    "WITH x AS (SELECT a FROM talkers), flows AS (SELECT * FROM x) SELECT * FROM x JOIN flows USING (a)",
    "WITH x(flows) AS MATERIALIZED (SELECT a FROM talkers), flows(b) AS NOT MATERIALIZED (FROM x) SELECT b FROM flows",
    "WITH RECURSIVE flows AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM flows WHERE n < 3) SELECT n FROM flows, talkers",
    "WITH talkers AS (SELECT * FROM talkers WHERE a > 1) SELECT count(*) FROM talkers",
    "WITH x AS (WITH flows AS (SELECT 7 AS a) SELECT * FROM flows) SELECT count(*) FROM x, talkers",
    "SELECT (WITH flows AS (SELECT 7 AS a) SELECT a FROM flows) FROM talkers",
    "(WITH flows AS (SELECT 7 AS a) FROM flows) UNION ALL (SELECT a FROM talkers)",
    "WITH flows AS (SELECT 1 AS a) (SELECT a FROM flows) UNION ALL SELECT a FROM talkers",
    "SELECT extract(hour FROM t) AS h, a IS DISTINCT FROM flows, a IS NOT DISTINCT FROM flows FROM talkers",
    "SELECT trim(BOTH 'x' FROM s), substring(s FROM flows) FROM talkers WHERE substring(s FROM flows) <> 'q'",
    "SELECT a, flows FROM talkers ORDER BY a, flows", "SELECT a FROM (FROM talkers)", "SELECT (FROM talkers SELECT max(a))"]


@pytest.mark.parametrize("sql", READ)
def test_a_name_that_the_statement_defines_and_a_column_are_no_streams(sql: str) -> None:
    select = parse(sql, lambda name: KINDS.get(name.lower()))
    assert [name.lower() for name in select.queries] == ["talkers"]
    assert Engine().run(select.engine_sql, {"talkers": TALKERS}).num_rows > 0


@pytest.mark.parametrize("sql", [
    "SELECT * FROM talkers JOIN flows USING (a)", "SELECT * FROM talkers t, flows",
    "SELECT * FROM (SELECT * FROM flows), talkers",
    "WITH flows AS (SELECT * FROM flows) SELECT * FROM flows, talkers",
    "WITH x AS (SELECT 1), y AS (SELECT * FROM flows) SELECT * FROM talkers",
    "WITH x AS (WITH flows AS (SELECT 7 AS a) SELECT * FROM flows) SELECT * FROM talkers, flows",
    "SELECT (WITH flows AS (SELECT 1) SELECT 1 FROM flows), (SELECT 1 FROM flows) FROM talkers",
    "SELECT extract(hour FROM (SELECT max(t) FROM flows)) FROM talkers", "SELECT 1 FROM talkers WHERE EXISTS (FROM flows)"])
def test_a_stream_is_met_at_any_depth(sql: str) -> None:
    with pytest.raises(SqlError, match="stream flows cannot be joined") as refused:
        parse(sql, KINDS.get)
    assert sql[refused.value.column - 1:].startswith("flows")


@pytest.mark.parametrize("clause", ["WINDOWING 5 min", "WINDOWING 5min", "WATERMARK 5s", "GRACE 1h"])
def test_our_clauses_do_not_fit_results(clause: str) -> None:
    with pytest.raises(SqlError, match="cannot follow the results of a query"):
        parse(f"SELECT * FROM talkers {clause}", KINDS.get)
