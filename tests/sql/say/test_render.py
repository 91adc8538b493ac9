"""An error as text for a terminal."""

from __future__ import annotations

import pytest

from mars.errors import SqlError
from sql.read.parse import parse
from sql.refusals import refusal
from sql.say.render import caret


def test_the_line_and_carets_are_drawn() -> None:
    with pytest.raises(SqlError) as refused:
        parse("SELECT sip\nFORM s")
    assert caret(refused.value) == """\
error: unexpected FORM
  2 | FORM s
    | ^^^^
  the statement cannot be parsed here
  hint: did you mean FROM?"""


def test_a_long_line_is_cut_around_the_cause() -> None:
    sql = "a " * 200 + "b" + " c" * 200
    drawn = caret(refusal(sql, 400, 401, "wrong")).split("\n")
    assert drawn[1][drawn[2].index("^")] == "b"
    assert max(map(len, drawn)) < 130


def test_an_error_without_a_place_has_no_line() -> None:
    assert caret(SqlError("no", "because", "so")) == "error: no\n  because\n  hint: so"
