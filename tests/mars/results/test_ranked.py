"""ORDER BY .. LIMIT n of a continuous query: the first rows of each window, wherever its rows lie."""

from __future__ import annotations

import random
from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest

from mars.model.plan import Presentation, QueryPlan
from mars.results import ranked
from mars.results.pieces import Piece
from sql.check.compile import compile_select
from sql.read.parse import parse
from sql.say.explain import explain
from tests.mars.results.test_rows import STREAM, table

SELECT = "SELECT name, x, flag, d, count(*) FROM s GROUP BY name, x, flag, d WINDOWING 60 s"


def plan_of(order: str) -> QueryPlan:
    return compile_select(parse(f"CREATE QUERY q AS {SELECT} {order}").select, STREAM, continuous=True)


def pieces_of(rows: pa.Table, chance: random.Random, count: int) -> list[Piece]:
    """The rows in that many pieces, as those of several key parts lie: a window's rows are in any of them."""
    lots = [chance.randrange(count) for _ in range(len(rows))]
    parts = [rows.filter(pa.array([lot == number for lot in lots])) for number in range(count)]
    return [Piece.of(part) for part in parts if len(part)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("order", "by_duckdb"), [
    ("ORDER BY count DESC LIMIT 2", '"count" DESC NULLS LAST'),
    ("ORDER BY x, d DESC LIMIT 3", "x ASC NULLS FIRST, d DESC NULLS LAST"),
    ("ORDER BY flag DESC, name LIMIT 1", "flag DESC NULLS LAST, name ASC NULLS FIRST"),
    ("ORDER BY 2 DESC LIMIT 1000", "x DESC NULLS LAST")])
def test_the_first_rows_of_each_window_are_those_of_another_engine(seed, order, by_duckdb):
    plan, rows, chance = plan_of(order), table(seed), random.Random(seed)
    keys = ", ".join(f"{name} ASC NULLS FIRST" for name in ("name", "x", "flag", "d"))
    connection = duckdb.connect()
    plain = [f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f for f in rows.schema]
    connection.register("result", rows.cast(pa.schema(plain)))
    wanted = connection.sql(
        f'SELECT "count" FROM result QUALIFY row_number() OVER (PARTITION BY window_start, window_end ORDER BY {by_duckdb}, '
        f'{keys}) <= {plan.presentation.window_limit} ORDER BY "count"').fetchall()
    assert sorted(ranked.shown(plan, rows)["count"].to_pylist()) == [count for count, in wanted]
    found = [piece.load() for piece in ranked.of_pieces(plan, pieces_of(rows, chance, 1 + seed % 5))]
    assert sorted(pa.concat_tables(found)["count"].to_pylist()) == [count for count, in wanted]


def test_pieces_of_other_windows_are_not_read():
    plan, read = plan_of("ORDER BY count LIMIT 1"), []
    rows = table(1)
    early, late = (rows.filter(pa.array([mark == at for mark in rows["window_start"].cast(pa.int64()).to_pylist()]))
                   for at in (0, 60_000_000))

    def seen(name: str, part: pa.Table) -> Piece:
        return replace(Piece.of(part), load=lambda: read.append(name) or part)

    first, _, third = ranked.of_pieces(plan, [seen("a", early), seen("b", early), seen("c", late)])
    assert len(third.load()) == len(set(late["window_end"].to_pylist()))
    assert read == ["c"]
    first.load()
    assert sorted(read) == ["a", "b", "c"]


def test_an_empty_result_and_another_query_stay_as_they_are():
    plan, rows = plan_of("ORDER BY count LIMIT 1"), table(1)
    assert len(ranked.shown(plan, rows.slice(0, 0))) == 0
    assert ranked.of_pieces(plan, []) == []
    other = plan_of("")
    assert ranked.shown(other, rows) is rows


def test_the_plan_keeps_it_and_explain_says_it():
    plan = plan_of("ORDER BY count DESC, name LIMIT 3")
    assert (plan.presentation.order_by, plan.presentation.limit) == (((4, True), (0, False)), None)
    assert Presentation.from_json(plan.presentation.to_json()) == plan.presentation
    assert "limit       3 rows of each window, the first in that order, then by keys" in explain(plan, STREAM)
    assert plan_of("").aggregation.cells_name == plan.aggregation.cells_name  # they share what is computed
