"""Durations read, and their text reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mars.model.durations import LONGEST_MS, format_duration, parse_duration


@pytest.mark.parametrize(("text", "milliseconds"), [
    ("60 s", 60_000), ("60s", 60_000), ("1 Minute", 60_000), ("500ms", 500), (" 2 hours ", 7_200_000), ("1 d", 86_400_000),
    ("0 s", None), ("-1 s", None), ("1.5 s", None), ("60", None), ("s", None), ("1 month", None), ("9" * 30 + " s", None)])
def test_texts(text: str, milliseconds: int | None) -> None:
    assert parse_duration(text) == milliseconds


@given(st.integers(1, LONGEST_MS))
def test_the_text_of_a_duration_reads_back(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds)) == milliseconds
