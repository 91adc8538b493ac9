"""Texts to values of each type, against Python's own numbers, decimals and calendar."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mapper.batch import REASONS
from mapper.parse import Parser
from tests.mapper.parsing import messages, rows, stream

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
HARD = [
    "",
    " ",
    "12",
    " 12 ",
    "\t12",
    "1 2",
    "+1",
    "-0",
    "--1",
    "+",
    "-",
    "1_000",
    "1e5",
    "1E+5",
    "1e",
    "e5",
    ".",
    "1.",
    ".5",
    "0x10",
    "१२",
    "1\u00a0",
    "12\0",
    "\ufeff12",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999999",
    "0" * 400 + "7",
    "1e999",
    "-1e999",
    "1e-999",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "4.9e-324",
    "2.4e-324",
    "3.4028235e38",
    "3.5e38",
    "0.1",
    "123456789012345678",
    "9007199254740993",
    "16777217",
    "1e22",
    "1e23",
    "8.5e-23",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "infinit",
    "1d",
    "1f",
    "1e99999999999999999999",
    "0e99999999999999999999",
    "1" * 500 + "e-499",
]


def read(type_: str, texts: list[str], columns=("v",)) -> list:
    """What each text, quoted or not as it needs, reads as; reasons in angle brackets."""
    of = stream({"v": type_, "t": "BIGINT"})
    items = [text.encode() if text and not set('",\n\r') & set(text) and text.strip() else
             ('"' + text.replace('"', '""') + '"').encode() for text in texts]
    return [row[2] for row in rows(Parser(of, columns).parse(messages(items)), columns)]


def integer(text: str, bits: int):
    stripped = text.strip(" \t")
    if not re.fullmatch(r"[+-]?\d+", stripped, re.ASCII):
        return "<not a number>"
    return int(stripped) if -2**(bits - 1) <= int(stripped) < 2**(bits - 1) else "<out of range>"


def floating(text: str, single: bool = False):
    stripped = text.strip(" \t")
    if re.fullmatch(r"[+-]?(nan|inf|infinity)", stripped, re.ASCII | re.IGNORECASE):
        return float(stripped)
    if not NUMBER.fullmatch(stripped):
        return "<not a number>"
    value = to_single(stripped) if single else float(stripped)
    return "<out of range>" if math.isinf(value) else value


def exactly(text: str) -> decimal.Decimal:
    """The decimal number, with an exponent that Python's decimal can hold."""
    number, _, exponent = text.lower().partition("e")
    return decimal.Decimal(f"{number}e{max(-10**6, min(10**6, int(exponent or 0)))}")


def to_single(text: str) -> float:
    """Correctly rounded to single precision, by exact arithmetic: not by way of a double."""
    exact = exactly(text)
    with decimal.localcontext(decimal.Context(prec=2000, Emax=10**8, Emin=-10**8)):
        if abs(exact) < decimal.Decimal("1e-60"):
            return math.copysign(0.0, exact)
        if abs(exact) >= decimal.Decimal(2) ** 128 - decimal.Decimal(2) ** 103:
            return math.copysign(math.inf, exact)
        near = struct.unpack("f", struct.pack("f", min(max(float(exact), -3.4028234663852886e38), 3.4028234663852886e38)))[0]
        bits = struct.unpack("<i", struct.pack("<f", abs(near)))[0]
        around = [struct.unpack("<f", struct.pack("<i", b))[0] for b in (bits - 1, bits, bits + 1) if 0 <= b < 0x7F800000]
        best = min(
            around,
            key=lambda f: (
                abs(decimal.Decimal(f) - abs(exact)),
                struct.unpack("<i", struct.pack("<f", f))[0] & 1,
            ),
        )
        return math.copysign(best, near) if not exact.is_signed() else -best


def fixed(text: str, precision: int, scale: int):
    stripped = text.strip(" \t")
    if not NUMBER.fullmatch(stripped):
        return "<not a number>"
    with decimal.localcontext(decimal.Context(prec=1000, Emax=10**8, Emin=-10**8)):
        exact = exactly(stripped)
        if exact and exact.adjusted() >= precision:
            return "<out of range>"
        if not exact or exact.adjusted() < -scale - 1:
            return decimal.Decimal(0).scaleb(-scale)
        value = exact.quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_HALF_UP)
        value = abs(value) if value == 0 else value
        return value if abs(value) < decimal.Decimal(10) ** (precision - scale) else "<out of range>"


def same(left, right) -> bool:
    """Equal, with NaN equal to itself and zeros told apart by sign."""
    return repr(left) == repr(right)


