"""How sinks and connections read, and that a password which was written into a statement is not shown again."""

from __future__ import annotations

import pytest

from mars.errors import SqlError
from sql import statements as kinds
from sql.read.connections import hide_texts
from sql.read.parse import parse
from sql.read.sinks import parse_into
from sql.say.render import caret
from sql.statements import Name

N = Name


def test_a_connection() -> None:
    got = parse("CREATE CONNECTION wh TO postgres (HOST '10.0.0.1', PORT 6543, DATABASE app, USER `an user`, "
                "PASSWORD SECRET wh_pw, TLS require)".replace("`an user`", "mars"))
    assert (got.name, got.kind) == (N("wh"), "POSTGRES")
    assert got.options == (("HOST", "10.0.0.1"), ("PORT", 6543), ("DATABASE", "app"), ("USER", "mars"), ("TLS", "REQUIRE"))
    assert got.secrets == (("PASSWORD", N("wh_pw")),)


def test_a_sink_into_postgres_with_clauses_in_any_order() -> None:
    where = "page IS DISTINCT FROM 'x' AND (n > 1 OR b)"
    for clauses in (f"WHERE {where} FROM '2026-01-01'", f"FROM '2026-01-01' WHERE {where}"):
        got = parse(f"CREATE SINK s FROM q INTO POSTGRES wh TABLE 'public.T' {clauses};")
        assert (got.name, got.query, got.into) == (N("s"), N("q"), kinds.IntoClause("POSTGRES", N("public.T"), N("wh")))
        assert (got.where.text, got.start) == (where, "2026-01-01T00:00:00Z")
        assert got.sql[got.where.start:got.where.end] == where
    assert parse("CREATE SINK s FROM q INTO KAFKA TOPIC 'x'").start == "EARLIEST"


def test_a_sink_into_kafka() -> None:
    got = parse("CREATE SINK s FROM q INTO KAFKA TOPIC 'x' FORMAT JSON KEY (a, `b c`) AT k FROM LATEST")
    assert got.into == kinds.IntoClause("KAFKA", N("x"), N("k"), (N("a"), N("b c")))
    assert got.start == "LATEST"
    assert parse_into("KAFKA TOPIC 'x' KEY (a)") == kinds.IntoClause("KAFKA", N("x"), None, (N("a"),))


def test_a_sink_into_files_and_into_a_webhook() -> None:
    into = parse("CREATE SINK s FROM q INTO PARQUET '/data/x' EVERY 5 min OR 64 MB FROM LATEST").into
    assert into == kinds.IntoClause("PARQUET", N("/data/x"), every_ms=300_000, bytes_max=64 << 20)
    assert (parse_into("PARQUET 'x'").every_ms, parse_into("PARQUET 'x'").bytes_max) == (60_000, 128 << 20)
    into = parse_into("PARQUET 's3://b/x' AT st EVERY 1 min")
    assert into == kinds.IntoClause("PARQUET", N("s3://b/x"), N("st"), every_ms=60_000, bytes_max=128 << 20)
    assert parse_into("webhook h") == kinds.IntoClause("WEBHOOK", N("h"), N("h"))


def test_a_sink_into_iceberg() -> None:
    into = parse("CREATE SINK s FROM q INTO ICEBERG lake TABLE 'ns.t' EVERY 5 min OR 64 MB FROM LATEST").into
    assert into == kinds.IntoClause("ICEBERG", N("ns.t"), N("lake"), every_ms=300_000, bytes_max=64 << 20)
    into = parse_into("ICEBERG lake TABLE 'ns.t'")
    assert (into.every_ms, into.bytes_max) == (60_000, 128 << 20)


def test_a_query_with_its_sink() -> None:
    got = parse("CREATE QUERY q INTO POSTGRES wh TABLE 't' AS SELECT count(*) FROM s WINDOWING 60 s")
    assert got.into == kinds.IntoClause("POSTGRES", N("t"), N("wh"))
    assert got.select.source == N("s")


@pytest.mark.parametrize(("sql", "statement"), [
    ("DROP SINK s", kinds.DropSink(N("s"))), ("PAUSE SINK s", kinds.PauseSink(N("s"))),
    ("RESUME SINK s", kinds.ResumeSink(N("s"))), ("SHOW SINKS", kinds.ShowSinks()),
    ("SHOW CONNECTIONS", kinds.ShowConnections()), ("DROP CONNECTION c", kinds.DropConnection(N("c"))),
    ("ALTER SINK s REPLAY FROM EARLIEST", kinds.ReplaySink(N("s"), "EARLIEST")),
    ("alter sink `a b` replay from '2026-01-01';", kinds.ReplaySink(N("a b"), "2026-01-01T00:00:00Z")),
    ("EXPLAIN SINK s WHY", kinds.ExplainSink(N("s"))), ("explain sink `a b`", kinds.ExplainSink(N("a b"))),
])
def test_short_statements(sql: str, statement: object) -> None:
    assert parse(sql) == statement


@pytest.mark.parametrize("options", [
    "HOST 'h', PASSWORD 'topsecret'", "HOST 'h', PASSWORD topsecret", "HOST 'h', PASSWORD = 'topsecret'",
    "HOST 'h', PASSWORD SECRET 'topsecret'", "HOST 'h', PASWORD 'topsecret'", "PORT 'topsecret'", "TOKEN 'topsecret'",
    "PASSWORD 'x''topsecret'", "PASSWORD 'x\\'topsecret'", "HOST 'h',\nPASSWORD 'topsecret'", "PASSWORD topsecret HOST",
    "HOST 'h' 'topsecret'", "HOST 'h', PASSWORD 'topsecret", "SECRET_KEY topsecret", "HOST 'h', SECRET_KEY 'topsecret'",
])
def test_a_password_in_a_statement_is_refused_and_shown_nowhere(options: str) -> None:
    with pytest.raises(SqlError) as refused:
        parse(f"CREATE CONNECTION wh TO POSTGRES ({options})")
    assert "topsecret" not in caret(refused.value)
    assert "topsecret" not in refused.value.title + refused.value.detail + refused.value.hint


def test_hiding_keeps_the_places_and_leaves_other_statements_alone() -> None:
    sql = "CREATE CONNECTION wh TO POSTGRES (HOST 'a\nb', PASSWORD SECRET wh_pw)"
    hidden = hide_texts(sql)
    assert len(hidden) == len(sql)
    assert [i for i, c in enumerate(hidden) if c == "\n"] == [i for i, c in enumerate(sql) if c == "\n"]
    assert hidden.endswith("PASSWORD SECRET wh_pw)")
    assert hide_texts("SELECT 'a' FROM s") == "SELECT 'a' FROM s"
