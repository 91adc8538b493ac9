"""The embedded engine answers SELECT and touches nothing else."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from mars.errors import SqlError
from mars.results import formats
from mars.results.embedded.engine import Engine
from mars.results.embedded.watch import Limits

STARTS = pa.array([0, 60_000_000], pa.timestamp("us", "UTC"))
TABLE = LOCAL_TABLE = pa.table({"window_start": STARTS, "count": pa.array([1, 2])})


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def test_types_come_back_as_they_went_in(engine):
    assert engine.run("SELECT * FROM q ORDER BY 1", {"q": TABLE}) == TABLE
    assert engine.run("SELECT sum(count) AS n FROM q", {"q": TABLE}).to_pydict() == {"n": [3]}
    assert engine.run("SELECT * FROM q WHERE window_start > '1970-01-01T00:00:30Z'", {"q": TABLE}).num_rows == 1


def test_each_column_has_a_name_of_its_own(engine):
    """As over a stream. Two of one name could not be told apart, and not all formats take them."""
    rows = engine.run("SELECT q.count, q.count AS Count, 1 AS count_2, a.* FROM q, q AS a", {"q": TABLE})
    assert rows.column_names == ["count", "Count_2", "count_2_2", "window_start", "count_3"]


@pytest.mark.parametrize("sql", [
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "COPY q TO '/tmp/q.csv'", "ATTACH '/tmp/x.db'",
    "SET threads = 1", "INSTALL httpfs", "LOAD httpfs", "CREATE TABLE x AS SELECT 1", "SELECT 1; SELECT 2",
    "EXPLAIN SELECT 1", "SELECT * FROM LOCAL_TABLE", "SELECT * FROM glob('/*')", "SELECT getenv('HOME')",
    "SELECT read_text('/etc/passwd')"])
def test_nothing_outside_is_reached(engine, sql):
    with pytest.raises(SqlError):
        engine.run(sql, {"q": TABLE})


def test_an_error_has_a_place_and_a_hint(engine):
    with pytest.raises(SqlError) as caught:
        engine.run("SELECT 1,\n  cuont FROM q", {"q": TABLE})
    assert (caught.value.line, caught.value.column) == (2, 3)
    assert "count" in caught.value.hint


def test_a_statement_that_takes_too_long_is_stopped(engine):
    with pytest.raises(SqlError, match="too long"):
        engine.run("SELECT count(*) FROM range(10000000000) a, range(1000) b", {}, Limits(timeout_s=0.3))


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM range(10000000000) a, range(1000) b",
                                 "SELECT a.range + b.range FROM range(10000000000) a, range(1000) b"])
def test_a_statement_ends_when_asked(engine, sql):
    """Also while its rows are given out."""
    asked = threading.Event()
    threading.Timer(0.3, asked.set).start()
    with pytest.raises(SqlError) as caught:
        engine.run(sql, {}, Limits(stopped=asked.is_set))
    assert (caught.value.title, caught.value.detail) == ("the statement was stopped", "on request")


@pytest.mark.parametrize("sql", ["SELECT * FROM range(10000000000) LIMIT 10000000000",
                                 "SELECT repeat('x', 100000) AS x FROM range(10000000000) LIMIT 10000000000"])
def test_an_answer_is_not_larger_than_it_may_be(engine, sql):
    with pytest.raises(SqlError, match="too large") as caught:
        engine.run(sql, {}, Limits(bytes_max=8 << 20))
    assert "8 MiB" in caught.value.detail
    assert "LIMIT" in caught.value.hint


def test_rows_are_capped(engine):
    assert engine.run("SELECT * FROM range(100)", {}, Limits(7)).num_rows == 7


def test_one_statement_does_not_see_anothers_tables(engine):
    engine.run("SELECT * FROM q", {"q": TABLE})
    with pytest.raises(SqlError):
        engine.run("SELECT * FROM q", {})


@pytest.mark.parametrize(("sql", "place"), [
    ("SELECT 1,\n cast('a/' AS INT) FROM q", (2, 2)), ("SELECT * FROM q WHERE count > 'x'", (1, 31)),
    ("SELECT * FROM q\nWHERE window_start > 'abc'", (2, 22)), ("SELECT cast('2024-13-45' AS DATE) FROM q", (1, 8)),
    ("SELECT error('a\nb\nc') FROM q", (0, 0)), ("SELECT count + 9223372036854775807 FROM q", (0, 0))])
@pytest.mark.parametrize("rows_max", [None, 10])
def test_a_value_that_does_not_fit_is_refused_with_its_place(engine, sql, place, rows_max):
    with pytest.raises(SqlError) as caught:
        engine.run(sql, {"q": TABLE}, Limits(rows_max))
    assert caught.value.detail
    assert (caught.value.line, caught.value.column) == place
    assert "try_cast" in caught.value.hint or "error(" in sql


@pytest.mark.parametrize("expression", ["count % {}", "max(count % {})"])
def test_a_division_by_zero_has_a_hint_that_can_be_followed(engine, expression):
    with pytest.raises(SqlError) as caught:
        engine.run(f"SELECT {expression.format(0)} AS x FROM q", {"q": TABLE}, Limits(None))
    assert "SET" not in caught.value.detail
    assert "nullif(x, 0)" in caught.value.hint
    rows = engine.run(f"SELECT {expression.format('nullif(0, 0)')} AS x FROM q", {"q": TABLE}, Limits(None))
    assert set(rows["x"].to_pylist()) == {None}


@pytest.mark.parametrize(("expression", "value", "type_"), [
    ("18446744073709551615::UBIGINT", "18446744073709551615", "DECIMAL(20,0)"), ("7::UBIGINT", 7, "BIGINT"),
    ("7::DECIMAL(38,0)", "7", "DECIMAL(38,0)"), ("sum(7::DECIMAL(9,0)) OVER ()", "14", "DECIMAL(38,0)"),
    ("sum(count) OVER ()", 3, "BIGINT"), ("7::DECIMAL(20,0)", "7", "DECIMAL(20,0)"),
    ("9999999999999999999999::HUGEINT", "9999999999999999999999", "DECIMAL(38,0)"), ("7::HUGEINT", 7, "BIGINT"),
    ("to_timestamp(60)::TIMESTAMP - window_start", "00:01:00", "STRING"), ("INTERVAL 14 MONTH", "1 year 2 months", "STRING"),
    ("NULL::INTERVAL", None, "STRING"), ("[DATE 'infinity']", "[infinity]", "STRING"), ("{'a': 1}", "{'a': 1}", "STRING"),
    ("TIME '12:00:00'", "12:00:00", "STRING"), ("'a'::ENUM('a', 'b')", "a", "STRING"), ("1::UTINYINT", 1, "BIGINT"),
    ("TIMESTAMP_NS '2024-01-01 00:00:00.123456789'", "2024-01-01T00:00:00.123457Z", "TIMESTAMP"),
    ("TIMESTAMP '12000-01-01 00:00:00'", "+12000-01-01T00:00:00Z", "TIMESTAMP"), ("NULL", None, "VOID"),
    ("DATE '12000-01-01'", "+12000-01-01", "DATE"),
    ("TIMESTAMP 'infinity'", "+294247-01-10T04:00:54.775807Z", "TIMESTAMP"), ("DATE '2024-02-29'", "2024-02-29", "DATE")])
def test_every_type_of_the_engine_has_a_text(engine, expression, value, type_):
    sql = f'SELECT {expression} AS "a ""b""", 1 AS "a ""b""" FROM q ORDER BY window_start LIMIT 1'
    found = engine.run(sql, {"q": TABLE})
    assert formats.rows(found) == [(value, 1)]
    assert formats.named_types(found.schema)[0] == {"name": 'a "b"', "type": type_}
    assert formats.to_csv(found)
