"""EXPLAIN's text stands next to the SQL: plans/x.sql, plans/x.plan (in words) and plans/x.spark (as Spark SQL).

After a change that is meant, `MARS_UPDATE_SNAPSHOTS=1 pytest tests/sql/test_explain.py` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mars.model.plan import Stream
from sql.check.compile import compile_select
from sql.read.parse import parse
from sql.say.explain import explain
from sql.say.spark import spark_sql
from sql.statements import CreateQuery

FILES = sorted((Path(__file__).parent / "plans").glob("*.sql"))


def check(path: Path, text: str) -> None:
    """Compares with the snapshot, or writes it when asked to."""
    if os.environ.get("MARS_UPDATE_SNAPSHOTS"):
        path.write_text(text + "\n")
    assert path.read_text() == text + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_explain_is_the_snapshot(path: Path, flows: Stream) -> None:
    statement = parse(path.read_text())
    continuous = isinstance(statement, CreateQuery)
    plan = compile_select(statement.select if continuous else statement, flows, continuous)
    check(path.with_suffix(".plan"), "\n".join(explain(plan, flows)))
    check(path.with_suffix(".spark"), spark_sql(plan, flows, "tuples"))


def test_there_are_snapshots() -> None:
    assert len(FILES) >= 8
