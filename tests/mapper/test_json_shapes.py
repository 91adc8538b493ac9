"""JSON tuples that look alike are read by their shape: the answer is the one that Python's reader gives, whatever came
before, and the one that parsing each tuple by itself gives."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.kernels.json import DEPTH
from mapper.kernels.json_shapes import FULL, OTHERS_MAX, SEPARATOR_MAX, STEPS, TOKENS, USED_STEPS
from mapper.parse import Parser
from tests.mapper.parsing import messages, rows, stream

TYPES = {"t": "BIGINT", "i": "INT", "s": "STRING", "d": "DOUBLE", "b": "BOOLEAN", "x": "STRING", "n": "STRING"}
COLUMNS = ("i", "s", "d", "b", "x")
ROOM = b"\0" * 1024  # shapes are not used so near to a buffer's end that a vector might reach behind it


def parser(columns: tuple[str, ...] = COLUMNS) -> Parser:
    return Parser(stream(TYPES, "JSON", paths={"x": "n.x"}), columns)


def read(of: Parser, *items: bytes) -> list[tuple]:
    """The tuples of a buffer in which more lies behind the messages."""
    found = messages([*items, ROOM])
    found.start, found.length, found.offset = found.start[:-1], found.length[:-1], found.offset[:-1]
    return rows(of.parse(found), of.columns)


def alone(item: bytes, columns: tuple[str, ...] = COLUMNS) -> tuple:
    """The tuple of a message of its own, parsed without any shape."""
    (row,) = rows(parser(columns).parse(messages([item])), columns)
    return row


def steps(of: Parser) -> int:
    """How many steps of shapes are known."""
    return int(of._fields._shapes.used[USED_STEPS])


def text(item: dict, blanks: bool) -> bytes:
    return json.dumps(item, separators=(" , ", " :\t") if blanks else (",", ":")).encode()


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40), st.sampled_from(["", '"', "\\", "ä" * 40, "x" * 31, "x" * 32, "x" * 33, "\x7f", "\u2028"]))
nested = st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from(["x", "y"]), scalars, max_size=2))
keys = st.permutations(["i", "s", "d", "b", "n", "", "other", "a long key that fills more than one vector of 32 bytes"])


@settings(max_examples=150, deadline=None)
@given(st.lists(keys, min_size=1, max_size=3), st.data(), st.booleans())
def test_neighbours_of_few_shapes_read_as_each_does_alone(orders, data, blanks):
    items = [text({key: data.draw(nested) for key in data.draw(st.sampled_from(orders))[:data.draw(st.integers(5, 8))]},
                  blanks) for _ in range(8)]
    assert [row[2:] for row in read(parser(), *items, *items)] == [alone(item)[2:] for item in items * 2]


def tuples(count: int, seed: int = 1) -> list[bytes]:
    """Tuples of one shape."""
    draw = random.Random(seed)
    return [text({"i": draw.randint(-9, 10**6), "s": "v" * draw.randint(0, 70), "other": [1, draw.random(), {"x": 5}],
                  "n": {"x": str(draw.randint(0, 10**9)), "y": None}, "b": draw.random() < 0.5}, False)
            for _ in range(count)]


def test_tuples_of_one_shape_are_parsed_once():
    of = parser()
    read(of, *tuples(1))
    known = steps(of)
    assert 0 < known < 20
    items = tuples(50, seed=2)
    found = read(of, *items)
    assert steps(of) == known
    for row, item in zip(found, map(json.loads, items), strict=True):
        assert row[2:] == (item["i"], item["s"], None, item["b"], item["n"]["x"])


@pytest.mark.parametrize("value", [
    b"01", b"-", b"-01", b"1.", b".5", b"+1", b"1e", b"1e+", b"NaN", b"Infinity", b"nul", b"True", b"tru", b"falsy",
    b"truex", b'"', b'"a', b'"\\x"', b'"\\u12"', b'"\x01"', b'"a\tb"', b"", b" ", b"1 2", b'"a" "b"', b"1,", b"]", b"}",
    b"'a'", b"1}", b'1,"s"', b'"' + b"x" * 40 + b"\x1f" + b'"', b"1" * 40 + b".", b"\xef\xbb\xbf1",
])
@pytest.mark.parametrize("place", ["i", "other", "last"])
def test_a_tuple_of_a_known_shape_with_one_wrong_value_is_bad_alone(value, place):
    item = {"i": b"7", "other": b"7", "last": b"7"}
    good = b'{"i":%s,"other":%s,"last":%s}'
    bad = good % tuple({**item, place: value}.values())
    fine = good % tuple(item.values())
    assert read(parser(("i",)), fine, fine, bad, fine) == [
        (0, 0, 7), (1, 0, 7), (2, 0, "<not JSON>"), (3, 0, 7)]


@pytest.mark.parametrize("value", [
    b"-0", b"0", b"0.0", b"-0.5e-7", b"1E+5", b"1e999", b"1" * 33, b"1" * 31 + b"." + b"2" * 33, b"null", b"true", b"false",
    b'""', b'"\\""', b'"\\ud83d\\ude00"', b'"' + b"x" * 31 + b'\\\\"', b'"\xff\xfe"', b'"\x7f"', b'"{[,:]}"', b" 1 ",
    b"\t1\r\n",
    b"{}", b"[]", b'{"x":[{}]}', b"[[1],[]]",
])
def test_any_value_may_stand_where_another_one_stood(value):
    fine = b'{"i":7,"other":%s,"s":"a"}'
    assert read(parser(("i", "s")), *[fine % b"1", fine % value, fine % b'"x"', fine % value] * 2) == [
        (n, 0, 7, "a") for n in range(8)]


@pytest.mark.parametrize("tail", [b"", b" \t\r\n", b"x", b"}", b",", b' {"i":1}', b"\0", b"\xef\xbb\xbf"])
def test_what_stands_behind_a_tuple_is_looked_at(tail):
    fine = b'{"i":7,"other":{"x":"y"}}'
    value = "<not JSON>" if tail.strip(b" \t\r\n") else 7
    assert read(parser(("i",)), fine, fine + tail, fine) == [(0, 0, 7), (1, 0, value), (2, 0, 7)]


def test_a_tuple_that_ends_early_is_bad_at_every_byte():
    whole = b'{"i": 7, "other": {"x": [1, true, "a\\n"]}, "s": "b"} '
    cut = [whole[:n] for n in range(1, len(whole) - 1)]
    found = read(parser(("i",)), whole, *[piece for item in cut for piece in (item, whole)])
    assert [row[2] for row in found[0::2]] == [7] * (len(cut) + 1)
    assert {row[2] for row in found[1::2]} == {"<not JSON>"}


def test_no_tuple_goes_on_in_the_next_message():
    whole = b'{"i": 7, "other": {"x": [1, true, "a\\n"]}, "s": "b"}'
    for n in range(1, len(whole)):
        assert read(parser(("i",)), whole, whole[:n], whole[n:])[1][2] == "<not JSON>"


def test_lines_and_arrays_of_one_shape():
    items = tuples(6)
    found = read(parser(), b"\n".join(items), b"[" + b" , ".join(items) + b"]", b"\r\n\n".join(items) + b"\n")
    assert [row[2:] for row in found] == [alone(item)[2:] for item in items] * 3
    assert [row[1] for row in found] == [*range(6), *range(6), *range(0, 12, 2)]


def test_shapes_hold_from_batch_to_batch_and_columns_do_not():
    of = parser(("i", "s", "x"))
    for _ in range(2):
        assert read(of, b'{"i":1,"s":"a","n":{"x":"u"}}', b'{"i":2,"s":"b"}', b'{"s":"c","n":{}}', b"{}") == [
            (0, 0, 1, "a", "u"), (1, 0, 2, "b", None), (2, 0, None, "c", None), (3, 0, None, None, None)]


def test_more_shapes_than_there_is_room_for():
    of, draw = parser(("i", "s")), random.Random(3)
    items = [{**{f"{draw.random()}": 1 for _ in range(30)}, "i": n, "s": str(n)} for n in range(3 * STEPS // 30)]
    for _ in range(2):
        texts = [text(dict(draw.sample(list(item.items()), len(item))), False) for item in items]
        assert [row[2:] for row in read(of, *texts)] == [(item["i"], item["s"]) for item in items]
    assert steps(of) <= STEPS
    assert of._fields._shapes.used[FULL] or steps(of) > OTHERS_MAX


@pytest.mark.parametrize("width", [31, 32, 33, SEPARATOR_MAX - 5, SEPARATOR_MAX, SEPARATOR_MAX + 1])
def test_keys_of_any_length(width):
    key = "k" * width
    items = [text({"i": n, key: "x", key[:-1] + "l": None, "s": "y"}, False) for n in range(4)]
    assert [row[2:] for row in read(parser(("i", "s")), *items)] == [(n, "y") for n in range(4)]
    other = items[0].replace(key.encode(), key[:-1].encode() + b"\n")
    assert read(parser(("i",)), items[0], other, items[0])[1][2] == "<not JSON>"


@pytest.mark.parametrize("count", [TOKENS - 1, TOKENS, TOKENS + 1, 3 * TOKENS])
def test_tuples_of_many_values(count):
    items = [text({"other": list(range(count)), "i": n}, False) for n in range(3)]
    assert [row[2] for row in read(parser(("i",)), *items)] == [0, 1, 2]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_changed_byte_reads_as_python_says(data):
    fine = b'{"i": 12, "n": {"x": "a\\u00e4", "l": [1.5e3, -2]}, "b": true, "s": null}'
    at = data.draw(st.integers(0, len(fine) - 1))
    byte = data.draw(st.sampled_from(b'{}[]":, 0123456789.eE+-tfn\\u\x00\x1f\x7f'))
    changed = fine[:at] + bytes([byte]) + fine[at + 1:]
    row = read(parser(), fine, changed, fine)[1]
    try:
        value = json.loads(changed, parse_constant=lambda word: 1 / 0)
        valid = isinstance(value, dict)
    except (ValueError, ZeroDivisionError):
        valid = False
    assert row[2:] == alone(changed)[2:]
    assert ("<not JSON>" not in row) == valid


def test_no_place_reaches_behind_the_buffer():
    """The last tuples of a buffer, with no byte behind them."""
    for count in (1, 2, 10):
        items = tuples(count)
        of = parser()
        for _ in range(2):
            found = rows(of.parse(messages(items)), COLUMNS)
            assert [row[2:] for row in found] == [alone(item)[2:] for item in items]


def test_bytes_that_are_no_text_matter_where_they_are_wanted():
    items = [b'{"i":1,"s":"a"}', b'{"i":2,"s":"\xff"}',
             b'{"i":3,"s":"\xc3\xa4","z\xff":"\xff"}', b'{"i":4,"s":"\xed\xa0\x80"}']
    assert [row[2:] for row in read(parser(("i", "s")), *items, *items)] == 2 * [
        (1, "a"), (2, "<invalid UTF-8>"), (3, "ä"), (4, "<invalid UTF-8>")]
    assert [row[2] for row in read(parser(("i",)), *items, *items)] == [1, 2, 3, 4] * 2


@pytest.mark.parametrize("extra", [0, 1])
def test_the_deepest_nesting_that_is_read(extra):
    inner = DEPTH - 1 + extra  # the tuple itself is one level
    items = [b'{"other":%s%d%s,"i":7}' % (opening * inner, n, closing * inner) for n in range(3)
             for opening, closing in ((b"[", b"]"), (b'{"":', b"}"))]
    assert {row[2] for row in read(parser(("i",)), *items)} == {"<not JSON>" if extra else 7}
