"""A schema guessed from messages, and a statement that creates it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mapper.parse import Parser
from sql.create import compile_stream
from sql.guess import Guess, create_stream_sql, guess_schema
from sql.guess_types import parse_time, type_of
from sql.parse import parse
from tests.mapper.parsing import messages as as_messages


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


NO_TIMES = ("2024-01-01 12:00:00,123", "2024-01-01T12", "2024-01-01T12:00:00+01:00:30", "2024-W01-1", "2024-02-30",
            "2024-01-01T24:00", "2024-01-01T12:60", "2024-01-01T12:00+18:01", "2024-01-01T12:00+130", "20240101T120000",
            "2024-01-01T12:00:00+1:60", "9999-12-31T23:00-02:00", "0000-01-01")
TIMES = ("2024-01-01", "2024-01-01 1:2:3", "2024-02-29T12:00:00.123456789Z", "2024-01-01t12:00:00. +1:30",
         "2024-01-01T12:00z", " 2024-01-01T12:00:00-0530\t", "2024-01-01T12:00+18", "9999-12-31T23:59:59")


@pytest.mark.parametrize("text", NO_TIMES)
def test_a_text_that_does_not_read_as_a_time_is_no_event_time(text: str) -> None:
    guess = guess_schema([b'{"at":"%s","n":1}' % text.encode()])
    assert (types(guess)["at"], guess.time_column) == ("STRING", None)


@given(st.from_regex(r"[ \t]?[0-9]{4}-[01][0-9]-[0-3][0-9]([Tt ]([0-9]{1,2}(:[0-9]{1,3}){0,3}([.,][0-9]{0,8})?"
                     r" ?([Zz]|[+-][0-9]{0,3}(:?[0-9]{1,3}){0,2})?)?)?[ \t]?", fullmatch=True))
@example("2024-01-01T12:00:00")
def test_what_is_taken_for_a_time_is_what_reads_as_one(text: str) -> None:
    check_time(text)


@pytest.mark.parametrize("text", [*TIMES, *NO_TIMES])
def test_examples_of_times_read_as_is_guessed(text: str) -> None:
    assert (parse_time(text) is not None) == (text in TIMES)
    check_time(text)


def check_time(text: str) -> None:
    """Compares the guess with the parser; what has no date of full length is not guessed though it reads."""
    batch = PARSER.parse(as_messages([f"1;{text};{text}".encode()]))
    time, guessed = parse_time(text), type_of(text)
    if TIME_LIKE.match(text):
        assert (time is None) == ("t" in batch.bad), batch.columns["t"]
    assert guessed != "TIMESTAMP" or "t" not in batch.bad
    assert guessed != "DATE" or not batch.bad
    if time is not None:
        assert batch.columns["t"].to_pylist()[0].replace(tzinfo=None, microsecond=0) == time


TIME_LIKE = re.compile(r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}([ tT]|\Z)")
PARSER = Parser(compile_stream(parse(
    "CREATE STREAM s (at BIGINT, t TIMESTAMP, d DATE) FROM KAFKA 's' FORMAT CSV (DELIMITER ';') TIMESTAMP at UNIT s")),
    ("t", "d"))


def test_a_time_at_the_end_of_the_calendar_is_a_time_but_no_event_time() -> None:
    guess = guess_schema([b"2024-01-01T00:00:00,9999-12-31T00:00:00,a"])
    assert (list(types(guess).values()), guess.time_column) == (["TIMESTAMP", "TIMESTAMP", "STRING"], "c1")
    assert guess_schema([b"a,9999-12-31T00:00:00"]).time_column is None


@pytest.mark.parametrize("inside", ["\u2028", "\u0085", "\u2029"])
def test_a_line_ends_at_a_newline_alone(inside: str) -> None:
    guess = guess_schema([f'{{"at":1700000000000,"s":"a{inside}b"}}\r\n{{"at":1700000000001,"s":"c"}}'.encode()])
    assert (guess.format, types(guess)) == ("JSON", {"at": "BIGINT", "s": "STRING"})
    guess = guess_schema([f"1700000000000,a{inside}b\n1700000000001,c\rd\r\n".encode()])
    assert (guess.format, types(guess)) == ("CSV", {"c1": "BIGINT", "c2": "STRING"})
