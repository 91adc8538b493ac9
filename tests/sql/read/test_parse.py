"""One statement's text to a Statement; scripts to statements; our clauses in any order."""

from __future__ import annotations

import pytest

from mars.errors import SqlError
from sql import statements
from sql.check.compile import compile_select
from sql.read.parse import STATEMENT_MAX, parse, split_statements
from sql.statements import Name


@pytest.mark.parametrize(("sql", "statement"), [
    ("DROP STREAM s", statements.DropStream(Name("s"))), ("drop query `a b`;", statements.DropQuery(Name("a b"))),
    ("PAUSE QUERY q", statements.PauseQuery(Name("q"))), ("RESUME QUERY q", statements.ResumeQuery(Name("q"))),
    ("SHOW STREAMS", statements.ShowStreams()), ("show queries ;", statements.ShowQueries()),
    ("DESCRIBE x", statements.Describe(Name("x"))), ("DESC query q", statements.Describe(Name("q"))),
    ("DESCRIBE stream", statements.Describe(Name("stream"))), ("PEEK 'a.b'", statements.Peek(Name("a.b"))),
    ("EXPLAIN QUERY q WHY", statements.Explain("TEXT", None, Name("q"), True))])
def test_short_statements(sql: str, statement: statements.Statement) -> None:
    assert parse(sql) == statement


def test_create_query_keeps_its_text() -> None:
    sql = "CREATE QUERY Talkers AS SELECT count(*) FROM Flows WINDOWING 1 min"
    created = parse(sql)
    assert (created.name.text, created.select.source.text, created.sql) == ("Talkers", "Flows", sql)


def test_explain_of_a_select() -> None:
    explained = parse("EXPLAIN (FORMAT SPARK) SELECT count(*) FROM s")
    assert (explained.format, explained.select.source.text, explained.query) == ("SPARK", "s", None)


@pytest.mark.parametrize("tail", [
    "WINDOWING 60 s HAVING count(*) > 1 WATERMARK 2 s IDLE OFF GRACE 3 s LATE DROP EMIT FINAL FROM EARLIEST",
    "FROM EARLIEST EMIT FINAL GRACE 3 s WINDOWING 60s WATERMARK 2 s IDLE OFF HAVING count(*) > 1",
    "watermark 2000 ms idle off grace 3 seconds windowing 1 minute having count(*) > 1 from earliest"])
def test_clauses_stand_in_any_order(tail: str) -> None:
    select = parse(f"SELECT a, count(*) FROM s WHERE a = 'x' GROUP BY a {tail}")
    clauses = select.clauses
    assert (clauses.window.size_ms, clauses.watermark_ms, clauses.idle_ms, clauses.grace_ms, clauses.start) == (
        60_000, 2_000, 0, 3_000, "EARLIEST")
    assert select.tree.args["having"] is not None


