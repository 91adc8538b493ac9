"""What tasks have in common is computed once, and each gets, bit by bit, what it gets alone."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import numpy as np
import pytest

from mapper.aggregate import aggregate_task
from mapper.batch import Messages, ParsedBatch, TaskCells
from mapper.common import Chosen, Common, Planner
from mapper.parse import Parser
from mapper.sharing import sharing_of
from mapper.timing import Limits, judge
from mars.algebra import cells
from mars.algebra.common import wanted
from mars.algebra.common.wanted import Wanted
from mars.model.expressions import Call, Column
from mars.model.plan import QueryPlan
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse

COLUMNS = "t BIGINT, k STRING, w STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), ok BOOLEAN"
STREAM = replace(compile_stream(parse(f"CREATE STREAM s ({COLUMNS}) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s")),
                 key_parts=3)
NAMES = tuple(column.name for column in STREAM.columns)
KEYS = ("k", "k", "w", "w", "i", "ok", "x", "lower(k)", "i % 3", "d")
CALLS = ("count(*)", "sum(i)", "sum(b)", "sum(x)", "sum(d)", "avg(i)", "avg(b)", "avg(x)", "min(x)", "max(i)", "min(k)",
         "max(w)", "first(x)", "last(k)", "count(DISTINCT w)", "count(DISTINCT i)", "count(DISTINCT x)", "count(DISTINCT d)",
         "min_by(i, x)", "max_by(k, b)", "var_samp(x)", "array_agg(i, 3)", "approx_count_distinct(i)", "median(i)",
         "approx_percentile(x, 0.5)", "count(x)", "corr(x, i)", "top_k(w, 2)", "count_if(lower(k) = 'a')")
TESTS = ("x > 0", "i IN (1, 2, 3)", "lower(w) = 'p'", "b % 2 = 0", "NOT ok")
WINDOWS = ("20 s", "40 s", "60 s", "60 s EVERY 20 s", "30 s OFFSET 10 s", "LANDMARK EACH 10 min EVERY 1 min",
           "SESSION GAP 2 s", "SESSION GAP 2 s MAX 5 s", "SLIDING 3 s")


def condition(rng: random.Random) -> str:
    """A WHERE, mostly one that compares a column with a constant."""
    points = (f"k = '{rng.choice('abcd')}'", f"'{rng.choice('pqr')}' = w", f"i = {rng.randrange(4)}", f"b = {2**40}",
              f"k IN ('{rng.choice('abcd')}', 'd')", "k = NULL", f"k = '{rng.choice('abcd')}'")
    kind = rng.randrange(4)
    if kind == 0:
        return ""
    parts = [rng.choice(points if kind < 3 else TESTS)]
    parts += [rng.choice((*points, *TESTS)) for _ in range(rng.choice((0, 0, 1, 2)))]
    return f" WHERE {' AND '.join(parts)}"


def select(rng: random.Random, calls: list[str]) -> str:
    """A statement."""
    keys = [f"{key} AS key{n}" for n, key in enumerate(rng.sample(KEYS, rng.randrange(4)))]
    some = [f"{call} AS a{n}" for n, call in enumerate(calls)]
    group = f" GROUP BY {', '.join(f'key{n}' for n in range(len(keys)))}" if keys else ""
    return f"SELECT {', '.join(keys + some)} FROM s{condition(rng)}{group} WINDOWING {rng.choice(WINDOWS)}"


def plans(rng: random.Random, count: int) -> dict[str, QueryPlan]:
    """So many queries. Many want the same calls, and some have a limit of the future of their own."""
    usual = [rng.sample(CALLS, rng.randrange(1, 6)) for _ in range(2)]
    made = {}
    for number in range(count):
        calls = rng.choice(usual) if rng.random() < 0.7 else rng.sample(CALLS, rng.randrange(1, 6))
        plan = compile_select(parse(select(rng, calls)), STREAM, continuous=False)
        ahead = rng.choice((None, None, None, 0, 5_000))
        made[f"q{number}"] = replace(plan, aggregation=replace(plan.aggregation, max_ahead_ms=ahead))
    return made


def field(rng: random.Random, name: str, bad: bool) -> str:
    """The text of a value."""
    if bad and name not in "kw" and rng.random() < 0.02:
        return "?"
    if name != "t" and rng.random() < 0.05:
        return ""
    match name:
        case "t":
            return f"{1_000 + rng.randrange(rng.choice((30, 300)))}"
        case "k":
            return rng.choice("abcdeA")
        case "w":
            return rng.choice(("p", "q", "r", "P", "", "é", f"w{rng.randrange(40)}"))
        case "i":
            return f"{rng.randrange(-2, 5)}"
        case "b":
            return f"{rng.choice((2**40, -(2**62), 7, rng.randrange(9)))}"
        case "x":
            return rng.choice(("0.1", "-0.0", "0.0", "NaN", "1e300", "-1e300", "Infinity", f"{rng.random()}"))
        case "d":
            return f"{rng.randrange(-99, 99)}.{rng.randrange(10)}"
        case _:
            return rng.choice(("true", "false"))


def batch(rng: random.Random, count: int, bad: bool = False) -> ParsedBatch:
    """Tuples, some of them future, and some bad."""
    lines = [",".join(field(rng, name, bad) for name in NAMES).encode() for _ in range(count)]
    lengths = np.array([len(line) for line in lines], np.int64)
    written = np.full(count, 1_310_000 if rng.random() < 0.5 else 1_200_000)
    messages = Messages(np.frombuffer(b"".join(lines), np.uint8), np.cumsum(lengths) - lengths, lengths, np.arange(count),
                        written)
    return judge(STREAM, Parser(STREAM, NAMES).parse(messages), messages, Limits(0, (0, 5_000)))


def shown(done: TaskCells) -> tuple:
    """All of a result, to be compared: its cells as they are sent, in their order."""
    sent = [cells.decode(cells.encode(part)) for part in done.parts]
    return (done.counts, done.counted, done.bad_reasons, done.max_event_time,
            [(part.schema, repr(part.to_pydict())) for part in sent])


@pytest.mark.parametrize("seed", range(400 if os.environ.get("LONG_TESTS") else 40))
def test_together_each_task_gets_what_it_gets_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "FEWEST", 100)
    monkeypatch.setattr(wanted, "SAMPLE", 100)
    rng = random.Random(seed)
    queries, planner = plans(rng, rng.choice((2, 10, 40))), Planner()
    for size in (rng.choice((0, 1, 50)), rng.choice((400, 6_000))):
        given = batch(rng, size, rng.random() < 0.5)
        alone = {query: shown(aggregate_task(plan, STREAM, given, 5)) for query, plan in queries.items()}
        place = planner(queries, STREAM, given, 5)
        if given.common is None:
            assert len({plan.aggregation.cells_name for plan in queries.values()}) < 2
            continue
        for query in sorted(queries, key=lambda query: place[query]):
            together = given.common(queries[query].aggregation)
            assert shown(together) == alone[query], queries[query].sql


def compiled(*statements: str) -> dict[str, QueryPlan]:
    """Queries by number."""
    return {f"q{n}": compile_select(parse(one), STREAM, continuous=False) for n, one in enumerate(statements)}


def common_of(queries: dict[str, QueryPlan], given: ParsedBatch) -> Common:
    """What they have in common, for this batch."""
    aggregations = [plan.aggregation for plan in queries.values()]
    return Common(sharing_of(aggregations, STREAM, frozenset(given.bad)), STREAM, given, 5)


def test_points_are_filtered_and_grouped_together_whatever_else_is_in_their_conditions() -> None:
    tests = ("", " AND x > 0", " AND x > 0 AND ok")
    queries = compiled(*(f"SELECT w, count(*) FROM s WHERE k = '{k}'{test} GROUP BY w WINDOWING 20 s"
                         for k in "abcd" for test in tests))
    common = common_of(queries, batch(random.Random(1), 300))
    tasks = common.sharing.tasks.values()
    assert len({task.shape for task in tasks}) == len({task.choice for task in tasks}) == len(tests)
    assert {task.slot for task in tasks} == {0, 1, 2, 3}
    assert [str(task.choice.filter.rest).count("'gt'") for task in tasks][::4] == [0, 1, 1]


def test_a_shape_that_has_few_of_the_constants_is_made_for_these_alone() -> None:
    queries = compiled(*(f"SELECT count(*) FROM s WHERE i = {i} WINDOWING 20 s" for i in range(20)),
                       *(f"SELECT count(*) AS n{key} FROM s WHERE i = 3 GROUP BY {key} WINDOWING 20 s" for key in "kw"))
    tasks = list(common_of(queries, batch(random.Random(1), 300)).sharing.tasks.values())
    assert [task.choice.filter.constants for task in tasks if not task.choice.is_divided] == [(3,), (3,)]
    assert len({task.choice for task in tasks}) == 2


def test_groups_that_no_query_wants_are_made_where_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "FEWEST", 100)
    given = batch(random.Random(3), 6_000)

    def made(*keys: str) -> list[Wanted]:
        queries = compiled(*(f"SELECT count(*), sum(i) FROM s GROUP BY {key} WINDOWING {length} s"
                             for key, length in zip(keys, (400, 600), strict=True)))
        common = common_of(queries, given)
        chosen = Chosen(common, next(iter(common.sharing.tasks.values())).choice)
        return wanted.phantoms(next(iter(common.sharing.tasks.values())).choice.tops, chosen.tuples)

    [phantom] = made("k", "ok")
    assert len(phantom.keys) == 2
    assert phantom.step == 200
    assert made("k", "x, d, w") == []


def test_a_query_that_cannot_be_computed_takes_no_other_with_it() -> None:
    queries = compiled(*(f"SELECT {key}, count(*) FROM s GROUP BY {key} WINDOWING 20 s" for key in "kw"))
    unknown = Call("no_function", (Column("k", "STRING"),), "STRING")
    kept = queries["q1"].aggregation
    queries["q1"] = replace(queries["q1"], aggregation=replace(kept, keys=(replace(kept.keys[0], expression=unknown),)))
    given = batch(random.Random(3), 300)
    alone = shown(aggregate_task(queries["q0"], STREAM, given, 5))
    for order in ("q0", "q1"), ("q1", "q0"):
        Planner()(queries, STREAM, given, 5)
        assert given.common is not None
        for query in order:
            if query == "q1":
                with pytest.raises(KeyError):
                    aggregate_task(queries[query], STREAM, given, 5)
            else:
                assert shown(aggregate_task(queries[query], STREAM, given, 5)) == alone


def test_a_long_chain_of_conditions_is_no_deep_one() -> None:
    tests = " AND ".join(f"i <> {n}" for n in range(10, 2_000))
    queries = compiled(*(f"SELECT count(*) FROM s WHERE k = '{k}' AND {tests} WINDOWING 20 s" for k in "ab"))
    given = batch(random.Random(3), 300)
    common = common_of(queries, given)
    for plan in queries.values():
        assert shown(common.task(plan.aggregation)) == shown(aggregate_task(plan, STREAM, given, 5))
