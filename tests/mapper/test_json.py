"""JSON: tuples in messages, types of values, and one answer against Python's own reader."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mapper.parse import Parser
from tests.mapper.parsing import messages, rows, stream

TYPES = {"t": "BIGINT", "i": "INT", "s": "STRING", "d": "DOUBLE", "b": "BOOLEAN", "x": "STRING", "n": "STRING"}
PATHS = {"x": "n.x"}


def read(columns: tuple[str, ...], *items: bytes, types=TYPES, paths=PATHS) -> list[tuple]:
    of = stream(types, "JSON", paths=paths)
    return rows(Parser(of, columns).parse(messages(items)), columns)


def test_one_object_an_array_and_lines():
    assert read(("s",), b' {"s":"a"} ', b'[{"s":"b"}, {"s":"c"}]', b'{"s":"d"}\n\n{"s":"e"}\r\n', b"", b" \n", b"[]") == [
        (0, 0, "a"), (1, 0, "b"), (1, 1, "c"), (2, 0, "d"), (2, 2, "e")]


def test_an_object_may_span_lines():
    assert read(("s", "i"), b'{"s":\n "a",\n "i": 1\n}\n{"s":"b"}') == [(0, 0, "a", 1), (0, 1, "b", None)]


@pytest.mark.parametrize(("value", "i", "s", "d", "b"), [
    ("12", 12, "12", 12.0, "type"), ("-0", 0, "-0", -0.0, "type"), ("1.50", "type", "1.50", 1.5, "type"),
    ("1e2", "type", "1e2", 100.0, "type"), ('"12"', "type", "12", "type", "type"), ("true", "type", "true", "type", True),
    ("null", None, None, None, None), ('{"a": [1]}', "type", '{"a": [1]}', "type", "type"),
    ("[1, 2]", "type", "[1, 2]", "type", "type"), ('"NaN"', "type", "NaN", float("nan"), "type"),
    ('""', "type", "", "type", "type"), ("99999999999", "range", "99999999999", 99999999999.0, "type"),
    ("1e999", "type", "1e999", "range", "type"), (r'"\u00e4\n\ud83d\ude00\\"', "type", "ä\n😀\\", "type", "type"),
    (r'"\ud83d"', "type", "utf", "type", "type"),
])
def test_types(value, i, s, d, b):
    words = {"type": "<wrong JSON type>", "range": "<out of range>", "utf": "<invalid UTF-8>"}
    item = ('{"i":%s,"s":%s,"d":%s,"b":%s}' % ((value,) * 4)).encode()
    found = read(("i", "s", "d", "b"), item)
    assert repr(found) == repr([(0, 0, *(words.get(v, v) if isinstance(v, str) else v for v in (i, s, d, b)))])


def test_dates_decimals_and_event_time_as_text():
    types = {"t": "STRING", "c": "DECIMAL(5,2)", "y": "DATE", "z": "TIMESTAMP"}
    of = stream(types, "JSON", unit="us")
    parsed = Parser(of, ("c", "y", "z")).parse(messages([
        rb'{"t":"1970-01-01T00:00:01\u005a","c":"1.005","y":"2024\u002d01-02","z":"2024-01-02"}',
        b'{"t":1,"c":1.005,"y":1,"z":1}', b'{"t":null}']))
    assert parsed.event_time.tolist() == [1_000_000, 0, 0]
    assert parsed.bad["t"].tolist() == [0, 5, 7]
    assert [str(v) for v in parsed.columns["c"].to_pylist()] == ["1.01", "1.01", "None"]
    assert parsed.bad["y"].tolist() == parsed.bad["z"].tolist() == [0, 8, 0]


@pytest.mark.parametrize("text", ["1E+2", " -1.005\t", "1" * 6, "x", "", "NaN", "+Infinity", "-inf", "12", "0x1", "\x00"])
@pytest.mark.parametrize("type_", ["DECIMAL(5,2)", "DECIMAL(38,2)", "DOUBLE", "FLOAT", "INT", "BIGINT", "BOOLEAN", "DATE",
                                   "TIMESTAMP", "STRING"])
def test_a_text_with_escapes_reads_as_the_same_text_without(type_, text):
    """Some writers escape what need not be, as .NET does with a plus sign."""
    of, whole = stream({"t": "BIGINT", "c": type_}, "JSON"), "".join(f"\\u{ord(letter):04X}" for letter in text)
    first = whole[:6] + json.dumps(text[1:])[1:-1]
    plain, *escaped = [b'{"t":1,"c":"%s"}' % form.encode() for form in (json.dumps(text)[1:-1], whole, first)]
    number = b'{"t":1,"c":7}'
    found = rows(Parser(of, ("c",)).parse(messages([plain, *escaped, number, *escaped])), ("c",))
    values = [repr(row[2]) for row in found]
    assert values == [values[0]] * 3 + [values[3]] + [values[0]] * 2


def test_paths_reach_inside_and_both_levels_may_be_wanted():
    assert read(
        ("x", "n"),
        b'{"n":{"y":1,"x":"in"}}',
        b'{"n":{"x":null}}',
        b'{"n":5}',
        b'{"n":[{"x":1}]}',
        b'{"x":"top"}',
    ) == [
        (0, 0, "in", '{"y":1,"x":"in"}'),
        (1, 0, None, '{"x":null}'),
        (2, 0, None, "5"),
        (3, 0, None, '[{"x":1}]'),
        (4, 0, None, None),
    ]


def test_keys_match_by_their_text():
    assert read(("s", "i"), rb'{"\u0073":"a","i":1}', b'{"S":"a","s ":"b"}', b'{"":1,"i":2}') == [
        (0, 0, "a", 1), (1, 0, None, None), (2, 0, None, 2)]
    assert read(("x",), b'{"a":{"x":1},"n":{"x":"y"},"b":{"x":2}}') == [(0, 0, "y")]


def test_of_a_repeated_key_the_last_value_counts():
    assert read(("s", "i"), *[b'{"s":"a","i":1,"s":"b"}', b'{"s":"c","i":"x","s":null,"i":2}'] * 2) == [
        (0, 0, "b", 1), (1, 0, None, 2), (2, 0, "b", 1), (3, 0, None, 2)]
    assert read(("x", "n"), *[b'{"n":{"x":1},"n":{"y":3}}', b'{"n":{"x":1},"n":5}', b'{"n":5,"n":{"x":1,"x":2}}'] * 2) == [
        (0, 0, None, '{"y":3}'), (1, 0, None, "5"), (2, 0, "2", '{"x":1,"x":2}'),
        (3, 0, None, '{"y":3}'), (4, 0, None, "5"), (5, 0, "2", '{"x":1,"x":2}')]


@pytest.mark.parametrize(
    "item",
    [
        b"{",
        b"}",
        b'{"s"}',
        b'{"s":}',
        b'{"s":1,}',
        b"{,}",
        b"{'s':1}",
        b'{"s":01}',
        b'{"s":.5}',
        b'{"s":1.}',
        b'{"s":+1}',
        b'{"s":1e}',
        b'{"s":NaN}',
        b'{"s":tru}',
        b'{"s":"a\nb"}'.replace(b"\n", b"\t"),
        b'{"s":"\\x"}',
        b'{"s":"\\u12g4"}',
        b'{"s":"a}',
        b'{"s":1}{"s":2}',
        b'{"s":1} x',
        b"[{}",
        b"[{},]",
        b"[{}] x",
        b'[{"s":1} {"s":2}]',
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"[" * 10_000,
        b'{"s":1]',
        b"nul",
        b'{"a":' * 600 + b"1" + b"}" * 600,
        b'{"s":1',
        b"\0",
        b"[1,2",
    ],
)
def test_what_is_not_json_is_one_bad_tuple(item):
    assert read(("s",), b'{"s":"before"}', item, b'{"s":"after"}') == [
        (0, 0, "before"), (1, 0, "<not JSON>"), (2, 0, "after")]


def test_a_line_that_does_not_read_leaves_its_neighbours_alone():
    assert read(("s",), b'{"s":"a"}\n{"s":\n{"s":"b"}') == [(0, 0, "a"), (0, 1, "<not JSON>"), (0, 2, "b")]
    assert read(("s",), b'{"s":"a"}\n{"s" "x"}\n{"s":"b"}') == [(0, 0, "a"), (0, 1, "<not JSON>"), (0, 2, "b")]


def test_what_is_no_object_is_bad_by_that_name():
    assert [row[2] for row in read(("s",), b"5", b'"x"', b"null", b'[{"s":"a"},5,[]]')] == [
        *["<not a JSON object>"] * 3, "a", *["<not a JSON object>"] * 2]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "s", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["s", "i", "n", "d", "b", "other", "ä", "s\\"]), values, max_size=7)


SPECIAL = re.compile(r" *[+-]?(nan|inf|infinity) *", re.IGNORECASE)  # JSON has no numbers for these (spec/dialect.md)


def expected(item: dict, column: str, text: str) -> object:
    """What a column reads of an object."""
    inner = item["n"].get("x") if isinstance(item.get("n"), dict) else None
    value = inner if column == "x" else item.get(column)
    kind, wrong = type(value), "<wrong JSON type>"
    if value is None:
        return None
    if column == "i":
        return wrong if kind is not int else value if -2**31 <= value < 2**31 else "<out of range>"
    if column == "d":
        return float(value) if kind in (int, float) or (kind is str and SPECIAL.fullmatch(value)) else wrong
    if column == "b":
        return value if kind is bool else wrong
    return value if kind is str else json.loads(json.dumps(value))


@settings(max_examples=200, deadline=None)
@example([{"d": "INF"}, {"d": " -infinity"}, {"d": "NaN"}, {"d": "infinit"}, {"d": "1"}], True, "lines")
@given(st.lists(objects, max_size=5), st.booleans(), st.sampled_from(["one", "lines", "array"]))
def test_against_pythons_reader(items, ascii_only, shape):
    names = ("i", "s", "d", "b", "x")
    texts = [json.dumps(item, ensure_ascii=ascii_only) for item in items]
    joined = {"one": texts, "lines": ["\n".join(texts)], "array": [f"[{','.join(texts)}]"]}[shape]
    found = read(names, *(text.encode(errors="surrogatepass") for text in joined))
    assert len(found) == len(items)
    for row, item, text in zip(found, items, texts, strict=True):
        for name, value in zip(names, row[2:], strict=True):
            want = expected(item, name, text)
            if name in ("s", "x") and not isinstance(want, str) and want is not None:
                value = json.loads(value)
            assert value == want or (value != value and want != want), (name, text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(alphabet='{}[]":,\\ \n1e.-tru"s', max_size=16).map(str.encode), max_size=4))
def test_valid_is_what_python_calls_valid(items):
    for item in items:
        if b"\n" in item.strip() or not item.strip(b" \n\r\t"):
            continue
        found = read(("s",), item)
        try:
            value = json.loads(item, parse_constant=lambda word: 1 / 0, object_pairs_hook=list_of_pairs)
        except (ValueError, ZeroDivisionError):
            assert [row[2] for row in found] == ["<not JSON>"]
            continue
        tuples = value if isinstance(value, list) and not isinstance(value, Pairs) else [value]
        assert len(found) == len(tuples)
        for row, tuple_ in zip(found, tuples, strict=True):
            assert (row[2] == "<not a JSON object>") == (not isinstance(tuple_, Pairs))


class Pairs(list):
    """An object's keys and values."""


def list_of_pairs(pairs: list) -> Pairs:
    return Pairs(pairs)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes_are_read_within_bounds(items):
    read(("s", "x", "i"), *items)
    read(("s",), *[b'{"s":"' + item for item in items])
