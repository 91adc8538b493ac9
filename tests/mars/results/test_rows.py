"""Which rows are chosen and how they are ordered, compared with DuckDB on nasty values."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mars.errors import SqlError
from mars.results.cursors import Selection
from mars.results.pieces import Piece
from mars.results.places import Place
from mars.results.rows import Choice, first_rows
from mars.results.schema import schema_of
from sql.check.compile import compile_select
from sql.check.condition import result_condition
from sql.read.create import compile_stream
from sql.read.parse import parse

STREAM = replace(compile_stream(parse("CREATE STREAM s (t BIGINT, name STRING, x DOUBLE, flag BOOLEAN, d DECIMAL(12,2)) "
                                      "FROM KAFKA 't' FORMAT CSV TIMESTAMP t UNIT s")), id=1)
PLAN = compile_select(parse("SELECT name, x, flag, d, count(*) FROM s GROUP BY name, x, flag, d WINDOWING 60 s"),
                      STREAM, continuous=True)
NAMES = [None, "", "a", "B", "ä", "z", "\U0001f600", "a\x00"]
FLOATS = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5]


def table(seed: int, rows: int = 60) -> pa.Table:
    draw = random.Random(seed)
    starts = [draw.choice([-30, 0, 30, 60]) * 1_000_000 for _ in range(rows)]
    columns = [starts, [start + draw.choice([30, 60]) * 1_000_000 for start in starts],
               draw.choices(NAMES, k=rows), draw.choices(FLOATS, k=rows), draw.choices([None, True, False], k=rows),
               draw.choices([None, "-1.00", "10.00", "9.50"], k=rows), list(range(rows))]
    columns[5] = pa.array([None if value is None else pa.scalar(value).cast(pa.decimal128(12, 2)).as_py()
                           for value in columns[5]], pa.decimal128(12, 2))
    return pa.Table.from_arrays([column if isinstance(column, pa.Array) else pa.array(column, field.type)
                                 for column, field in zip(columns, schema_of(PLAN), strict=True)], schema=schema_of(PLAN))


def by_duckdb(rows: pa.Table, where: str, descending: bool) -> list[int]:
    """The rows' numbers in the order that DuckDB gives them."""
    plain = rows.cast(pa.schema([f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f
                                 for f in rows.schema]))
    way = "DESC NULLS LAST" if descending else "ASC NULLS FIRST"
    order = ", ".join(f'"{name}" {way}' for name in ("window_start", "window_end", "name", "x", "flag", "d"))
    connection = duckdb.connect()
    connection.register("result", plain)
    found = connection.sql(f'SELECT "count" FROM result WHERE {where} ORDER BY {order}, "count"')
    return [count for count, in found.fetchall()]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("where", [None, "x > 1", "name LIKE 'a%' OR name IS NULL", "d >= 9.5 AND NOT flag"])