@pytest.mark.parametrize(("unit", "ms"), [
    ("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("second", 1_000), ("seconds", 1_000),
    ("minute", 60_000), ("minutes", 60_000), ("hour", 3_600_000), ("hours", 3_600_000), ("day", 86_400_000),
    ("days", 86_400_000)])
@pytest.mark.parametrize("space", ["", " "])
@pytest.mark.parametrize("case", [str.lower, str.upper, str.title])
def test_every_unit_stands_with_or_without_a_space(unit: str, ms: int, space: str, case) -> None:
    d = f"7{space}{case(unit)}"
    clauses = parse(f"SELECT a FROM s GROUP BY a WINDOWING {d} WATERMARK {d} IDLE {d} GRACE {d} LATE DROP").clauses
    assert (clauses.window.size_ms, clauses.watermark_ms, clauses.idle_ms, clauses.grace_ms) == (7 * ms,) * 4
    with pytest.raises(SqlError, match="IDLE must follow WATERMARK"):
        parse(f"SELECT a FROM s GROUP BY a WINDOWING {d} IDLE {d}")


def test_a_name_may_look_like_a_duration() -> None:
    select = parse("SELECT 5min, max(1h) AS m FROM 7days GROUP BY 5min WINDOWING 5min")
    assert (select.source.text, select.clauses.window.size_ms, select.texts) == ("7days", 300_000, ("5min", "max(1h) AS m"))


@pytest.mark.parametrize("column", ["windowing", "watermark", "grace", "emit", "idle", "earliest", "late", "landmark"])
def test_words_of_the_dialect_may_be_columns(column: str) -> None:
    select = parse(f"SELECT {column}, max({column}) AS m FROM s WHERE {column} > 5 AND s.{column} = 1 "
                   f"GROUP BY {column} WINDOWING 10 s GRACE 1 s")
    assert (select.clauses.window.size_ms, select.clauses.grace_ms) == (10_000, 1_000)
    assert [e.sql() for e in select.tree.args["group"].expressions] == [column]


def test_starts_at_a_time_are_instants_in_utc() -> None:
    start = parse("SELECT count(*) FROM s WINDOWING 1 s FROM '2026-01-31T12:00:00+02:00'").clauses.start
    assert start == "2026-01-31T10:00:00Z"


@pytest.mark.parametrize(("text", "instant"), [
    ("12:00:00.123456", "12:00:00.123456Z"), ("12:00:00.123456000Z", "12:00:00.123456Z"),
    ("12:00:00.000000001", "12:00:00.000001Z"), ("12:59:59,9999999+01:00", "12:00:00Z"), ("12:00:00.1", "12:00:00.100000Z")])
def test_a_start_finer_than_a_microsecond_is_the_next_one(text: str, instant: str) -> None:
    start = parse(f"SELECT count(*) FROM s FROM '2026-01-31T{text}'").clauses.start
    assert start == f"2026-01-31T{instant}"


def test_is_distinct_from_is_no_clause() -> None:
    select = parse("SELECT a IS DISTINCT FROM b AS x FROM s WHERE a IS NOT DISTINCT FROM b FROM LATEST")
    assert (select.source.text, select.clauses.start) == ("s", "LATEST")


@pytest.mark.parametrize("name", [
    "windowing", "watermark", "idle", "grace", "late", "emit", "earliest", "Drop", "create", "ALTER", "into", "pause",
    "query", "stream", "kafka", "format", "unit", "offset", "Limit", "window", "count", "every", "gap", "path", "strict"])
def test_words_of_the_dialect_are_columns_in_every_place(name):
    select = parse(f"SELECT {name}, a, sum({name} + 1) AS {name} FROM s WHERE {name} > 3 GROUP BY {name}, a "
                   f"HAVING max({name}) > 1 WINDOWING 60 s WATERMARK 5 s")
    assert [e.alias_or_name for e in select.tree.expressions] == [name, "a", name]
    assert [e.name for e in select.tree.args["group"].expressions] == [name, "a"]
    assert select.tree.args["where"].this.this.name == name
    assert select.clauses.window.size_ms == 60_000
    assert parse(f"CREATE STREAM if (exists INT, {name} INT) FROM KAFKA 't' FORMAT CSV TIMESTAMP {name}").name.text == "if"
    plain = parse(f"SELECT {name}, a FROM s ORDER BY {name}, a LIMIT 3")
    assert [term.this.name for term in plain.tree.args["order"].expressions] == [name, "a"]


@pytest.mark.parametrize("name", ["isnull", "NOTNULL"])
def test_a_name_after_a_column_is_its_alias_whatever_it_means_elsewhere(name: str) -> None:
    select = parse(f"SELECT a {name}, {name}, isnull({name}) FROM s")
    first = select.tree.expressions[0]
    assert (first.alias, first.sql()) == (name, f"a AS {name}")
    assert select.tree.expressions[1].name == name
    with pytest.raises(SqlError, match=f"unexpected {name}"):
        parse(f"SELECT a FROM s WHERE a {name}")


@pytest.mark.parametrize("rest", ["FROM range(5)", "FROM s JOIN range(5)", "FROM s, range(5)", "FROM lower(s) WHERE a > 1"])
def test_a_function_is_no_table(rest: str, flows) -> None:
    with pytest.raises(SqlError, match="one stream"):
        compile_select(parse(f"SELECT count(*) {rest}"), flows, continuous=False)


def test_a_select_over_queries_keeps_its_text() -> None:
    sql = "SELECT `k a`, 'it\\'s' FROM q JOIN (SELECT 1) x ON true, r WHERE n > 1 -- ;\n;"
    select = parse(sql, {"q": "query", "r": "query"}.get)
    assert select == statements.SelectFromQuery(sql, ("q", "r"))
    assert select.engine_sql == "SELECT \"k a\", 'it''s' FROM q JOIN (SELECT 1) x ON true, r WHERE n > 1 -- ;"


def test_a_stream_is_not_joined_with_a_query() -> None:
    with pytest.raises(SqlError, match="cannot be joined"):
        parse("SELECT * FROM q JOIN s USING (a)", {"q": "query", "s": "stream"}.get)


def test_scripts_are_split_outside_quotes_and_comments() -> None:
    script = "SELECT ';' FROM a; -- one; two\n;/* ; */ SHOW STREAMS;\n SELECT `;` FROM b"
    assert split_statements(script) == ["SELECT ';' FROM a", "/* ; */ SHOW STREAMS", "SELECT `;` FROM b"]
    assert split_statements("-- nothing\n ;; ") == []
    assert split_statements("SHOW STREAMS; SELECT 'open; x") == ["SHOW STREAMS", "SELECT 'open; x"]


@pytest.mark.parametrize("part", ["1+", "a,", "NOT ", "x", "'", "("])
def test_a_statement_that_is_too_long_is_refused_before_it_is_read(part, monkeypatch) -> None:
    monkeypatch.setattr("sql.read.parse.read_words", None)
    with pytest.raises(SqlError, match="too long: it has 5,") as refused:
        parse("SELECT " + part * (5_000_000 // len(part)))
    assert len(str(refused.value)) < 200


def test_a_statement_of_the_greatest_length_is_read() -> None:
    sql = "SELECT a FROM s WHERE a IN (1" + ",1" * ((STATEMENT_MAX - 30) // 2) + ")"
    assert len(sql) in (STATEMENT_MAX, STATEMENT_MAX - 1)
    assert parse(sql).source.text == "s"


def test_half_a_character_is_refused_at_its_place() -> None:
    with pytest.raises(SqlError, match="half of a character") as refused:
        parse("SELECT\n \ud800 FROM s")
    assert (refused.value.line, refused.value.column) == (2, 2)
    str(refused.value).encode()


def test_nothing_of_the_reader_within_shows_in_a_refusal() -> None:
    with pytest.raises(SqlError) as refused:
        parse("SELECT * FROM")
    assert refused.value.detail == "expected table name"
