"""CSV: what is a tuple, what is a field, and one answer whatever lies around a tuple."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.parse import Parser
from tests.mapper.parsing import messages, rows, stream

ABC = ("a", "b", "c")


def texts(*items: bytes, columns=ABC, **options) -> list[tuple]:
    """(offset, line, a, b, c or the reason in angle brackets) of each tuple; column t is the time, always 1."""
    names = dict.fromkeys(ABC, "STRING")
    of = stream({"t": "BIGINT", **names}, options=options)
    return rows(Parser(of, columns).parse(messages(items)), columns)


@pytest.mark.parametrize(("line", "expected"), [
    (b"1,x,y,z", ("x", "y", "z")),
    (b"1,,\"\",z", (None, "", "z")),
    (b"1,x", ("x", None, None)),
    (b"1,x,y,z,more,and more", ("x", "y", "z")),
    (b'1,"a,b","c""d","e\nf"', ("a,b", 'c"d', "e\nf")),
    (b'1,"""","""""",""""', ('"', '""', '"')),
    (b'1,a"b,"c"d,e""', ('a"b', "<text after a quote>", 'e""')),
    (b'1,x,"open', ("x", "<unclosed quote>", None)),
    (b'1,x,"open""', ("x", "<unclosed quote>", None)),
    (b"1, x ,\ty\t,z\r", (" x ", "\ty\t", "z")),
    (b"1,\xc3\xa4,\xff,\xed\xa0\x80", ("ä", "<invalid UTF-8>", "<invalid UTF-8>")),
    (b"1,\x00,a\x00b,\xef\xbb\xbfx", ("\0", "a\0b", "\ufeffx")),
    (b'1,x, "y",z', ("x", ' "y"', "z")),
    (b'1,"' + b"a" * 1_000_000 + b'",' + b"b" * 1_000_000 + b",c", ("a" * 1_000_000, "b" * 1_000_000, "c")),
])
def test_fields(line, expected):
    assert texts(line) == [(0, 0, *expected)]


def test_lines_and_messages():
    assert texts(b"", b"1,a\r\n\r\n  \n1,b\n1,c", b"\n", b"1,d") == [
        (1, 0, "a", None, None), (1, 3, "b", None, None), (1, 4, "c", None, None), (3, 0, "d", None, None)]


def test_a_quoted_field_may_hold_newlines_in_a_message_of_many_lines():
    assert texts(b'1,"a\nb",c\r\n1,d\n1,"e\r\n\r\nf"\n') == [
        (0, 0, "a\nb", "c", None), (0, 1, "d", None, None), (0, 2, "e\r\n\r\nf", None, None)]


def test_an_open_quote_takes_the_rest_of_its_message_and_no_more():
    assert texts(b'1,a\n1,"b\n1,c', b"1,d") == [
        (0, 0, "a", None, None), (0, 1, "<unclosed quote>", None, None), (1, 0, "d", None, None)]


def test_a_quote_inside_a_field_opens_nothing():
    assert texts(b'1,5" pipe\n1,6" pipe') == [(0, 0, '5" pipe', None, None), (0, 1, '6" pipe', None, None)]


def test_delimiter_quote_and_null_text():
    assert texts(b"1\t'a\tb'\tNA\t'NA'", delimiter="\t", quote="'", null="NA") == [(0, 0, "a\tb", None, "NA")]
    assert texts(b"1\t\tx", delimiter="\t", null="NA") == [(0, 0, None, "x", None)]
    assert texts(b'1,"a","b', quote="") == [(0, 0, '"a"', '"b', None)]
    assert texts(b"\t\t", b" ", delimiter="\t") == [(0, 0, None, None, None)]


def test_strict_counts_missing_and_extra_fields_and_columns_that_nobody_asked_for():
    of = stream({"t": "BIGINT", "a": "STRING", "n": "INT"}, options={"strict": True})
    parsed = Parser(of, ("a",)).parse(messages([b"1,x,1", b"1,x", b"1,x,1,", b"1,x,q", b"1,x,"]))
    assert [row[2] for row in rows(parsed, ("a",))] == ["x", "<missing field>", "<extra field>", "<not a number>", "x"]
    assert set(parsed.columns) == {"a"}


def test_columns_that_nobody_asked_for_are_not_looked_at():
    assert texts(b'1,x,"open', columns=("a",)) == [(0, 0, "x")]
    assert texts(b"1,x,\xff", columns=("a",)) == [(0, 0, "x")]


def oracle(text: str) -> list[list[str | None] | None]:
    """RFC 4180 with NULL for an empty unquoted field, character by character: bad fields are in angle brackets, blank
    lines are None."""
    lines, fields, at, quoted = [], [], 0, False
    while at < len(text):
        if text[at] == '"':
            field, at, closed, quoted = "", at + 1, False, True
            while at < len(text) and not closed:
                if text[at] == '"' and text[at + 1:at + 2] == '"':
                    field, at = field + '"', at + 2
                elif text[at] == '"':
                    closed, at = True, at + 1
                else:
                    field, at = field + text[at], at + 1
            if not closed:
                field = "<unclosed quote>"
            elif at < len(text) and text[at] not in ",\n" and text[at:at + 2] != "\r\n" and text[at:] != "\r":
                field = "<text after a quote>"
                while at < len(text) and text[at] not in ",\n":
                    at += 1
        else:
            begin = at
            while at < len(text) and text[at] not in ",\n":
                at += 1
            field = text[begin:at]
            if at == len(text) or text[at] == "\n":
                field = field.removesuffix("\r")
            field = field or None
        fields.append(field)
        if text[at:at + 1] == "\r":
            at += 1
        if at < len(text) and text[at] == ",":
            at += 1
            if at == len(text) or text[at] == "\n":
                fields.append(None)
        if at >= len(text) or text[at] == "\n":
            blank = len(fields) == 1 and not quoted and not (fields[0] or "").strip(" \t")
            lines.append(None if blank else fields)
            fields, at, quoted = [], at + 1, False
    return lines


@settings(max_examples=400, deadline=None)
@given(st.lists(st.text(alphabet='ab",\n\r \tä', max_size=24), max_size=6))
def test_against_a_reader_character_by_character(items):
    expected = []
    for offset, item in enumerate(items):
        for line, fields in enumerate(oracle(item)):
            if fields is not None:
                expected.append((offset, line, *(fields + [None] * 3)[:3]))
    of = stream({"a": "STRING", "b": "STRING", "c": "STRING", "t": "BIGINT"})
    parsed = Parser(of, ABC).parse(messages([item.encode() for item in items]))
    assert rows(parsed, ABC) == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet='1a",\n\r ', max_size=20), min_size=1, max_size=8), st.data())
def test_the_answer_does_not_depend_on_batch_borders(items, data):
    of = stream({"t": "BIGINT", "a": "STRING", "b": "INT"})
    one, many = Parser(of, ("a", "b")), Parser(of, ("a", "b"))
    whole = rows(one.parse(messages([item.encode() for item in items])), ("a", "b"))
    cut = data.draw(st.integers(0, len(items)))
    first = rows(many.parse(messages([item.encode() for item in items[:cut]])), ("a", "b"))
    second = rows(many.parse(messages([item.encode() for item in items[cut:]], cut)), ("a", "b"))
    assert first + second == whole
