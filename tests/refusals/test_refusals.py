"""Every refusal is a file: what it is compiled over, and the place, title and hint that the user gets.

`over` is statement (parsing refuses it), stream (a CREATE STREAM), continuous (as in CREATE QUERY), once (given alone)
or seconds (continuous, over a stream whose event time counts in seconds).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mars.errors import SqlError
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.say.render import caret

FILES = sorted(Path(__file__).parent.glob("*.sql"))
COLUMNS = ("sip STRING, type INT, bytes BIGINT, price DECIMAL(10, 2), ratio DOUBLE, ok BOOLEAN, d DATE, t TIMESTAMP, "
           "timestamp BIGINT")


def stream(unit: str):
    """The stream that the files are compiled over."""
    source = f"FROM KAFKA 'flows' FORMAT CSV TIMESTAMP timestamp UNIT {unit}"
    return compile_stream(parse(f"CREATE STREAM s ({COLUMNS}) {source}"))


def refuse(over: str, sql: str) -> None:
    """Does with the statement what the file says; it should raise."""
    statement = parse(sql)
    if over == "stream":
        compile_stream(statement)
    if over in ("continuous", "once", "seconds"):
        compile_select(statement, stream("s" if over == "seconds" else "ms"), continuous=over != "once")


def expected_of(text: str) -> tuple[dict[str, str], str]:
    """The expectations in the leading comments, and the statement after them."""
    lines = text.split("\n")
    head = [line.removeprefix("-- ").split(":", 1) for line in lines[:4]]
    return {key: value.strip() for key, value in head}, "\n".join(lines[4:])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_refusal_has_the_place_the_title_and_the_hint(path: Path) -> None:
    expected, sql = expected_of(path.read_text())
    with pytest.raises(SqlError) as refused:
        refuse(expected["over"], sql)
    error = refused.value
    assert (f"{error.line}:{error.column}", error.title, error.hint) == (
        expected["at"], expected["title"], expected["hint"])
    assert error.hint
    assert error.title in caret(error)


def test_there_are_files_and_each_has_all_four_expectations() -> None:
    assert len(FILES) > 100
    for path in FILES:
        assert set(expected_of(path.read_text())[0]) == {"over", "at", "title", "hint"}, path
