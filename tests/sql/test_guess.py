"""A schema guessed from messages, and a statement that creates it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sql.create import compile_stream
from sql.guess import Guess, create_stream_sql, guess_schema
from sql.parse import parse


def types(guess: Guess) -> dict[str, str]:
    return {column.name: column.type for column in guess.columns}


def test_csv_with_a_header() -> None:
    guess = guess_schema([b"time,sip,n,m\n1700000000000,a,1,x\r\n1700000000001,,2.5,y\n"])
    assert (guess.format, guess.header, guess.time_column, guess.unit) == ("CSV", True, "time", "ms")
    assert types(guess) == {"time": "BIGINT", "sip": "STRING", "n": "DOUBLE", "m": "STRING"}


def test_csv_without_a_header_and_with_another_delimiter() -> None:
    guess = guess_schema([b"1700000000;x;true;2020-01-02", b'1700000003;"a;b";;2020-01-03'])
    assert (guess.header, guess.delimiter, guess.time_column, guess.unit) == (False, ";", "c1", "s")
    assert types(guess) == {"c1": "BIGINT", "c2": "STRING", "c3": "BOOLEAN", "c4": "DATE"}


def test_json_reaches_one_level_inside() -> None:
    guess = guess_schema([b'{"a": 1, "at": "2024-01-01T00:00:00Z", "u": {"id": "x", "n": 3}}',
                          b'[{"a": 2.5, "window_start": 1}]'])
    assert (guess.format, guess.time_column, guess.unit) == ("JSON", "at", None)
    assert types(guess) == {"a": "DOUBLE", "at": "TIMESTAMP", "u_id": "STRING", "u_n": "BIGINT", "window_start_2": "BIGINT"}
    assert [c.path for c in guess.columns] == [None, None, "u.id", "u.n", "window_start"]


def test_a_telling_name_goes_before_the_first_place() -> None:
    guess = guess_schema([b"created,timestamp\n1700000000000,1700000000001\n"])
    assert guess.time_column == "timestamp"


@pytest.mark.parametrize("messages", [[], [b""], [b"\n \n"]])
def test_no_tuple_no_guess(messages: list[bytes]) -> None:
    assert guess_schema(messages) is None


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes_give_a_statement_that_reads_if_there_is_a_time(messages: list[bytes]) -> None:
    guess = guess_schema(messages)
    if guess and guess.time_column:
        assert compile_stream(parse(create_stream_sql(guess, "s", "t"))).columns


def test_a_key_that_is_no_name_stands_in_backticks() -> None:
    guess = guess_schema([b'{"a b": 1, "date": "2024-01-01T00:00:00Z", "x`y": 2, "it\'s": 3}'])
    stream = compile_stream(parse(create_stream_sql(guess, "my stream", "it's")))
    assert (stream.name, stream.topic, [c.name for c in stream.columns][:2]) == ("my stream", "it's", ["a b", "date"])


def test_a_line_that_is_too_long_leaves_the_others_to_guess_from() -> None:
    short, long = b"1767225600000,k,1", b"1767225600000," + b"k" * 900_000 + b",1"
    guess = guess_schema([short] * 10 + [long])
    assert types(guess) == {"c1": "BIGINT", "c2": "STRING", "c3": "BIGINT"}
    assert guess_schema([long]) is None
