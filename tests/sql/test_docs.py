"""The reference of the dialect: each of its statements reads, and it lists every function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mars.algebra.aggregate_functions import AGGREGATES, UNCALLABLE
from mars.algebra.functions import OPERATORS, SCALARS
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.statements import CreateQuery, CreateStream, Explain, SelectStatement

TEXT = (Path(__file__).parents[2] / "docs" / "dialect.md").read_text()
BLOCKS = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)
FLOWS = compile_stream(parse(BLOCKS[1]))


@pytest.mark.parametrize("sql", BLOCKS)
def test_every_statement_reads_and_compiles(sql: str) -> None:
    statement = parse(sql, {"flows": "stream", "talkers": "query", "minutes_late": "late"}.get)
    if isinstance(statement, CreateStream):
        assert compile_stream(statement).columns
    select = statement.select if isinstance(statement, CreateQuery | Explain) else statement
    if isinstance(select, SelectStatement):
        assert compile_select(select, FLOWS, isinstance(statement, CreateQuery)).presentation.outputs


def test_every_function_is_listed() -> None:
    written = {"is_nan": "isnan"}
    unlisted = {*OPERATORS, "is_null", "is_not_null", "modulo", "negate"}
    functions = [n for n in SCALARS if n not in unlisted] + [n for n in AGGREGATES if n not in UNCALLABLE]
    assert [name for name in functions if f"`{written.get(name, name)}(" not in TEXT] == []