def test_the_order_is_that_of_another_engine(where, descending):
    for seed in range(10):
        rows = table(seed)
        halves = rows.slice(0, len(rows) // 2), rows.slice(len(rows) // 2)
        pieces = [Piece.of(half) for half in halves]
        choice = Choice.of(PLAN, Selection(where=where, descending=descending), result_condition)
        found = first_rows(choice, pieces, len(rows))
        counts = found["count"].to_pylist()
        expected = by_duckdb(rows, where or "TRUE", descending)
        assert sorted(counts) == sorted(expected)
        assert keys(rows, counts) == keys(rows, expected)


def keys(rows: pa.Table, numbers: list[int]) -> list[str]:
    """What the rows of these numbers are ordered by, -0 as 0; rows with equal keys may stand in any order."""
    columns = rows.drop_columns(["count"]).take(numbers).to_pylist()
    return [str([0.0 if value == 0 and isinstance(value, float) else value for value in row.values()]) for row in columns]


def test_pages_follow_each_other_without_gap_or_double():
    rows = table(1)
    piece = [Piece.of(rows)]
    whole = first_rows(Choice.of(PLAN, Selection(), result_condition), piece, 1_000)
    start, end = (whole[name].cast(pa.int64())[29].as_py() for name in ("window_start", "window_end"))
    same = [(s, e) for s, e in zip(whole["window_start"].cast(pa.int64()).to_pylist()[:30],
                                   whole["window_end"].cast(pa.int64()).to_pylist()[:30], strict=True)].count((start, end))
    after = first_rows(Choice.of(PLAN, Selection(), result_condition, Place(start, end, same)), piece, 1_000)
    assert str(pa.concat_tables([whole.slice(0, 30), after]).to_pylist()) == str(whole.to_pylist())


@pytest.mark.parametrize("at", [1, 17, 30, 59])
def test_in_the_order_of_ends_rows_follow_each_other_too(monkeypatch, at):
    """As events and sinks have them: sessions close in this order, and not in that of their starts."""
    monkeypatch.setattr("mars.results.pieces.STRATUM_ROWS", 7)
    rows = table(3)
    lengths = np.random.default_rng(1).integers(1, 9, len(rows)) * 30_000_000
    ends = pc.add(rows["window_start"].cast(pa.int64()), pa.array(lengths)).cast(rows["window_end"].type)
    rows = rows.set_column(rows.schema.get_field_index("window_end"), "window_end", ends)
    pieces = [Piece.of(rows.slice(first, 10)) for first in range(0, len(rows), 10)]
    whole = first_rows(Choice.of(PLAN, Selection(), result_condition, by_end=True), pieces, 1_000)
    ends, starts = (whole[name].cast(pa.int64()).to_pylist() for name in ("window_end", "window_start"))
    windows = list(zip(ends, starts, strict=True))
    assert windows == sorted(windows)
    assert starts != sorted(starts)
    end, start = windows[at - 1]
    after = Place(start, end, windows[:at].count((end, start)))
    rest = first_rows(Choice.of(PLAN, Selection(), result_condition, after, by_end=True), pieces, 1_000)
    assert str(pa.concat_tables([whole.slice(0, at), rest]).to_pylist()) == str(whole.to_pylist())


def test_a_page_of_few_rows_reads_few_pieces_however_few_are_chosen(monkeypatch):
    monkeypatch.setattr("mars.results.pieces.STRATUM_ROWS", 20)
    whole, loaded = table(2).sort_by("window_start"), []

    def load(at: int) -> pa.Table:
        loaded.append(at)
        return whole.slice(at, 10)

    places = range(0, len(whole), 10)
    pieces = [replace(Piece.of(whole.slice(at, 10)), load=lambda at=at: load(at)) for at in places]
    found = first_rows(Choice.of(PLAN, Selection(where="count % 7 = 0"), result_condition), pieces, 1)
    assert len(found) == 1
    assert len(loaded) < len(places) / 2


@pytest.mark.parametrize("descending", [False, True])
def test_of_windows_that_begin_together_few_pieces_are_read(monkeypatch, descending):
    """As of a landmark: [0, 10 s), [0, 20 s), ... lie one behind the other."""
    monkeypatch.setattr("mars.results.pieces.STRATUM_ROWS", 20)
    type_, loaded = schema_of(PLAN).field("window_end").type, []
    whole = table(2).set_column(0, "window_start", pa.array([0] * 60).cast(type_)).set_column(
        1, "window_end", pa.array([10_000_000 * (n // 3 + 1) for n in range(60)]).cast(type_))

    def load(at: int) -> pa.Table:
        loaded.append(at)
        return whole.slice(at, 10)

    pieces = [replace(Piece.of(whole.slice(at, 10)), load=lambda at=at: load(at)) for at in range(0, 60, 10)]
    choice = Choice.of(PLAN, Selection(descending=descending), result_condition)
    found = first_rows(choice, pieces, 10)
    assert len(loaded) == 2
    assert str(found.to_pylist()) == str(choice.ordered(whole).slice(0, 10).to_pylist())


@pytest.mark.parametrize(("where", "column"), [("count >", 7), ("nothing > 1", 1), ("count > 1 LIMIT 3", 1), ("", 1),
                                               ("count", 1), ("sum(count) > 1", 1), ("count > 1 FROM EARLIEST", 1)])
def test_what_is_no_condition_is_refused_at_its_place(where, column):
    with pytest.raises(SqlError) as refused:
        Choice.of(PLAN, Selection(where=where), result_condition)
    assert (refused.value.sql, refused.value.line, refused.value.column) == (where, 1, column)
