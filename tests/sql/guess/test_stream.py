"""A schema guessed from messages, and a statement that creates it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mapper.parse import Parser
from mars.errors import SqlError
from sql.guess.stream import Guess, create_stream_sql, guess_schema
from sql.guess.types import parse_time, type_of
from sql.read.create import compile_stream
from sql.read.parse import parse
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


NUMBERED = range(1_700_000_000_000, 1_700_000_000_020)
AS_JSON = [b'{"ts": %d, "k": "a", "n": 1.5}' % ms for ms in NUMBERED]
AS_CSV = [b"%d,a,1.5" % ms for ms in NUMBERED]
REMARK = "/* 1 of the 21 lines looked at does not fit */"


def with_one(lines: list[bytes], other: bytes, place: int) -> list[bytes]:
    return [*lines[:place], other, *lines[place:]]


def check_statement(guess: Guess, remark: str = REMARK) -> None:
    """The statement says how many lines do not fit, and runs as it is, with a semicolon, and on one line."""
    sql = create_stream_sql(guess, "s", "t")
    assert remark in sql
    assert ("looked at" in sql) == bool(remark)
    for written in (sql, sql + ";", sql.replace("\n", " ")):
        stream = compile_stream(parse(written))
        assert ([c.name for c in stream.columns], stream.time_column) == (list(types(guess)), guess.time_column)


@pytest.mark.parametrize("other", [b"garbage", b'{"ts": 1', b"1,2,3", b"[1, 2]", b"null", b'"', b"\xff"])
@pytest.mark.parametrize("place", [0, 10, 20])
@pytest.mark.parametrize("one_message", [True, False])
def test_a_line_among_objects_that_is_none_is_set_aside(other: bytes, place: int, one_message: bool) -> None:
    lines = with_one(AS_JSON, other, place)
    guess = guess_schema([b"\n".join(lines)] if one_message else lines)
    assert (guess.format, guess.time_column, guess.unit) == ("JSON", "ts", "ms")
    assert types(guess) == {"ts": "BIGINT", "k": "STRING", "n": "DOUBLE"}
    assert (guess.lines, guess.unlike) == (21, 1)
    check_statement(guess)


def test_json_is_what_more_than_half_of_the_lines_are() -> None:
    assert guess_schema([*AS_JSON, *[b"x"] * 19]).format == "JSON"
    assert guess_schema([*AS_JSON, *[b"x"] * 20]).format == "CSV"
    assert guess_schema([b'[{"a": 1}, {"a": 2}]', b"x", b"[]"]).unlike == 1


@pytest.mark.parametrize("other", [b"garbage", b"x,y,", b"x,x,y", b"2024-01-01,y,z", b"1700000000000,a", b"1,a,1,1",
                                   b",a,n/a", b"garbage;of;four;kinds", b'"', b'{"ts": 1'])
@pytest.mark.parametrize("place", [0, 10, 20])
@pytest.mark.parametrize("delimiter", [b",", b"|"])
def test_a_line_of_csv_that_is_unlike_the_others_is_set_aside(other: bytes, place: int, delimiter: bytes) -> None:
    lines = [line.replace(b",", delimiter) for line in with_one(AS_CSV, other, place)]
    guess = guess_schema(lines)
    assert (guess.format, guess.header, guess.delimiter.encode()) == ("CSV", False, delimiter)
    assert (types(guess), guess.time_column) == ({"c1": "BIGINT", "c2": "STRING", "c3": "DOUBLE"}, "c1")
    assert (guess.lines, guess.unlike) == (21, 1)
    check_statement(guess)


@pytest.mark.parametrize("other", [b"garbage", b"x,y,z", b"ts,k,n"])
def test_a_header_stays_one_beside_a_line_that_is_set_aside(other: bytes) -> None:
    guess = guess_schema([b"ts,k,n", *with_one(AS_CSV, other, 3)])
    assert (guess.header, guess.time_column, guess.lines, guess.unlike) == (True, "ts", 22, 1)
    assert types(guess) == {"ts": "BIGINT", "k": "STRING", "n": "DOUBLE"}
    check_statement(guess, "/* 1 of the 22 lines looked at does not fit */")


def test_a_header_may_be_shorter_where_no_line_has_more() -> None:
    """As where each line ends with a delimiter."""
    guess = guess_schema([b"ts,k,n", *(line + b"," for line in AS_CSV)])
    assert (guess.header, list(types(guess)), guess.unlike) == (True, ["ts", "k", "n", "c4"], 0)
    check_statement(guess, "")
    guess = guess_schema([b"some,garbage", *AS_CSV])
    assert (guess.header, list(types(guess)), guess.unlike) == (False, ["c1", "c2", "c3"], 1)


@pytest.mark.parametrize("count", [8, 12])
def test_a_header_may_be_longer_where_lines_lack_their_last_fields(count: int) -> None:
    guess = guess_schema([b"ts,id,name,v,extra", *(b"%d,%d,n%d,0.5" % (1_700_000_000 + i, i, i) for i in range(count))])
    assert (guess.header, list(types(guess)), guess.unlike) == (True, ["ts", "id", "name", "v", "extra"], 0)


def test_a_header_stays_one_over_lines_of_many_widths() -> None:
    ragged = [line if i % 3 else line.removesuffix(b",1.5") for i, line in enumerate(AS_CSV)]
    shorter = [line.removesuffix(b",1.5") if i % 3 else line for i, line in enumerate(AS_CSV)]
    for lines in (ragged, shorter):
        guess = guess_schema([b"ts,k,n", *lines])
        assert (guess.header, guess.unlike) == (True, 0)
        assert types(guess) == {"ts": "BIGINT", "k": "STRING", "n": "DOUBLE"}


def test_a_header_tells_the_delimiter_of_numbers_with_commas() -> None:
    guess = guess_schema([b"at;a;b;c", *[b"%d;1,5;2,5;3,5" % ms for ms in NUMBERED]])
    assert (guess.delimiter, list(types(guess)), guess.unlike) == (";", ["at", "a", "b", "c"], 0)
    several = [b'%d;"a\nb\nc"' % ms for ms in NUMBERED]
    assert (guess_schema(several).delimiter, list(types(guess_schema(several)))) == (";", ["c1", "c2"])


def test_no_more_than_a_tenth_of_the_lines_is_set_aside() -> None:
    two = guess_schema([*AS_CSV, b"x,y,z", b"garbage"])
    assert (types(two)["c1"], two.unlike) == ("BIGINT", 2)
    check_statement(two, "/* 2 of the 22 lines looked at do not fit */")
    three = guess_schema([*AS_CSV, b"x,y,z", b"garbage", b"garbage"])
    assert (types(three)["c1"], three.time_column, three.unlike) == ("STRING", None, 2)
    assert types(guess_schema([*AS_CSV[:9], b"x,y,z"]))["c1"] == "BIGINT"
    nine = guess_schema([*AS_CSV[:8], b"x,y,z"])
    assert (types(nine)["c1"], nine.unlike) == ("STRING", 0)
    assert list(types(guess_schema([*AS_CSV[:8], b"1,2,3,4"]))) == ["c1", "c2", "c3", "c4"]


def test_a_column_of_numbers_and_texts_sets_no_line_aside() -> None:
    mixed = [b"%d,%s" % (ms, b"E1" if ms % 4 == 0 else b"404") for ms in NUMBERED]
    guess = guess_schema([*mixed, b"x,1"])
    assert (types(guess), guess.unlike) == ({"c1": "BIGINT", "c2": "STRING"}, 1)
    rare = [b"%d,%s" % (ms, {3: b"1", 5: b"2", 7: b"n/a"}.get(ms % 20, b"")) for ms in NUMBERED]
    guess = guess_schema(rare)
    assert (types(guess), guess.unlike) == ({"c1": "BIGINT", "c2": "STRING"}, 0)


def test_without_a_time_the_statement_says_what_to_write() -> None:
    sql = create_stream_sql(guess_schema([b"a,b", b"c,d"]), "s", "t")
    remark = "/* write the name of the event-time column here, and behind it UNIT s, ms, us or ns if it is a number */"
    assert sql.endswith(f"TIMESTAMP {remark}")
    with pytest.raises(SqlError, match="event-time column"):
        parse(sql)
    assert compile_stream(parse(sql + " c1")).time_column == "c1"


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
