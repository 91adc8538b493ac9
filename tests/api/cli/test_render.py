"""Answers as table, json, csv and arrow."""

import csv
import io
import json

import pyarrow as pa

from api.cli.render import as_csv, render
from api.cli.running import show
from mars.results import formats

COLUMNS = [{"name": "n", "type": "BIGINT"}, {"name": "who", "type": "STRING"}, {"name": "amount", "type": "DECIMAL(10,2)"},
           {"name": "share", "type": "DOUBLE"}, {"name": "at", "type": "TIMESTAMP"}]
ROWS = [[1, "ä,\"b\"", "1.50", 0.25, "2026-01-01T00:00:00Z"], [2, None, None, "NaN", None]]
ANSWER = {"kind": "rows", "columns": COLUMNS, "rows": ROWS}


def test_json_is_one_array_of_objects():
    found = json.loads(render(ANSWER, "json"))
    assert [row["n"] for row in found] == [1, 2]
    assert found[0]["who"] == 'ä,"b"'
    assert found[1]["who"] is None
    assert json.loads(render({**ANSWER, "rows": []}, "json")) == []


def test_csv_quotes_and_leaves_null_empty():
    rows = list(csv.reader(io.StringIO(render(ANSWER, "csv").decode())))
    assert rows[0] == ["n", "who", "amount", "share", "at"]
    assert rows[1][1] == 'ä,"b"'
    assert rows[2][1:3] == ["", ""]


def test_arrow_reads_every_time_that_answers_have():
    times = pa.array([0, None, 1_500_000, 2**63 - 1, -(2**63) + 1], pa.timestamp("us", "UTC"))
    days = pa.array([0, None, 19_782, 2**31 - 1, -(2**31) + 1], pa.date32())
    table = pa.table({"t": times, "d": days})
    answer = {"kind": "rows", "columns": formats.named_types(table.schema), "rows": formats.rows(table)}
    assert pa.ipc.open_stream(render(answer, "arrow")).read_all() == table


def test_arrow_has_the_declared_types():
    table = pa.ipc.open_stream(render(ANSWER, "arrow")).read_all()
    assert table.schema.field("amount").type == pa.decimal128(10, 2)
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")
    assert str(table["amount"][0].as_py()) == "1.50"
    assert table["at"][1].as_py() is None
    assert table["share"][1].as_py() != table["share"][1].as_py()


def test_table_aligns_wide_characters_and_keeps_a_row_on_its_line():
    answer = {"kind": "rows", "columns": COLUMNS[:2], "rows": [[1, "日本\n語"], [22, "x" * 100]]}
    lines = render(answer, "table").decode().splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("  1 | 日本\\n語")
    assert lines[3].endswith("…")


def test_a_value_is_cut_for_a_screen_alone(monkeypatch, capfdbinary):
    answer = {"kind": "rows", "columns": COLUMNS[1:2], "rows": [["x" * 100]]}
    show(answer, "table")
    assert b"x" * 100 in capfdbinary.readouterr().out
    monkeypatch.setattr("sys.stdout", open(1, "w", closefd=False))  # noqa: SIM115 - what capfdbinary reads
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show(answer, "table")
    assert "…".encode() in capfdbinary.readouterr().out


def test_a_plan_is_shown_as_its_lines():
    answer = {"kind": "plan", "columns": [{"name": "plan", "type": "STRING"}], "rows": [["a"], ["  b"]]}
    assert render(answer, "table") == b"a\n  b\n"


def test_expanded_has_a_line_a_value():
    text = render(ANSWER, "table", expanded=True).decode()
    assert "-[ row 2 ]" in text
    assert "who    | NULL" in text


def test_csv_tells_null_from_the_empty_text():
    columns = [{"name": "a", "type": "STRING"}, {"name": "b", "type": "STRING"}]
    assert as_csv(columns, [[None, ""], ['x"y', "1,2"]]) == 'a,b\n,""\n"x""y","1,2"\n'
