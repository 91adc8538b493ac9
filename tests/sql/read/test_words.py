"""Words, quotes and escapes."""

from __future__ import annotations

import pytest

from sql.read.words import read_words


def values(sql: str) -> list[tuple[str, str]]:
    return [(word.kind, word.value) for word in read_words(sql)[:-1]]


def test_a_number_with_its_unit_is_one_word() -> None:
    assert values("WINDOWING 60s") == [("name", "WINDOWING"), ("number", "60s")]
    assert values("WINDOWING 60 s") == [("name", "WINDOWING"), ("number", "60"), ("name", "s")]


@pytest.mark.parametrize(("written", "meant"), [
    ("'it''s'", "it's"), (r"'it\'s'", "it's"), (r"'a\tb'", "a\tb"), (r"'\u00e9'", "é"), (r"'50\%'", r"50\%"), ("''", ""),
    (r"'\\'", "\\"), (r"'\101'", "A"), ("''''", "'"), ("'é😀'", "é😀"), (r"'\ud800'", "\ufffd")])
def test_texts_have_the_escapes_of_spark(written: str, meant: str) -> None:
    assert values(written) == [("text", meant)]


def test_places_point_into_the_text() -> None:
    sql = "EXPLAIN /* é😀 */\n SELECT `a b`, 'x''y'"
    assert [sql[w.start:w.end] for w in read_words(sql)[:-1]] == ["EXPLAIN", "SELECT", "`a b`", ",", "'x''y'"]
