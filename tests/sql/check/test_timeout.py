"""Plans with EMIT FINAL TIMEOUT: what they add, what EXPLAIN says of them, and that older plans read."""

from __future__ import annotations

import json

from mars.model.plan import QueryPlan
from mars.results.schema import columns_of
from sql.check.alter import altered
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.say.explain import explain
from sql.say.spark import spark_sql

STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s"))


def plan_of(clauses: str) -> QueryPlan:
    sql = f"SELECT k, count(*) AS n FROM s GROUP BY k WINDOWING 60 s {clauses}"
    return compile_select(parse(sql), STREAM, True)


def test_a_last_column_says_whether_the_clock_has_closed_the_window() -> None:
    plan = plan_of("EMIT FINAL TIMEOUT 5 min HAVING n > 1")
    assert columns_of(plan)[-2:] == [("n", "BIGINT"), ("timed_out", "BOOLEAN")]
    assert (plan.aggregation.timeout_ms, plan.aggregation.is_changelog) == (300_000, False)
    assert [partial.kind for partial in plan.aggregation.partials] == ["timed_out"]


def test_plans_read_as_they_were_written_and_older_ones_too() -> None:
    plan = plan_of("EMIT FINAL TIMEOUT 5 min")
    assert QueryPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert "timeout_ms" not in plan_of("").to_json()["aggregation"], "plans without it are written as before"
    names = {plan_of(clauses).aggregation.cells_name for clauses in ("", "EMIT FINAL TIMEOUT 1 s", "EMIT FINAL TIMEOUT 2 s")}
    assert len(names) == 3, "what closes at other times is not shared"


def test_explain_says_when_the_clock_closes_windows() -> None:
    assert explain(plan_of("EMIT FINAL TIMEOUT 5 min"), STREAM)[-1] == (
        "emits       FINAL TIMEOUT 5 min: each window once, when it is closed (timed_out false); once nothing has come to "
        "any partition for 5 min by the clock and all is read, the last windows close too (timed_out true)")
    assert "false AS _a1" in spark_sql(plan_of("EMIT FINAL TIMEOUT 5 min"), STREAM, "s"), "a batch has no clock"


def test_alter_does_not_change_when_windows_close() -> None:
    final, five, six = (plan_of(clauses) for clauses in ("", "EMIT FINAL TIMEOUT 5 min", "EMIT FINAL TIMEOUT 6 min"))
    assert altered(final, five, False) == altered(five, six, False) == altered(five, final, False) == "EMIT"
    assert altered(five, plan_of("EMIT CHANGES"), False) == "EMIT"
    assert altered(five, five, False) == five
