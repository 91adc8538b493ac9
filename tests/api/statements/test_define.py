"""CREATE and DROP without any service: what is refused before one is asked."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from api.statements import define
from api.statements.context import Context
from mars.errors import ConflictError, SqlError
from mars.model.partials import kept_apart, kept_once
from mars.model.registry import Catalog
from mars.model.sinks import SinkSet
from sql.read.create import compile_stream
from sql.read.parse import parse
from tests.plans import changed

STREAM_SQL = "CREATE STREAM {name} (t BIGINT) FROM KAFKA 'flows' FORMAT CSV TIMESTAMP t"
QUERY_SQL = "SELECT count(*) FROM flows WINDOWING 60 s"


@pytest.fixture
def context() -> Context:
    """What a statement needs up to the check of its name: a catalog with one stream."""
    stream = compile_stream(parse(STREAM_SQL.format(name="flows")))
    return SimpleNamespace(config=SimpleNamespace(key_parts=1),
                           definitions=SimpleNamespace(catalog=lambda: Catalog(streams={"flows": stream})),
                           sink_definitions=SimpleNamespace(read=SinkSet))


@pytest.mark.parametrize("name", ["a/b", ".", "..", "a\tb", " "])
def test_a_name_that_cannot_be_one_is_refused_at_its_place(context: Context, name: str) -> None:
    query = f"CREATE QUERY\n  `{name}` AS {QUERY_SQL}"
    stream = STREAM_SQL.format(name=f"\n  `{name}`")
    for run, sql in ((define.create_query, query), (define.create_stream, stream)):
        with pytest.raises(SqlError, match="cannot be a name") as refused:
            run(context, parse(sql))
        error = refused.value
        assert (error.line, error.column, error.length, error.sql) == (2, 3, len(name) + 2, sql)
        assert "slashes" in error.hint


def test_a_name_beside_the_statement_has_no_place_in_it(context: Context) -> None:
    """As in the body of POST /v1/queries."""
    context.definitions.query = lambda name: (None, None)
    with pytest.raises(SqlError, match="cannot be a name") as refused:
        define.create_or_find(context, "a/b", QUERY_SQL, None)
    assert (refused.value.line, refused.value.column) == (0, 0)


@pytest.mark.parametrize("kept", [kept_once, kept_apart])
def test_the_same_query_is_found_whichever_version_made_it(context: Context, kept: Callable) -> None:
    select = "SELECT sum(t), avg(t), count(t) FROM flows WINDOWING 60 s"
    _, plan = define.compile_query(context, parse(f"CREATE QUERY q AS {select}"))
    there = changed(plan, partials=kept(plan.presentation.aggregates))
    context.definitions.query = lambda name: (None, SimpleNamespace(name=name, id="q1", plan=there))
    assert define.create_or_find(context, "q", select, None) == (False, [])
    with pytest.raises(ConflictError):
        define.create_or_find(context, "q", select.replace("avg", "max"), None)