digits = st.text(alphabet="0123456789+-.eE _\t", max_size=30)
shaped = st.from_regex(NUMBER, fullmatch=True).map(lambda text: text[:60])
numbers = st.one_of(digits, shaped, st.sampled_from(HARD), st.integers().map(str), st.floats().map(repr))


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=30))
def test_integers(texts):
    assert read("INT", texts) == [integer(text, 32) for text in texts]
    assert read("BIGINT", texts) == [integer(text, 64) for text in texts]


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=30))
def test_doubles_are_correctly_rounded(texts):
    found = read("DOUBLE", texts)
    assert all(map(same, found, [floating(text) for text in texts])), (found, [floating(t) for t in texts])


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=10))
def test_floats_are_correctly_rounded(texts):
    found = read("FLOAT", texts)
    assert all(map(same, found, [floating(text, True) for text in texts])), (found, [floating(t, True) for t in texts])


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=20), st.integers(1, 38), st.data())
def test_decimals_are_rounded_half_up(texts, precision, data):
    scale = data.draw(st.integers(0, precision))
    assert read(f"DECIMAL({precision},{scale})", texts) == [fixed(text, precision, scale) for text in texts]


def test_the_hard_numbers():
    assert read("BIGINT", HARD) == [integer(text, 64) for text in HARD]
    assert all(map(same, read("DOUBLE", HARD), map(floating, HARD)))
    assert all(map(same, read("FLOAT", HARD), [floating(text, True) for text in HARD]))
    assert read("DECIMAL(38,10)", HARD) == [fixed(text, 38, 10) for text in HARD]


def test_booleans():
    assert read("BOOLEAN", ["true", "FALSE", "True", "t", "1", "yes", " true", "falsey", "fals\u0005", "ＴRUE"]) == [
        True, False, True, *["<not a boolean>"] * 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-02-29", dt.date(2024, 2, 29)),
        ("2023-02-29", None),
        ("2024-2-9", dt.date(2024, 2, 9)),
        ("2024", dt.date(2024, 1, 1)),
        ("2024-12", dt.date(2024, 12, 1)),
        (" 2024-01-02 ", dt.date(2024, 1, 2)),
        ("2024-01-02T03:04", dt.date(2024, 1, 2)),
        ("2024-13-01", None),
        ("2024-00-01", None),
        ("24-01-01", None),
        ("2024-01-", None),
        ("2024/01/02", None),
        ("", None),
        ("1900-02-29", None),
        ("2000-02-29", dt.date(2000, 2, 29)),
        ("0001-01-01", dt.date(1, 1, 1)),
        ("9999-12-31", dt.date(9999, 12, 31)),
        ("2024-01-02x", None),
        ("20240102", None),
    ],
)
def test_dates(text, expected):
    assert read("DATE", [text]) == [expected or "<not a date>"]


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)


@pytest.mark.parametrize(("text", "expected"), [
    ("2024-02-29T12:34:56Z", utc(2024, 2, 29, 12, 34, 56)), ("2024-02-29 12:34:56", utc(2024, 2, 29, 12, 34, 56)),
    ("2024-02-29T12:34:56.1", utc(2024, 2, 29, 12, 34, 56, 100_000)),
    ("2024-02-29T12:34:56.1234567899+01:00", utc(2024, 2, 29, 11, 34, 56, 123_456)),
    ("2024-02-29T12:34-0530", utc(2024, 2, 29, 18, 4)), ("2024-02-29T1:2:3+5", utc(2024, 2, 28, 20, 2, 3)),
    ("2024-02-29", utc(2024, 2, 29)), ("2024-02-29t00:00z", utc(2024, 2, 29)), ("2024-02-29T24:00", None),
    ("2024-02-29T12", None), ("2024-02-29T12:60", None), ("2024-02-29T12:34:60", None), ("2024-02-29T12:34:56+19:00", None),
    ("2024-02-29T12:34:56+1:0", None), ("2024-02-29T12:34:56 UTC", None), ("12:34:56", None), ("1700000000", None),
    ("2024-02-29T", None), ("2024-02-29T12:34:56.", utc(2024, 2, 29, 12, 34, 56)),
])
def test_timestamps(text, expected):
    assert read("TIMESTAMP", [text]) == [expected or "<not a timestamp>"]


def test_years_beyond_the_calendar_are_out_of_range():
    assert read("TIMESTAMP", ["0000-01-01", "12345-01-01", "0001-01-01T00:00+01:00", "9999-12-31T23:59-01:00"]) == [
        "<out of range>"] * 4


