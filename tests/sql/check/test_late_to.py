"""Plans with LATE TO name: what they keep, what EXPLAIN says of them, and that ALTER leaves the name."""

from __future__ import annotations

import json

import pytest

from mars.errors import SqlError
from mars.model.plan import QueryPlan
from sql.check.alter import altered
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.say.explain import explain
from sql.statements import SelectFromQuery, ShowLate

STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s"))


def plan_of(clauses: str) -> QueryPlan:
    sql = f"SELECT k, count(*) AS n FROM s GROUP BY k WINDOWING 60 s {clauses}"
    return compile_select(parse(sql), STREAM, True)


def test_plans_read_as_they_were_written_and_older_ones_too() -> None:
    plan = plan_of("GRACE 5 s LATE TO `too late`")
    assert (plan.aggregation.late, plan.late_to) == ("TO", "too late")
    assert QueryPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert "late_to" not in plan_of("").to_json(), "plans without it are written as before"
    assert plan.aggregation.cells_name == plan_of("GRACE 5 s LATE TO other").aggregation.cells_name
    assert plan.aggregation.cells_name != plan_of("GRACE 5 s").aggregation.cells_name


def test_explain_says_where_they_are() -> None:
    lines = explain(plan_of("LATE TO `too late`"), STREAM)
    assert "late        a tuple whose window is closed: counted, and kept by its place: SELECT ... FROM `too late`" in lines


def test_alter_does_not_change_what_becomes_of_late_tuples() -> None:
    drop, one, other = (plan_of(clauses) for clauses in ("", "LATE TO one", "LATE TO other"))
    assert altered(drop, one, False) == altered(one, drop, False) == altered(one, other, False) == "LATE"
    assert altered(one, one, False) == one


def test_late_tuples_are_selected_like_results() -> None:
    statement = parse("SELECT * FROM late WHERE k = 'a'", {"late": "late"}.get)
    assert isinstance(statement, SelectFromQuery)
    assert statement.queries == ("late",)
    shown = parse("SHOW LATE FROM `too late` LIMIT 5")
    assert isinstance(shown, ShowLate)
    assert (shown.name.text, shown.limit) == ("too late", 5)
    with pytest.raises(SqlError, match="takes no condition"):
        parse("SHOW LATE FROM late WHERE k = 'a'")
