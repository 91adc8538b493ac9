"""What follows from the cells that a query keeps, and what is said of the rest."""

from __future__ import annotations

import pytest

from sql.check.alter import altered
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.statements import AlterQuery, CreateQuery, DropQuery, DropStream

STREAM = compile_stream(parse(
    "CREATE STREAM s (t BIGINT, k BIGINT, v DOUBLE, w BIGINT) FROM KAFKA 's' FORMAT CSV TIMESTAMP t"))
OLD = "SELECT k, count(*), avg(v), sum(w) FROM s WHERE w > 0 GROUP BY k WINDOWING 10 s"


def plan(sql: str):
    return compile_select(parse(sql), STREAM, continuous=True)


@pytest.mark.parametrize("sql", [
    "SELECT k AS key, sum(w) / count(*) AS mean, sum(v) FROM s WHERE w > 0 GROUP BY k WINDOWING 10 s HAVING count(*) > 3",
    "SELECT k, count(v), avg(v), sum(w) AS w FROM s WHERE w > 0 GROUP BY k WINDOWING 10 s",
    OLD])
def test_what_is_shown_otherwise_of_the_same_cells_follows(sql):
    old, new = plan(OLD), plan(sql)
    found = altered(old, new, starts_elsewhere=False)
    assert found.aggregation.cells_name == old.aggregation.cells_name
    assert found.presentation == new.presentation
    assert dict(found.versions) == dict(old.versions) | dict(new.versions)


@pytest.mark.parametrize(("sql", "what"), [
    ("SELECT k, count(*), avg(v), sum(w) FROM s WHERE w > 1 GROUP BY k WINDOWING 10 s", "WHERE"),
    ("SELECT k + 1, count(*), avg(v), sum(w) FROM s WHERE w > 0 GROUP BY k + 1 WINDOWING 10 s", "GROUP BY"),
    ("SELECT k, count(*), avg(v), sum(w) FROM s WHERE w > 0 GROUP BY k WINDOWING 20 s WATERMARK 1 s",
     "WINDOWING and WATERMARK"),
    ("SELECT k, count(*), sum(w) FROM s WHERE w > 0 GROUP BY k WINDOWING 10 s",
     "which tuples are bad (it no longer reads v)"),
    ("SELECT k, max(v), sum(w) FROM s WHERE w > 0 GROUP BY k WINDOWING 10 s",
     "what is kept of each group (max(..) needs greatest value of its argument)")])
def test_what_does_not_follow_is_named(sql, what):
    assert altered(plan(OLD), plan(sql), starts_elsewhere=False) == what


def test_another_start_does_not_follow():
    assert altered(plan(OLD), plan(OLD), starts_elsewhere=True) == "the start"


@pytest.mark.parametrize(("sql", "kind", "field"), [
    ("CREATE QUERY IF NOT EXISTS q AS SELECT count(*) FROM s WINDOWING 1 s", CreateQuery, "unless_there"),
    ("CREATE OR REPLACE QUERY q AS SELECT count(*) FROM s WINDOWING 1 s", AlterQuery, "or_create"),
    ("DROP QUERY IF EXISTS q", DropQuery, "if_there"), ("DROP STREAM IF EXISTS q", DropStream, "if_there")])
def test_what_depends_on_what_exists(sql, kind, field):
    statement = parse(sql)
    assert isinstance(statement, kind)
    assert getattr(statement, field)
    assert statement.name.text == "q"


def test_words_of_the_clause_are_names_too():
    assert parse("DROP QUERY if").name.text == "if"
    assert parse("CREATE QUERY if AS SELECT count(*) FROM s WINDOWING 1 s").name.text == "if"
