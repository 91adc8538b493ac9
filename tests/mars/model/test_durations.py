"""Durations in their units, and their text reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mars.model.durations import LONGEST_MS, format_duration, to_milliseconds, unit_of


@pytest.mark.parametrize(("number", "word", "milliseconds"), [
    (60, "s", 60_000), (1, "Minute", 60_000), (500, "ms", 500), (2, "hours", 7_200_000), (1, "d", 86_400_000),
    (0, "s", None), (10 ** 30, "s", None)])
def test_numbers_of_a_unit(number: int, word: str, milliseconds: int | None) -> None:
    assert to_milliseconds(number, unit_of(word)) == milliseconds


def test_what_is_no_unit() -> None:
    assert [unit_of(word) for word in ("month", "", "60")] == [None] * 3


@given(st.integers(1, LONGEST_MS))
def test_the_text_of_a_duration_reads_back(milliseconds: int) -> None:
    number, unit = format_duration(milliseconds).split()
    assert to_milliseconds(int(number), unit_of(unit)) == milliseconds
