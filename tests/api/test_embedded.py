"""The embedded engine answers SELECT and touches nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest

from api.embedded import Engine
from mars.errors import SqlError

STARTS = pa.array([0, 60_000_000], pa.timestamp("us", "UTC"))
TABLE = LOCAL_TABLE = pa.table({"window_start": STARTS, "count": pa.array([1, 2])})


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def test_types_come_back_as_they_went_in(engine):
    assert engine.run("SELECT * FROM q ORDER BY 1", {"q": TABLE}) == TABLE
    assert engine.run("SELECT sum(count) AS n FROM q", {"q": TABLE}).to_pydict() == {"n": [3]}
    assert engine.run("SELECT * FROM q WHERE window_start > '1970-01-01T00:00:30Z'", {"q": TABLE}).num_rows == 1


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
        engine.run("SELECT count(*) FROM range(10000000000) a, range(1000) b", {}, timeout_s=0.3)


def test_rows_are_capped(engine):
    assert engine.run("SELECT * FROM range(100)", {}, rows_max=7).num_rows == 7


def test_one_statement_does_not_see_anothers_tables(engine):
    engine.run("SELECT * FROM q", {"q": TABLE})
    with pytest.raises(SqlError):
        engine.run("SELECT * FROM q", {})
