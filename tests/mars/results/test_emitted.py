"""Rows of windows that are given out while they are open, as readers see them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from mars.model.plan import QueryPlan
from mars.publisher.postgres import newest as last_of_each
from mars.publisher.target import Shape
from mars.results.cursors import Selection
from mars.results.emitted import is_emitted, newest, shown, still_open, whole
from mars.results.pieces import Piece
from mars.results.rows import Choice, first_rows
from mars.results.schema import columns_of, schema_of
from sql.check.compile import compile_select
from sql.check.condition import compile_condition
from sql.read.parse import parse
from sql.say.explain import explain
from tests.reducer.pieces import STREAM

S, SIZE, EVERY = 1_000_000, 60, 20


def plan_of(emission: str) -> QueryPlan:
    return compile_select(parse(f"CREATE QUERY q AS SELECT k, count(*) FROM s GROUP BY k WINDOWING 60 s {emission}").select,
                          STREAM, True)


PLAN = plan_of("EMIT EVERY 20 s")
Row = tuple[int, int, int, int]  # start, time at which it is given out, key, count


def piece(*rows: Row) -> Piece:
    """A piece of a result, as commits have it."""
    return Piece.of(pa.Table.from_pylist([
        {"window_start": start * S, "window_end": at * S, "k": key, "count": count, "final": at == start + SIZE}
        for start, at, key, count in rows], schema_of(PLAN)))


def told(tables: list[pa.Table]) -> list[tuple]:
    return sorted((int(row["window_start"].timestamp()), int(row["window_end"].timestamp()), *list(row.values())[2:])
                  for table in tables for row in table.to_pylist())


def test_the_plan_has_a_last_column_and_explain_says_when_rows_come():
    assert [name for name, _ in columns_of(PLAN)] == ["window_start", "window_end", "k", "count", "final"]
    assert is_emitted(PLAN)
    assert Shape.of(PLAN).is_emitted
    assert not is_emitted(plan_of("EMIT FINAL"))
    assert any(line.startswith("emits       EVERY 20 s: at each multiple T of 20 s") for line in explain(PLAN, STREAM))


def test_what_is_shown_is_the_end_of_the_window():
    table = piece((0, 20, 1, 5), (0, 60, 1, 7), (60, 80, 2, 1)).load()
    assert told([shown(PLAN, table)]) == [(0, 60, 1, 5, False), (0, 60, 1, 7, True), (60, 120, 2, 1, False)]
    assert shown(PLAN, shown(PLAN, table)) == shown(PLAN, table)
    other = plan_of("EMIT FINAL")
    assert shown(other, table.drop_columns("final")) == table.drop_columns("final")


def test_a_page_has_final_rows_of_closed_windows_and_the_newest_of_open_ones():
    pieces = [piece((0, 20, 1, 5), (0, 20, 2, 1)), piece((0, 40, 1, 6)), piece((0, 60, 1, 7), (0, 60, 2, 1), (60, 80, 1, 1)),
              piece((60, 80, 3, 2), (60, 100, 1, 4))]
    found = newest(PLAN, pieces, 60 * S)
    assert told([one.load() for one in found]) == [(0, 60, 1, 7, True), (0, 60, 2, 1, True), (60, 120, 1, 4, False),
                                                   (60, 120, 3, 2, False)]
    assert told([one.load() for one in whole(PLAN, pieces)]) == [(0, 60, 1, 7, True), (0, 60, 2, 1, True)]
    assert whole(plan_of("EMIT FINAL"), pieces) == pieces


@pytest.mark.parametrize("seed", range(20))
def test_the_newest_rows_are_those_of_plain_counting_however_they_lie_in_pieces(seed):
    chance = random.Random(seed)
    times = [(start, start + since) for start in (0, 60, 120) for since in range(EVERY, SIZE + 1, EVERY)]
    rows = {(start, at, key): chance.randrange(99) for start, at in times for key in range(4)
            if at == start + SIZE or chance.random() < 0.5}
    bound = chance.randrange(20, 190)
    visible = {of: count for of, count in rows.items() if of[1] <= bound}
    expected: dict[tuple[int, int], tuple[int, bool]] = {}
    for (start, at, key), count in sorted(visible.items(), key=lambda item: item[0][1]):
        expected[start, key] = count, at == start + SIZE
    given = [(*of, count) for of, count in visible.items()]
    chance.shuffle(given)
    cut = chance.randrange(1, 9)
    pieces = [piece(*given[at:at + cut]) for at in range(0, len(given), cut)]
    found = told([one.load() for one in newest(PLAN, pieces, bound * S)])
    closed = {of for of in expected if of[0] + SIZE <= bound}
    assert {(start, key): (count, final) for start, _, key, count, final in found} == expected
    assert len(found) == len(expected)
    assert closed == {(start, key) for start, _, key, _, final in found if final}


def test_a_condition_sees_what_is_shown():
    selection = Selection(where="window_end = '1970-01-01T00:01:00Z' AND NOT final")
    choice = Choice.of(PLAN, selection, lambda text, columns: compile_condition(text, columns, "DESCRIBE q"))
    found = first_rows(choice, [piece((0, 20, 1, 5), (0, 60, 1, 7), (60, 80, 2, 1))], 9)
    assert told([found]) == [(0, 20, 1, 5, False)], "its place stays"


def test_of_a_partial_page_nothing_open_is_final():
    assert told([still_open(piece((60, 120, 1, 4)).load())]) == [(60, 120, 1, 4, False)]


def test_a_table_gets_the_last_row_of_each_key():
    rows = shown(PLAN, piece((0, 20, 1, 5), (0, 20, 2, 1), (0, 40, 1, 6), (0, 60, 1, 7), (60, 80, 1, 1)).load())
    kept = last_of_each(rows, ("window_start", "window_end", "k"))
    assert told([kept]) == [(0, 60, 1, 7, True), (0, 60, 2, 1, False), (60, 120, 1, 1, False)]
