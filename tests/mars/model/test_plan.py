"""Plans as they are written, and as version 0.1.0 wrote them."""

from __future__ import annotations

import json

from mars.algebra.cells_layout import schema
from mars.model.expressions import Column
from mars.model.partials import AggregateCall, Partial, kept_apart, kept_once, needed
from mars.model.plan import QueryPlan, Stream, StreamColumn
from sql.check.compile import plan_of
from sql.read.parse import parse

STREAM = Stream("s", 1, "topic", "id", tuple(StreamColumn(*column) for column in (
    ("t", "BIGINT"), ("k", "STRING"), ("i", "INT"), ("x", "DOUBLE"), ("d", "DECIMAL(10,2)"))), "CSV", "t")
SELECT = ("SELECT k, count(*) AS n, avg(x) AS mean, sum(x) AS total FROM s WHERE i > 1 GROUP BY k WINDOWING 60 s "
          "HAVING count(*) > 1 GRACE 1 s FROM EARLIEST")
X, POSITIVE = {"column": "x", "type": "DOUBLE"}, {"call": "gt", "arguments": [{"column": "i", "type": "INT"}, {
    "value": 1, "type": "INT"}], "type": "BOOLEAN"}
CALLS = [{"function": "count", "argument": None, "filter": None, "type": "BIGINT"},
         {"function": "avg", "argument": X, "filter": None, "type": "DOUBLE"},
         {"function": "sum", "argument": X, "filter": None, "type": "DOUBLE"}]
OUTPUTS = [{"name": name, "expression": {"column": column, "type": type_}, "type": type_} for name, column, type_ in (
    ("k", "k0", "STRING"), ("n", "a0", "BIGINT"), ("mean", "a1", "DOUBLE"), ("total", "a2", "DOUBLE"))]
HAVING = {"call": "gt", "arguments": [{"column": "a0", "type": "BIGINT"}, {"value": 1, "type": "BIGINT"}], "type": "BOOLEAN"}
KEYS = [{"name": "k", "expression": {"column": "k", "type": "STRING"}, "type": "STRING"}]
AGGREGATION = {
    "stream": "s", "columns": ["t", "k", "i", "x"], "where": POSITIVE, "keys": KEYS,
    "window": {"kind": "tumbling", "size_ms": 60_000}, "watermark_ms": 5_000, "idle_ms": 30_000, "grace_ms": 1_000,
    "late": "DROP"}
PRESENTATION = {"aggregates": CALLS, "outputs": OUTPUTS, "having": HAVING, "order_by": [], "limit": None,
                "emission": "FINAL"}
WRITTEN = {
    "sql": SELECT, "start": "EARLIEST", "grouped": True, "versions": None, "presentation": PRESENTATION,
    "aggregation": {**AGGREGATION, "partials": [
        {"kind": "double_sum", "argument": X, "filter": None, "name": "double_sum0"},
        {"kind": "count", "argument": X, "filter": None, "name": "count0"}]}}


def compiled(select: str) -> QueryPlan:
    return plan_of(parse(f"CREATE QUERY q AS {select}").select, STREAM, True)


def of(*calls: tuple[str, str | None]) -> list[AggregateCall]:
    """Calls by function and column."""
    types = {column.name: column.type for column in STREAM.columns}
    return [AggregateCall(function, name and Column(name, types[name]), None, "") for function, name in calls]


def test_a_plan_is_written_so_and_read_again():
    plan = compiled(SELECT)
    assert plan.to_json() == {**WRITTEN, "sql": plan.sql}
    assert QueryPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_plan_of_the_first_version_keeps_the_partials_of_each_aggregate_apart():
    """All its fields stand side by side. Its cells have a sum, its error and a count for avg, and both sums again."""
    flat = {"sql": SELECT, "start": "EARLIEST", "grouped": True, **AGGREGATION, **PRESENTATION}
    plan, now = QueryPlan.from_json(flat), compiled(SELECT)
    assert schema(plan.aggregation, STREAM).names == ["w", "k0", "n", "a1_sum", "a1_error", "a1_n", "a2_sum", "a2_error"]
    assert (plan.presentation, plan.start, plan.versions) == (now.presentation, now.start, None)
    assert QueryPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_partial_is_kept_once_for_an_argument_and_a_filter():
    kept = kept_once(of(("avg", "x"), ("sum", "x"), ("count", "x"), ("var_samp", "x"), ("stddev_pop", "x"), ("count", None)))
    assert [partial.name for partial in kept] == ["double_sum0", "count0", "moments0"]
    filtered = AggregateCall("sum", Column("x", "DOUBLE"), Column("b", "BOOLEAN"), "DOUBLE")
    kept = kept_once([*of(("sum", "i"), ("sum", "x")), filtered, *of(("max", "i"), ("avg", "d"))])
    assert [partial.name for partial in kept] == [
        "integer_sum0", "double_sum1", "double_sum2", "max0", "decimal_sum3", "count3"]


def test_a_mean_of_integers_does_not_share_their_sum_which_wraps():
    assert [partial.kind for partial in kept_once(of(("sum", "i"), ("avg", "i")))] == ["integer_sum", "double_sum", "count"]


def test_the_number_of_tuples_is_kept_with_no_partial():
    assert kept_once(of(("count", None))) == kept_apart(of(("count", None))) == ()
    assert needed(of(("count", None))[0])[0].is_tuple_count


def test_a_partial_is_the_same_under_another_name():
    one, other = (Partial("count", Column("x", "DOUBLE"), None, name) for name in ("count0", "a7"))
    assert one != other
    assert one.is_same(other)


def test_second_arguments_and_options_are_written_only_where_there_are_some():
    plan = compiled("SELECT corr(x, i), top_k(k, 3), string_agg(k, ';', 2), array_agg(k, 2), approx_count_distinct(k) "
                    "FROM s WINDOWING 60 s")
    written = json.loads(json.dumps(plan.to_json()))
    assert QueryPlan.from_json(written) == plan
    assert [call.get("options") for call in written["presentation"]["aggregates"]] == [None, [3], [";", 2], [2], [0.0165]]
    partials = written["aggregation"]["partials"]
    assert [(partial["name"], partial.get("options")) for partial in partials] == [
        ("comoments0", None), ("counts1", None), ("earliest2", [2]), ("hll3", [12])]
    assert [partial.get("second") for partial in partials] == [{"column": "i", "type": "INT"}, None, None, None]
