"""Plans of queries whose rows change: what they add, what EXPLAIN says of them, and that older plans read."""

from __future__ import annotations

import json

from mars.model.plan import QueryPlan
from mars.results.schema import columns_of
from sql.check.alter import altered
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.say.explain import explain

STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s"))


def plan_of(clauses: str) -> QueryPlan:
    sql = f"SELECT k, count(*) AS n FROM s GROUP BY k WINDOWING 60 s {clauses}"
    return compile_select(parse(sql), STREAM, True)


def test_a_last_column_tells_versions_of_a_row_apart() -> None:
    assert columns_of(plan_of("EMIT CHANGES"))[-2:] == [("n", "BIGINT"), ("final", "BOOLEAN")]
    assert columns_of(plan_of("LATE UPDATE FOR 5 min"))[-1] == ("revision", "BIGINT")
    assert columns_of(plan_of("EMIT FINAL LATE DROP"))[-1] == ("n", "BIGINT")


def test_such_cells_are_shared_with_their_like_alone() -> None:
    plans = [plan_of(clauses) for clauses in ("", "EMIT CHANGES", "LATE UPDATE FOR 5 min", "LATE UPDATE FOR 6 min")]
    assert len({plan.aggregation.cells_name for plan in plans}) == 4
    assert plan_of("EMIT CHANGES").aggregation.cells_name == plans[1].aggregation.cells_name
    assert [plan.aggregation.is_changelog for plan in plans] == [False, True, True, True]


def test_plans_read_as_they_were_written_and_older_ones_too() -> None:
    for clauses in ("", "EMIT CHANGES", "GRACE 5 s LATE UPDATE FOR 5 min"):
        plan = plan_of(clauses)
        assert QueryPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert "late_for_ms" not in plan_of("").to_json()["aggregation"], "plans without it are written as before"


def test_explain_says_when_rows_come() -> None:
    changes, revised = (explain(plan_of(clauses), STREAM) for clauses in ("EMIT CHANGES", "LATE UPDATE FOR 5 min"))
    assert changes[-1] == ("emits       CHANGES: with each commit the rows of open windows that have changed (final false), "
                           "and each window once more when it is closed (final true)")
    assert revised[-2:] == [
        "late        for 5 min after a window has closed, a late tuple makes a new revision of its row; after that it is "
        "dropped and counted", "emits       FINAL: each window once, when it is closed; and each revision of it"]
    assert not any("revision(" in line or "changed" in line for line in revised)


def test_alter_does_not_make_rows_change_or_stay() -> None:
    final, changes, revised = (plan_of(clauses) for clauses in ("", "EMIT CHANGES", "LATE UPDATE FOR 5 min"))
    assert altered(final, changes, False) == "EMIT"
    assert altered(changes, final, False) == "EMIT"
    assert altered(revised, plan_of("LATE UPDATE FOR 1 h"), False) == "LATE"
    assert altered(revised, revised, False) == revised