@settings(max_examples=200, deadline=None)
@given(st.datetimes(), st.sampled_from(["T", " "]), st.integers(-18 * 60, 18 * 60))
def test_every_instant_reads_back(when, separator, minutes):
    zone = dt.timezone(dt.timedelta(minutes=minutes))
    if not 2 < when.year < 9998:
        minutes, zone = 0, dt.UTC
    text = when.replace(tzinfo=zone).isoformat(separator)
    assert read("TIMESTAMP", [text]) == [when.replace(tzinfo=zone).astimezone(dt.UTC)]
    assert read("DATE", [text]) == [when.date()]


ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-7]):[0-5]\d)?", re.ASCII)


@settings(max_examples=400, deadline=None)
@given(st.datetimes(dt.datetime(3, 1, 1), dt.datetime(9990, 1, 1)),  # noqa: DTZ001 - bounds of times without a zone
       st.sampled_from(["", "Z", "+01:00", "-17:59"]),
       st.lists(st.tuples(st.integers(0, 31), st.sampled_from("0123456789-: .")), max_size=3))
def test_timestamps_against_the_datetime_module(when, zone, changes):
    """In the form that both know, whatever the digits say; 24:00 is left out, as Python has changed its mind about it."""
    letters = list(when.isoformat() + zone)
    for place, letter in changes:
        letters[place % len(letters)] = letter
    text = "".join(letters)
    assume(ISO.fullmatch(text) and text[11:13] != "24" and 2 < int(text[:4]) < 9990)
    try:
        expected = dt.datetime.fromisoformat(text)
    except ValueError:
        expected = "<not a timestamp>"
    else:
        expected = expected.replace(tzinfo=expected.tzinfo or dt.UTC).astimezone(dt.UTC)
    assert read("TIMESTAMP", [text]) == [expected]


@pytest.mark.parametrize(("type_", "unit", "text", "time"), [
    ("BIGINT", "ns", "1700000000000000001", 1700000000000000001), ("INT", "s", " 17 ", 17), ("BIGINT", "ms", "-5", -5),
    ("TIMESTAMP", "us", "1970-01-01T00:00:01.5", 1_500_000), ("STRING", "us", "1970-01-01T01:00:01+01:00", 1_000_000),
])
def test_event_time(type_, unit, text, time):
    of = stream({"t": type_, "a": "STRING"}, unit=unit)
    parsed = Parser(of, ("a",)).parse(messages([text.encode(), b",x", b"soon,x", b'"",x']))
    assert parsed.event_time.tolist() == [time, 0, 0, 0]
    reasons = [REASONS[reason] for reason in parsed.bad["t"]]
    assert reasons[:2] == ["", "null event time"]
    assert set(reasons[2:]) == {"not a timestamp" if unit == "us" else "not a number"}
    assert "t" not in parsed.columns


def test_a_string_event_time_can_be_a_column_too():
    of = stream({"t": "STRING", "a": "STRING"}, unit="us")
    parsed = Parser(of, ("t",)).parse(messages([b"1970-01-01", b"soon"]))
    assert parsed.columns["t"].to_pylist() == ["1970-01-01", "soon"]
    assert parsed.bad["t"].tolist() == [0, REASONS.index("not a timestamp")]


def test_dictionaries_go_on_from_batch_to_batch_and_are_dropped_when_large():
    parser = Parser(stream({"t": "BIGINT", "a": "STRING"}), ("a",))
    first = parser.parse(messages([b"1,x", b"1,y", b"1,x"])).columns["a"]
    second = parser.parse(messages([b"1,y", b"1,z"])).columns["a"]
    assert (first.indices.to_pylist(), second.indices.to_pylist()) == ([0, 1, 0], [1, 2])
    assert second.type == pa.dictionary(pa.int32(), pa.string())
    big = parser.parse(messages(b"1,%d" % i for i in range(200_000))).columns["a"]
    assert big.to_pylist() == [str(i) for i in range(200_000)]
    assert parser.parse(messages([b"1,y"])).columns["a"].indices.to_pylist() == [0]
    assert first.to_pylist() == ["x", "y", "x"]


def test_nothing_reads_as_nothing():
    parsed = Parser(stream({"t": "BIGINT", "a": "STRING", "n": "DECIMAL(5,2)"}), ("a", "n")).parse(messages([]))
    assert (len(parsed), parsed.columns["a"].to_pylist(), parsed.columns["n"].to_pylist()) == (0, [], [])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=30))
def test_strings_of_any_text(texts):
    assert read("STRING", texts) == texts
