"""A SELECT over a stream to a plan: names, keys, types, policies."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mars.algebra.evaluate import evaluate
from mars.errors import SqlError
from mars.model.expressions import Call, Column, Literal
from mars.model.plan import QueryPlan, Stream, Window
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.say.unparse import unparse


def plan_of(sql: str, stream: Stream, continuous: bool = False) -> QueryPlan:
    plan = compile_select(parse(sql), stream, continuous)
    assert QueryPlan.from_json(plan.to_json()) == plan
    return plan


def names(plan: QueryPlan) -> list[str]:
    return [output.name for output in plan.presentation.outputs]


def test_the_bare_event_time_is_the_window_and_no_key(flows: Stream) -> None:
    plan = plan_of("SELECT sip, type, TIMESTAMP, count(*) FROM Flows GROUP BY sip, type, timestamp WINDOWING 60 s", flows)
    assert [key.name for key in plan.aggregation.keys] == ["sip", "type"]
    assert [(o.name, o.expression) for o in plan.presentation.outputs][2:] == [
        ("TIMESTAMP", Column("window_time", "BIGINT")), ("count", Column("a0", "BIGINT"))]
    assert (plan.aggregation.window, plan.aggregation.columns) == (Window("tumbling", 60_000), ("timestamp", "sip", "type"))


@pytest.mark.parametrize("start", ["", " WHERE type > 1", " f", " AS f"])
@pytest.mark.parametrize(("group", "keys"), [
    ("(sip)", ["sip"]), ("(sip, type)", ["sip", "type"]), ("((sip), (type, dip)), ok", ["sip", "type", "dip", "ok"]),
    ("(timestamp), sip", ["sip"])])
@pytest.mark.parametrize("words", ["GROUP BY", "group  by"])
def test_parentheses_in_group_by_mean_nothing(flows: Stream, words: str, start: str, group: str, keys: list[str]) -> None:
    plan = plan_of(f"SELECT count(*) FROM flows{start} {words} {group} WINDOWING 60 s", flows)
    assert [key.name for key in plan.aggregation.keys] == keys


@pytest.mark.parametrize(("one", "other"), [
    ("(type + 1) * type", "type + 1 * type"), ("type - (1 - type)", "type - 1 - type"), ("-(type - 1)", "-type - 1"),
    ("NOT (ok AND ok)", "NOT ok AND ok"), ("(ok OR ok) AND ok", "ok OR ok AND ok")])
def test_expressions_that_differ_in_what_parentheses_mean_are_two(flows: Stream, one: str, other: str) -> None:
    plan = plan_of(f"SELECT {one} AS v, {other} AS w FROM flows GROUP BY v, w", flows)
    assert [o.expression.name for o in plan.presentation.outputs] == ["k0", "k1"]
    assert plan.aggregation.keys[0].expression != plan.aggregation.keys[1].expression
    assert len(plan_of(f"SELECT count(*) FROM flows GROUP BY {one}, ({one}), ({one.upper()})", flows).aggregation.keys) == 1
    with pytest.raises(SqlError, match="is not grouped"):
        plan_of(f"SELECT {other}, count(*) FROM flows GROUP BY {one}", flows)


@pytest.mark.parametrize(("order", "terms"), [
    ("1", ((-2, False),)), ("2 DESC, 4", ((0, True), (1, False))), ("3", ((-1, False),)), ("(4)", ((1, False),)),
    ("(sip)", ((0, False),)), ("(window_end) DESC", ((-1, True),))])
def test_ordinals_in_order_by_count_what_select_lists(flows: Stream, order: str, terms: tuple) -> None:
    plan = plan_of("SELECT window_start, sip, window_end, count(*) AS n FROM flows GROUP BY 1, 2 WINDOWING 60 s "
                   f"ORDER BY {order} LIMIT 5", flows)
    assert plan.presentation.order_by == terms


@pytest.mark.parametrize(("order", "terms"), [
    ("f.sip", ((0, False),)), ("F.dip DESC, dip", ((2, True), (1, False))), ("f.window_end", ((-1, False),))])
def test_the_stream_may_stand_before_a_column_in_order_by(flows: Stream, order: str, terms: tuple) -> None:
    plan = plan_of("SELECT sip AS x, upper(dip) AS dip, f.dip AS y FROM flows f GROUP BY f.sip, F.DIP, f.window_start "
                   f"WINDOWING 60 s ORDER BY {order}", flows)
    assert plan.presentation.order_by == terms
    assert plan_of(f"SELECT * FROM flows f ORDER BY {order.replace('window_end', 'sip')}", flows).presentation.order_by


def test_the_event_time_is_raw_in_where_and_in_aggregates(flows: Stream) -> None:
    plan = plan_of("SELECT timestamp + 1, max(timestamp) FROM flows WHERE timestamp > 5 "
                   "GROUP BY timestamp WINDOWING 1 s", flows)
    assert unparse(plan.aggregation.where, plain=True) == "timestamp > 5"
    assert plan.presentation.aggregates[0].argument == Column("timestamp", "BIGINT")
    assert unparse(plan.presentation.outputs[0].expression, plain=True) == "window_time + 1"


def test_window_columns_are_not_repeated_but_may_have_an_alias(flows: Stream) -> None:
    plan = plan_of("SELECT window_start, window_end AS until, count(*), count(*) AS window_start FROM flows "
                   "GROUP BY window_start WINDOWING 1 s", flows)
    assert names(plan) == ["until", "count", "window_start_2"]
    assert plan.presentation.outputs[0].expression == Column("window_end", "TIMESTAMP")


def test_names_of_columns(flows: Stream) -> None:
    plan = plan_of("SELECT SIP, upper(dip) x, count(*), count(*), sum(bytes)  /  2, std(ratio), count(DISTINCT dip) "
                   "FROM flows GROUP BY sip, dip WINDOWING 1 s", flows)
    assert names(plan) == ["SIP", "x", "count", "count_2", "sum(bytes) / 2", "std", "count_3"]


@pytest.mark.parametrize("group", ["1", "h", "upper(sip)", "UPPER((flows.SIP))", "1, h", "(1)", "(h)", "((1), (h, 1))"])
def test_aliases_ordinals_and_expressions_in_group_by(flows: Stream, group: str) -> None:
    plan = plan_of(f"SELECT upper(sip) AS h, count(*) AS n FROM flows GROUP BY {group} HAVING n > 1 AND h <> 'X'", flows)
    assert [unparse(key.expression, plain=True) for key in plan.aggregation.keys] == ["upper(sip)"]
    assert unparse(plan.presentation.having, plain=True) == "a0 > 1 AND k0 <> 'X'"


def test_a_column_goes_before_an_alias_in_group_by_and_after_it_in_having(flows: Stream) -> None:
    plan = plan_of("SELECT upper(sip) AS sip, count(*) AS bytes FROM flows GROUP BY sip HAVING bytes > 3", flows)
    assert [unparse(key.expression, plain=True) for key in plan.aggregation.keys] == ["sip"]
    assert unparse(plan.presentation.having, plain=True) == "a0 > 3"


def test_an_aggregate_stands_after_from_in_having(flows: Stream) -> None:
    plan = plan_of("SELECT sip FROM flows GROUP BY sip HAVING max(bytes) IS DISTINCT FROM min(bytes)", flows)
    assert unparse(plan.presentation.having, plain=True) == "NOT a0 <=> a1"


def test_the_same_aggregate_is_computed_once(flows: Stream) -> None:
    plan = plan_of("SELECT sum(bytes), sum(BYTES) / count(*), count(1) FROM flows HAVING max(type) > 1", flows)
    assert [a.function for a in plan.presentation.aggregates] == ["sum", "count", "max"]


def test_aggregates_that_differ_in_the_sign_of_zero_are_two(flows: Stream) -> None:
    plan = plan_of("SELECT first(ratio * 0e0), first(ratio * -0e0), first(ratio * 0e0) + 1 FROM flows", flows)
    assert [unparse(a.argument, plain=True) for a in plan.presentation.aggregates] == ["ratio * 0.0", "ratio * -0.0"]


def test_filter_ignore_nulls_and_count_if_are_filters(flows: Stream) -> None:
    plan = plan_of("SELECT first(dip) IGNORE NULLS, count_if(ok), sum(bytes) FILTER (WHERE type = 6) FROM flows", flows)
    assert [unparse(a.filter, plain=True) for a in plan.presentation.aggregates] == ["dip IS NOT NULL", "ok", "type = 6"]


@pytest.mark.parametrize(("clauses", "values"), [
    ("", (5_000, 30_000, 0, "LATEST")), ("WATERMARK 0 s GRACE 0 s", (0, 30_000, 0, "LATEST")),
    ("WATERMARK 1 min IDLE OFF FROM EARLIEST", (60_000, None, 0, "EARLIEST")),
    ("GRACE 2 s WATERMARK 1 s IDLE 7 s", (1_000, 7_000, 2_000, "LATEST"))])
def test_policies_and_their_defaults(flows: Stream, clauses: str, values: tuple) -> None:
    plan = plan_of(f"SELECT count(*) FROM flows WINDOWING 1 h {clauses}", flows, continuous=True)
    assert (plan.aggregation.watermark_ms, plan.aggregation.idle_ms, plan.aggregation.grace_ms, plan.start) == values
    assert (plan.aggregation.late, plan.presentation.emission) == ("DROP", "FINAL")


def test_given_alone_it_starts_at_the_earliest_and_may_be_ordered(flows: Stream) -> None:
    plan = plan_of("SELECT sip, sum(bytes) AS b FROM flows GROUP BY sip ORDER BY b DESC, sip, 1 LIMIT 7", flows)
    shown = plan.presentation
    assert (plan.start, plan.aggregation.window) == ("EARLIEST", None)
    assert (shown.order_by, shown.limit) == (((1, True), (0, False), (0, False)), 7)
    windows = plan_of("SELECT window_end, count(*) FROM flows WINDOWING 1 s ORDER BY count, window_start DESC", flows)
    assert windows.presentation.order_by == ((0, False), (-2, True))


def test_without_groups_tuples_are_shown(flows: Stream) -> None:
    plan = plan_of("SELECT * FROM flows WHERE bytes > 5 LIMIT 3", flows)
    assert (plan.grouped, names(plan)) == (False, [c.name for c in flows.columns])
    assert plan.aggregation.columns == tuple(names(plan))
    some = plan_of("SELECT upper(sip), bytes + 1 FROM flows ORDER BY 2", flows)
    assert (some.grouped, names(some)) == (False, ["upper", "bytes + 1"])
    assert some.aggregation.columns == ("timestamp", "sip", "bytes")


def test_strict_streams_read_every_column() -> None:
    stream = compile_stream(parse("CREATE STREAM s (a INT, t BIGINT) FROM KAFKA 's' FORMAT CSV (STRICT) TIMESTAMP t"))
    assert plan_of("SELECT count(*) FROM s", stream).aggregation.columns == ("a", "t")


@pytest.mark.parametrize(("written", "lowered"), [
    ("type BETWEEN 1 AND 5", "type >= 1 AND type <= 5"), ("type NOT IN (1, NULL)", "NOT type IN (1, NULL)"),
    ("bytes IN (type, 3)", "bytes = cast(type AS BIGINT) OR bytes = 3"),
    ("sip NOT LIKE 'a!%' ESCAPE '!'", r"NOT sip LIKE 'a\%'"),
    (r"sip NOT LIKE 'a%' ESCAPE '\\'", "NOT sip LIKE 'a%'"),
    (r"sip NOT ILIKE 'A%' ESCAPE '\\'", "NOT lower(sip) LIKE 'a%'"),
    (r"sip LIKE 'a%' ESCAPE '\\'", "sip LIKE 'a%'"),
    ("sip ILIKE 'A%'", "lower(sip) LIKE 'a%'"), ("sip IS DISTINCT FROM dip", "NOT sip <=> dip"),
    ("ok IS TRUE", "ok <=> true"), ("sip IS DISTINCT FROM lower(dip)", "NOT sip <=> lower(dip)"),
    ("lower(sip) IS NOT DISTINCT FROM (dip)", "lower(sip) <=> dip"),
    ("extract(hour FROM date_trunc('day', seen)) > 5", "hour(date_trunc('day', seen)) > 5"),
    ("price::DECIMAL(12, 3) IS NULL", "cast(price AS DECIMAL(12,3)) IS NULL"),
    ("type :: decimal(3,1)::VARCHAR(9) = dip", "cast(cast(type AS DECIMAL(3,1)) AS STRING) = dip"),
    ("CASE type WHEN 1 THEN ok END", "CASE WHEN type = 1 THEN ok ELSE NULL END"), ("type = '80'", "type = 80"),
    ("seen > '2026-01-31'", "seen > TIMESTAMP '2026-01-31T00:00:00Z'"),
    ("seen > '2026-1-5 7:00'", "seen > TIMESTAMP '2026-01-05T07:00:00Z'"),
    ("cast('2026-1-5' AS DATE) IS NULL", "DATE '2026-01-05' IS NULL"), ("ok = 'yes'", "ok = true"),
    ("cast('20260131' AS DATE) IS NULL", "cast('20260131' AS DATE) IS NULL"),
    ("ratio < '1e999'", "ratio < cast('1e999' AS DOUBLE)"),
    ("cast(ratio AS FLOAT) > ' 1.5 '", "cast(ratio AS FLOAT) > cast(' 1.5 ' AS FLOAT)"),
    ("cast('1e9999999999' AS DECIMAL(9,2)) IS NULL", "cast('1e9999999999' AS DECIMAL(9,2)) IS NULL"),
    ("least(NULL, NULL) IS NULL", "NULL IS NULL"), ("type = '80.5'", "type = 80"), ("price > 1", "price > 1.00"),
    ("NOT ok OR ok AND NOT ok", "NOT ok OR ok AND NOT ok"), ("type - (1 - 2) > -3", "type - (1 - 2) > -3"),
    ("nullif(sip, dip) IS NULL", "nullif(sip, dip) IS NULL"), ("sip = 5", "cast(sip AS INT) = 5")])
def test_conditions_are_lowered_with_casts_made_explicit(flows: Stream, written: str, lowered: str) -> None:
    assert unparse(plan_of(f"SELECT sip FROM flows WHERE {written}", flows).aggregation.where, plain=True) == lowered


@pytest.mark.parametrize("value", ["cast(bytes AS FLOAT) IN ({})", "bytes IN (type, {})", "bytes NOT IN ({}, type)"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 600, 5000])
def test_a_long_in_of_other_than_constants_is_no_deep_tree(flows: Stream, value: str, count: int) -> None:
    members = ", ".join(map(str, range(1, count + 1)))
    plan = plan_of(f"SELECT sip FROM flows WHERE {value.format(members)}", flows)
    columns = {"bytes": pa.array([1, count, count + 1, None]), "type": pa.array([-1, -1, -1, -1], pa.int32())}
    found = evaluate(plan.aggregation.where, columns, 4).to_pylist()
    assert found == ([False, False, True, None] if "NOT" in value else [True, True, False, None])


@pytest.mark.parametrize(("form", "levels"), [
    ("({}) BETWEEN false AND ok", 20), ("({}) IN (ok, false, true)", 20), ("nullif(if({}, 1, 2), 1.5) IS NULL", 20),
    ("CASE ({}) WHEN true THEN ok WHEN false THEN NOT ok END", 14)])
def test_what_repeats_its_parts_again_and_again_is_refused(flows: Stream, form: str, levels: int) -> None:
    condition = "ok"
    for _ in range(levels):
        condition = form.format(condition)
    with pytest.raises(SqlError, match="too large"):
        compile_select(parse(f"SELECT sip FROM flows WHERE {condition}"), flows, continuous=False)
    assert plan_of(f"SELECT sip FROM flows WHERE {form.format(form.format('ok'))}", flows).aggregation.where is not None


def test_constants_are_typed_as_spark_does(flows: Stream) -> None:
    constants = "1, 3000000000, 10L, 1.50, 1e3, -9223372036854775808, -2147483648, 'x', true, NULL, DATE '2026-01-31', 1.5BD"
    plan = plan_of(f"SELECT {constants} FROM flows", flows)
    assert [key.expression for key in plan.aggregation.keys] == [
        Literal(1, "INT"), Literal(3_000_000_000, "BIGINT"), Literal(10, "BIGINT"), Literal("1.50", "DECIMAL(3,2)"),
        Literal(1000.0, "DOUBLE"), Literal(-2**63, "BIGINT"), Literal(-2**31, "INT"), Literal("x", "STRING"),
        Literal(True, "BOOLEAN"), Literal(None, "VOID"), Literal("2026-01-31", "DATE"), Literal("1.5", "DECIMAL(2,1)")]


@pytest.mark.parametrize("written", [
    "price / 7", "price / 7L", "price / cast(7 AS INT)", "price / '7'::INT", "price + cast(12 AS INT)", "price - -12",
    "price % 3", "price % cast('3' AS BIGINT)", "price * cast(-3 AS INT)", "price * -cast(3 AS INT)", "price - -3L",
    "coalesce(price, cast(3 AS INT))"])
def test_a_constant_beside_a_decimal_is_as_wide_as_in_spark(flows: Stream, spark, written: str) -> None:
    """A bare one is as wide as its digits, a cast one as its type."""
    [field] = spark.sql(f"SELECT {written} AS x FROM tuples").schema
    [key] = plan_of(f"SELECT {written} AS x FROM flows", flows).aggregation.keys
    assert key.expression.type == field.dataType.simpleString().upper()


@pytest.mark.parametrize("condition", [
    "round(ratio, cast(2 AS INT)) > 1", "round(ratio, -'2'::INT) > 1", "sip LIKE cast(cast(5 AS INT) AS STRING)"])
def test_a_cast_constant_is_a_constant(flows: Stream, condition: str) -> None:
    plan = plan_of(f"SELECT sip FROM flows WHERE {condition}", flows)
    assert QueryPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("text", ["NaN", "nan", " -Infinity ", "+inf", "INFINITY"])
def test_texts_of_numbers_that_are_not_finite_are_compared(flows: Stream, text: str) -> None:
    """No plan can hold them as constants, so they stay texts that are cast, as Spark casts them."""
    plan = plan_of(f"SELECT count(*) FROM flows WHERE ratio = '{text}'", flows)
    assert plan.aggregation.where.arguments[1] == Call("cast", (Literal(text, "STRING"),), "DOUBLE")


def test_other_texts_that_are_no_numbers_are_refused(flows: Stream) -> None:
    with pytest.raises(SqlError, match="is not a valid DOUBLE"):
        plan_of("SELECT count(*) FROM flows WHERE ratio = 'nann'", flows)
    with pytest.raises(SqlError, match="is not a valid FLOAT"):
        plan_of("SELECT count(*) FROM flows WHERE cast(ratio AS FLOAT) = '1,5'", flows)


def test_having_takes_the_numbered_names_of_calls(flows: Stream) -> None:
    plan = plan_of("SELECT sip, count(*), count(bytes) FROM flows GROUP BY sip HAVING count_2 > 1", flows)
    assert names(plan) == ["sip", "count", "count_2"]
    assert plan.presentation.having == Call("gt", (Column("a1", "BIGINT"), Literal(1, "BIGINT")), "BOOLEAN")


@pytest.mark.parametrize(("word", "expected"), [("AND", False), ("OR", True)])
def test_a_chain_of_any_length_is_a_few_levels(flows: Stream, word: str, expected: bool) -> None:
    chain = f" {word} ".join(f"type <> {i}" for i in range(2_000))
    where = plan_of(f"SELECT sip FROM flows WHERE {chain}", flows).aggregation.where
    assert evaluate(where, {"type": pa.array([1_999, None, 2_000], pa.int32())}, 3).to_pylist() == [expected, None, True]


def test_a_constant_decimal_zero_has_no_sign(flows: Stream) -> None:
    plan = plan_of("SELECT CAST(-0.0 AS DOUBLE) AS z, -0e0 AS signed FROM flows", flows)
    assert [str(key.expression.value) for key in plan.aggregation.keys] == ["0.0", "-0.0"]


@pytest.mark.parametrize("sql", ["SELECT sip, bytes + 1 AS more, 7 AS seven FROM flows GROUP BY ALL",
                                 "SELECT DISTINCT sip, bytes + 1 AS more, 7 AS seven FROM flows"])
def test_group_by_all_and_distinct_group_by_what_has_no_aggregate(flows: Stream, sql: str) -> None:
    plan = plan_of(sql, flows)
    assert [unparse(key.expression) for key in plan.aggregation.keys] == ["`sip`", "`bytes` + 1L"]
    assert (names(plan), plan.grouped) == (["sip", "more", "seven"], True)


def test_a_key_may_be_written_with_its_sides_exchanged(flows: Stream) -> None:
    plan = plan_of("SELECT (1 + type) * 2, 2 * (type + 1) FROM flows GROUP BY type + 1", flows)
    assert [unparse(output.expression) for output in plan.presentation.outputs] == ["`k0` * 2", "2 * `k0`"]


def test_count_distinct_of_several_tells_all_combinations_apart(flows: Stream) -> None:
    plan = plan_of("SELECT count(DISTINCT sip, dip, ratio) FROM flows", flows)
    [call] = plan.presentation.aggregates
    rows = [("a", "b:1", 0.0), ("a", "b:1", -0.0), ("a:1", "b", 0.0), ("1", "1:1", 1.0), ("11", ":1", 1.0), (None, "b", 0.0)]
    columns = {name: pa.array(values, type_) for name, values, type_ in zip(
        ("sip", "dip", "ratio"), zip(*rows, strict=True), (pa.string(), pa.string(), pa.float64()), strict=True)}
    texts = evaluate(call.argument, columns, len(rows)).to_pylist()
    assert (call.function, len(set(texts)), texts[0] == texts[1], texts[-1]) == ("count_distinct", 5, True, None)


def test_first_takes_ignore_nulls_as_an_argument(flows: Stream) -> None:
    plan = plan_of("SELECT first(bytes, true), last(bytes) IGNORE NULLS, first(bytes, false) FROM flows", flows)
    assert [call.filter is not None for call in plan.presentation.aggregates] == [True, True, False]
