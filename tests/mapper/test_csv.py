"""CSV: what is a tuple, what is a field, and one answer whatever lies around a tuple."""

from __future__ import annotations

import csv
import dataclasses
import io

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mapper.batch import REASONS
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
        (0, 0, "a", None, None), (0, 1, *["<unclosed quote>"] * 3), (1, 0, "d", None, None)]


@pytest.mark.parametrize(("item", "reason"), [
    (b'1,"x,5\n2,y,6\n3,z,7', "unclosed quote"),
    (b'1,x,"5\r\n2,y,6', "unclosed quote"),
    (b'1,x,5,"a\n2,y,6\n', "unclosed quote"),
    (b'1,"x,5\n2,"y,6\n3,z,7', "text after a quote"),
    (b'1,"x,5\n2,y"\rz,6', "text after a quote"),
    (b'1,"x,5\n2,"y,6,"z', "text after a quote"),
    (b'1,"x,5', None), (b'1,"x,5\n', None), (b'1,"x,5\r\n\r\n', None),  # no other line is in it
    (b'1,"x"y,5\n2,y,6', None), (b'1,"x,5\n2,y",6', None), (b'1,x,"5\n6"\r\n2', None), (b'1,x,5,"\n"\r', None),
])
@pytest.mark.parametrize("tail", [b"", b'",\n' * 22])
def test_lines_that_a_stray_quote_took_along_are_in_a_bad_tuple_whatever_is_wanted(item, reason, tail):
    """Else they would be in no counter and in no letter."""
    for columns in (("a",), ("b",), ("a", "b", "c"), ()):
        for options in ({}, {"strict": True}):
            of = stream({"t": "BIGINT", **dict.fromkeys(ABC, "STRING")}, options=options)
            held = messages([b"7,u,v,w", item, b"8,u,v,w"])
            held = dataclasses.replace(held, buffer=np.frombuffer(held.buffer.tobytes() + tail, np.uint8))
            parsed = Parser(of, columns).parse(held)
            reasons = [] if parsed.tuple_bad is None else parsed.tuple_bad[parsed.offset == 1].tolist()
            assert (REASONS.index(reason) in reasons) if reason else not {11, 14} & set(reasons), (columns, options)


@pytest.mark.parametrize(("between", "bad"), [(b"", False), (b"\r", False), (b"\rx", True), (b"x", True)])
def test_a_carriage_return_behind_a_quote_ends_a_tuple_before_a_newline_only(between, bad):
    items = [b'"\n' + b"y" * at + b'"' + between + b"\nz" for at in range(130)]  # a quote at each place of 64 bytes
    parsed = Parser(stream({"a": "STRING", "t": "BIGINT"}), ()).parse(messages([*items, b"z" * 64]))
    assert parsed.offset.tolist() == [*np.repeat(np.arange(130), 2).tolist(), 130]
    assert ([] if parsed.tuple_bad is None else parsed.tuple_bad.tolist()) == ([14, 0] * 130 + [0] if bad else [])


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


def oracle(text: str) -> list[tuple[list[str | None], str | None] | None]:
    """(fields, why the whole tuple is bad or None) of each line, by RFC 4180 with NULL for an empty unquoted field, one
    character after the other. Bad fields are in angle brackets, blank lines are None.
    """
    lines, fields, whole, at, quoted = [], [], None, 0, False
    while at < len(text):
        if text[at] == '"':
            field, at, closed, quoted, begin = "", at + 1, False, True, at
            while at < len(text) and not closed:
                if text[at] == '"' and text[at + 1:at + 2] == '"':
                    field, at = field + '"', at + 2
                elif text[at] == '"':
                    closed, at = True, at + 1
                else:
                    field, at = field + text[at], at + 1
            if not closed:
                field = "<unclosed quote>"
                whole = whole or (field if "\n" in text[begin:].rstrip("\r\n") else None)
            elif at < len(text) and text[at] not in ",\n" and text[at:at + 2] != "\r\n" and text[at:] != "\r":
                field = "<text after a quote>"
                whole = whole or (field if "\n" in text[begin:at] else None)
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
            lines.append(None if blank else (fields, whole))
            fields, whole, at, quoted = [], None, at + 1, False
    return lines


@settings(max_examples=400, deadline=None)
@given(st.lists(st.text(alphabet='ab",\n\r \tä', max_size=24), max_size=6))
def test_against_a_reader_character_by_character(items):
    expected = []
    for offset, item in enumerate(items):
        for line, found in enumerate(oracle(item)):
            if found is not None:
                fields, whole = found
                expected.append((offset, line, *([whole] * 3 if whole else (fields + [None] * 3)[:3])))
    of = stream({"a": "STRING", "b": "STRING", "c": "STRING", "t": "BIGINT"})
    parsed = Parser(of, ABC).parse(messages([item.encode() for item in items]))
    assert rows(parsed, ABC) == expected


PIECES = ("\n1,", "\r\n1,", ",", ",", '"', '""', ',"', '",', "a", "b", " ", "\t", "ä", "'")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_against_the_csv_module(text):
    """Where that module reads a message without an error; it knows no NULL, so that the empty text stands for both."""
    text = f"1,{text}"
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        assume(False)
    expected = [(0, line, *((fields + [""] * 3)[1:4])) for line, fields in enumerate(lines)]
    assert [(*row[:2], *(field or "" for field in row[2:])) for row in texts(text.encode())] == expected


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
