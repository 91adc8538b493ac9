"""Any text is a Statement or an SqlError, and any statement a plan or an SqlError: never another exception."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mars.errors import SqlError
from mars.model.plan import QueryPlan, Stream
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse, split_statements
from sql.say.explain import explain
from sql.say.render import caret
from sql.say.spark import spark_sql
from sql.statements import CreateQuery, CreateStream, SelectStatement, Statement

PIECES = r"""SELECT FROM WHERE GROUP_BY HAVING ORDER_BY LIMIT AS AND OR NOT IN IS NULL LIKE CASE WHEN THEN ELSE END
DISTINCT BETWEEN CAST CREATE DROP STREAM QUERY SHOW STREAMS EXPLAIN FORMAT SPARK KAFKA CSV JSON TIMESTAMP UNIT ms WITH
UNION ALL WINDOWING WATERMARK GRACE IDLE OFF MAXAHEAD LATE EMIT FINAL EARLIEST LATEST flows sip bytes timestamp ok seen price
count( sum( first( upper( round( coalesce( hour( if( FILTER( ( ) , ; . * + - / % = < <=> || :: ! [ ] { } : ? @ $ ' " `
-- /* */ 60 60s 1.5 1e3 5L 's' 'a' `b` '' INT BIGINT DECIMAL(10,2) STRING PATH STRICT é 😀 \ OVER INTERVAL JOIN ON
EXISTS ANY LATERAL VALUES"""
WORDS = st.lists(st.sampled_from([piece.replace("_", " ") for piece in PIECES.split()] + ["\n", "\0"]), max_size=25)
FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(sql: str, stream: Stream) -> Statement | None:
    """Reads the text as far as it goes; a refusal must have a title and be drawable."""
    try:
        split_statements(sql)
        statement = parse(sql)
        if isinstance(statement, CreateStream):
            compile_stream(statement)
        select = statement.select if isinstance(statement, CreateQuery) else statement
        if isinstance(select, SelectStatement):
            plan = compile_select(select, stream, isinstance(statement, CreateQuery))
            assert QueryPlan.from_json(plan.to_json()) == plan
            assert explain(plan, stream)
            assert spark_sql(plan, stream, "v")
        return statement
    except SqlError as error:
        refused = error
    assert refused.title
    assert refused.line <= sql.count("\n") + 1
    assert caret(refused)
    return None


@FEW
@given(st.text(max_size=60))
def test_any_text(flows: Stream, sql: str) -> None:
    read(sql, flows)


@FEW
@given(WORDS)
def test_any_words(flows: Stream, words: list[str]) -> None:
    read(" ".join(words), flows)


@FEW
@given(WORDS, WORDS)
def test_any_select(flows: Stream, columns: list[str], tail: list[str]) -> None:
    read(f"SELECT {' '.join(columns)} FROM flows {' '.join(tail)}", flows)


HARD = [
    "", " ", ";", "--", "/*", "'", "\x00", "\ud800", "x" * 100_000, "1" * 5000, "SELECT " + "(" * 3000, "SELECT [" * 500,
    "SELECT " + "NOT " * 3000 + "ok FROM flows", "SELECT " + "1 + " * 3000 + "1 FROM flows",
    "SELECT " + "-" * 999 + "1 FROM flows", "SELECT " + "CASE WHEN ok THEN " * 500, "SELECT '" + "\\" * 999,
    "SELECT a FROM flows WHERE " + " OR ".join(["ok"] * 3000), "SELECT " + "9" * 5000 + " FROM flows",
    "SELECT count(*) FROM flows WINDOWING " + "9" * 5000 + " s"]


@pytest.mark.parametrize("sql", HARD, ids=range(len(HARD)))
def test_hard_texts_are_refused(flows: Stream, sql: str) -> None:
    assert read(sql, flows) is None
