"""CSV read 64 bytes at a time and in blocks: the same answer as character by character, wherever a border falls."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper import parse
from mapper.batch import Messages
from mapper.parse import Parser
from mapper.parse_dictionary import Dictionary
from mapper.parse_fields import Column, side_column
from tests.mapper.parsing import messages, rows, stream
from tests.mapper.test_csv import oracle

NAMES = tuple(f"c{i}" for i in range(8))
OF = stream({**dict.fromkeys(NAMES, "STRING"), "t": "BIGINT"})

plain = st.text(alphabet="ab ä;", max_size=80)
quoted = st.text(alphabet='a,\n\r"', max_size=30).map(lambda text: '"' + text.replace('"', '""') + '"')
whole = st.one_of(st.text(alphabet="ab, ", max_size=80), st.integers(0, 300).map(lambda size: ("a, b\n" * 60)[:size])).map(
    lambda text: f'"{text}"')
nasty = st.text(alphabet='a",\n\r', max_size=12)
line = st.lists(st.one_of(plain, whole, whole, quoted, nasty), max_size=10).map(",".join)
message = st.lists(line, min_size=1, max_size=4).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines)))


def with_tail(of: Messages, tail: bytes) -> Messages:
    """The same messages with more bytes behind them: rows are read quickly only where 64 bytes follow."""
    return dataclasses.replace(of, buffer=np.frombuffer(of.buffer.tobytes() + tail, np.uint8))


def expected(items: list[str], columns: tuple[str, ...]) -> list[tuple]:
    """What the reader character by character makes of them."""
    found = []
    for offset, item in enumerate(items):
        for number, told in enumerate(oracle(item)):
            if told is not None:
                fields, whole = told
                values = [whole] * len(NAMES) if whole else (fields + [None] * len(NAMES))[:len(NAMES)]
                found.append((offset, number, *(values[NAMES.index(name)] for name in columns)))
    return found


@settings(max_examples=400, deadline=None)
@given(st.lists(message, max_size=5), st.sets(st.sampled_from(NAMES), min_size=1), st.sampled_from([b"", b'",\n' * 22]))
def test_against_a_reader_character_by_character(items, chosen, tail):
    columns = tuple(sorted(chosen))
    found = Parser(OF, columns).parse(with_tail(messages(item.encode() for item in items), tail))
    assert rows(found, columns) == expected(items, columns)


@settings(max_examples=100, deadline=None)
@given(st.lists(line, min_size=1, max_size=6), st.sampled_from([b"", b"," * 64]))
def test_strict_tuples_have_as_many_fields_as_columns(items, tail):
    of = stream({**dict.fromkeys(NAMES[:4], "STRING"), "t": "STRING"}, unit="us", options={"strict": True})
    found = rows(Parser(of, ("c0",)).parse(with_tail(messages(item.encode() for item in items), tail)), ("c0",))
    told = [(len(line[0]), line[1]) for item in items for line in oracle(item) if line is not None]
    wrong = [value if whole or value in ("<missing field>", "<extra field>") else ""
             for (_, _, value), (_, whole) in zip(found, told, strict=True)]
    assert wrong == [whole or ("<missing field>" if count < 5 else "<extra field>" if count > 5 else "")
                     for count, whole in told]


@pytest.fixture
def small_blocks(monkeypatch):
    """Sets the size of blocks."""
    def use(count: int, size: int) -> None:
        monkeypatch.setattr(parse, "BLOCK_MESSAGES", count)
        monkeypatch.setattr(parse, "BLOCK_BYTES", size)
    return use


def test_blocks_hold_each_message_once_and_none_is_cut(small_blocks):
    items = [b"x" * size for size in (0, 3, 100_000, 0, 0, 5, 4, 1, 7, 2)]
    small_blocks(3, 10)
    parts = list(parse.blocks(messages(items, 70)))
    assert [part.length.tolist() for part in parts] == [[0, 3], [100_000], [0, 0, 5], [4, 1], [7, 2]]
    assert np.concatenate([part.offset for part in parts]).tolist() == list(range(70, 80))
    assert list(parse.blocks(messages([]))) == []


@pytest.mark.parametrize("size", [(1, 1), (2, 40), (3, 1 << 20), (7, 200)])
def test_the_answer_does_not_depend_on_block_borders(size, small_blocks):
    columns = {"t": "BIGINT", "a": "STRING", "n": "INT", "d": "DECIMAL(20,2)", "f": "FLOAT", "b": "BOOLEAN",
               "at": "TIMESTAMP"}
    of, names = stream(columns), tuple(columns)
    line = b'%d,"a%d","%d",%d.5,1e-%d,%s,2024-01-0%d'
    items = [line % (i, i % 7, i, i, i % 40, b"true" if i % 3 else b"no", i % 9 + 1) for i in range(40)]
    items += [b"", b"\n \n", b"1," + b"b" * 100_000 + b",2", b'5,"' + b'c""' * 300 + b'",x', b"\xff", b"2,\xff,3", b"x,,",
              b"1,a\n2,b\r\n\n3,\xc3\xa4,-7\n" * 30, b'1,"a\nb",2147483648\n2,"open\n3,c']
    items += [b"%d,key %d of more than sixteen bytes" % (i, i) for i in range(2000)]
    whole = Parser(of, names).parse(messages(items))
    small_blocks(*size)
    parser = Parser(of, names)
    parsed = parser.parse(messages(items))
    assert rows(parsed, names) == rows(whole, names)
    assert (parsed.event_time == whole.event_time).all()
    assert rows(parser.parse(messages(items[:1])), names) == rows(parsed, names)[:1]
    assert rows(parser.parse(messages([])), names) == []


near = st.sampled_from([b"a", b"a\0", b"\0", b"a" * 8, b"a" * 8 + b"\0", b"a" * 16, b"a" * 16 + b"\0", b"a" * 17,
                        b"a" * 24 + b"b", b"\xff" * 16])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode), near), max_size=60),
       st.sampled_from([b"", b"x" * 64]), st.integers(1, 9))
def test_strings_that_are_nearly_the_same_keep_apart(texts, tail, repeat):
    items = [b'1,"' + text.replace(b'"', b'""') + b'"' for text in texts] * repeat
    found = Parser(stream({"t": "BIGINT", "a": "STRING"}, options={"quote": '"'}), ("a",)).parse(
        with_tail(messages(items), tail)).columns["a"].to_pylist()
    assert found == [decoded(text) for text in texts] * repeat


def test_a_key_in_the_way_is_told_from_texts_that_differ_in_length_or_late():
    kept = "a" * 16 + "b" * 16
    texts = [kept, "a" * 16, "a" * 16 + "b" * 15, kept + "\0", "a" * 16 + "b" * 15 + "c", "a" * 15 + "c" + "b" * 16]
    dictionary = Dictionary()
    one = dictionary.encode(column([kept]), np.empty(1, np.int32), np.empty(1, np.uint8))
    dictionary.table[:-32] = 0  # nearly every text meets the first key before it finds a free place
    codes = np.empty(len(texts), np.int32)
    assert (one, dictionary.encode(column(texts), codes, np.empty(len(texts), np.uint8))) == (0, 0)
    assert dictionary.arrow().take(codes).to_pylist() == texts


def column(texts: list[str]) -> Column:
    """A column of plain texts."""
    ends = np.cumsum([len(text) for text in texts])
    return side_column(np.frombuffer("".join(texts).encode(), np.uint8), ends, lambda column: column)


def decoded(text: bytes) -> str | None:
    """UTF-8, None if it is none."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


whole_numbers = st.one_of(st.integers(-10**17, 10**17).map(str), st.integers(-10, 2**32).map(str),
                          st.text(alphabet="0123456789+- .:/\0", max_size=18))


@settings(max_examples=200, deadline=None)
@given(st.lists(whole_numbers, max_size=20), st.sampled_from([b"", b"9" * 64]))
def test_integers_eight_digits_at_a_time(texts, tail):
    def read(text: str, bits: int) -> object:
        stripped = text.strip(" \t")
        if not stripped.lstrip("+-").isdigit() or len(stripped) - len(stripped.lstrip("+-")) > 1:
            return "<not a number>" if text else None
        return int(stripped) if -2**(bits - 1) <= int(stripped) < 2**(bits - 1) else "<out of range>"
    of = stream({"i": "INT", "l": "BIGINT", "t": "BIGINT"})
    items = messages(f"{text},{text}".encode() for text in texts)
    found = rows(Parser(of, ("i", "l")).parse(with_tail(items, tail)), ("i", "l"))
    assert [row[2:] for row in found] == [(read(text, 32), read(text, 64)) for text in texts]
