"""Dead letters of a batch: every bad tuple and no other, by its place, reasons and own bytes."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper import letters as made
from mapper.batch import Messages
from mapper.letters import LetterBox, letters_of
from mapper.parse import Parser
from mars.adapters.letters import LetterStore
from mars.adapters.storage import Storage
from mars.config import Config
from mars.model import letters
from tests.mapper.parsing import messages, stream

CSV = stream({"t": "BIGINT", "k": "STRING", "v": "INT"})
STRICT = stream({"t": "BIGINT", "k": "STRING", "v": "INT"}, options={"strict": True})
JSON = stream({"t": "BIGINT", "k": "STRING", "v": "INT"}, "JSON")


def found(of, items: list[bytes], columns=("v",), partition: int = 3) -> list[tuple]:
    """(offset, line, reason, payload) of the letters of these messages."""
    parser, held = Parser(of, columns), messages(items, first=10)
    table = letters_of(parser, partition, held, parser.parse(held))
    if table is None:
        return []
    assert table.schema == letters.SCHEMA
    assert set(table["partition"].to_pylist()) == {partition}
    return list(zip(*(table[name].to_pylist() for name in ("offset", "line", "reason", "payload")), strict=True))


def test_where_every_tuple_reads_there_are_none():
    assert found(CSV, [b"1,a,2", b"", b"3,,", b"4\n5,x,6\n"]) == []
    assert letters_of(Parser(CSV, ("v",)), 0, messages([]), Parser(CSV, ("v",)).parse(messages([]))) is None


def test_lines_of_a_message_are_letters_of_their_own():
    items = [b"1,a,2\r\n\r\nx,b,3\r\n4,c,five\r\n5,d,6", b"\n\n7,e,ninety\n", "8,\u00e9\u4e16,x\u00fc".encode()]
    assert found(CSV, items) == [(10, 2, "t: not a number", b"x,b,3"), (10, 3, "v: not a number", b"4,c,five"),
                                 (11, 2, "v: not a number", b"7,e,ninety"),
                                 (12, 0, "v: not a number", "8,\u00e9\u4e16,x\u00fc".encode())]


def test_a_quoted_field_over_lines_belongs_to_its_tuple():
    items = [b'1,"a\nb",x\n2,c,3\n4,"d""\n",y', b'5,"never closed,6\n7,e,8']
    assert found(CSV, items, ("k", "v")) == [
        (10, 0, "v: not a number", b'1,"a\nb",x'), (10, 2, "v: not a number", b'4,"d""\n",y'),
        (11, 0, "unclosed quote", b'5,"never closed,6\n7,e,8')]


def test_lines_that_a_stray_quote_took_along_have_a_letter_whatever_is_wanted():
    items = [b'1,"x,5\n2,y,6\n3,z,7', b'4,"d,8', b'5,"e,9\n6,"f,10\n7,g,11']
    expected = [(10, 0, "unclosed quote", items[0]), (12, 0, "text after a quote", b'5,"e,9\n6,"f,10')]
    for of, columns in ((CSV, ("v",)), (CSV, ("t",)), (STRICT, ("v",))):
        assert [letter for letter in found(of, items, columns) if letter[0] != 11] == expected


def test_every_reason_is_told_once_and_in_order():
    assert found(CSV, [b"y,\xff,99999999999"], ("v", "k")) == [
        (10, 0, "t: not a number; k: invalid UTF-8; v: out of range", b"y,\xff,99999999999")]
    assert found(CSV, [b",a,1", b"999999999999999999,a,1"]) == [
        (10, 0, "t: null event time", b",a,1"), (11, 0, "t: out of range", b"999999999999999999,a,1")]
    assert found(CSV, [b"1,a,x"], ("k",)) == []  # nobody asked for v


def test_a_strict_stream_tells_missing_and_extra_fields():
    assert found(STRICT, [b"1,a", b"1,a,2,3", b"1,a,2"], ("k",)) == [(10, 0, "missing field", b"1,a"),
                                                                     (11, 0, "extra field", b"1,a,2,3")]


def test_json_in_each_of_its_forms():
    items = [b'{"t": 1, "v": 2}\n{"t": 2, "v": "3"}\nnot json\n {"t":\n 3, "v": 1.5}\n',
             b' [{"t": 4, "v": 5}, 6, {"t": "7"} ]', b'[{"t": 8}, {"t": 9', '{"t": null, "k": "\u4e16\u754c"}'.encode(),
             b'{"t": 1} {"t": 2}']
    assert found(JSON, items) == [
        (10, 1, "v: wrong JSON type", b'{"t": 2, "v": "3"}'), (10, 2, "not JSON", b"not json"),
        (10, 3, "v: wrong JSON type", b'{"t":\n 3, "v": 1.5}'), (11, 1, "not a JSON object", b"6"),
        (11, 2, "t: wrong JSON type", b'{"t": "7"}'), (12, 0, "not JSON", b'[{"t": 8}, {"t": 9'),
        (13, 0, "t: null event time", '{"t": null, "k": "\u4e16\u754c"}'.encode()),
        (14, 0, "not JSON", b'{"t": 1} {"t": 2}')]


FIELDS = st.sampled_from([b"1", b"12", b"", b"x", b'"1"', b'"2\n3"', b'"a""b"', b'"open', b'"1"2', b"\xff", b"9" * 11])
ROWS = st.lists(FIELDS, min_size=1, max_size=4).map(b",".join)
OBJECTS = st.sampled_from([
    b'{"t":1,"v":2}', b'{"t":"1"}', b'{"t":1,"v":"x"}', b"7", b"{", b"true", b'{"t":1,\n"v":9e99}', b""])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(ROWS, max_size=5).map(b"\n".join) | st.lists(ROWS, max_size=3).map(b"\r\n\n".join), max_size=8),
       st.sampled_from([CSV, STRICT]))
def test_a_csv_letter_read_alone_is_bad_for_the_same_reasons(items, of):
    _is_bad_alone(of, items)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(OBJECTS, max_size=5).map(b"\n".join)
                | st.lists(OBJECTS, max_size=3).map(lambda some: b"[" + b", ".join(some) + b"]"), max_size=8))
def test_a_json_letter_read_alone_is_bad_for_the_same_reasons(items):
    _is_bad_alone(JSON, items)


def _is_bad_alone(of, items: list[bytes]) -> None:
    letters_ = found(of, items, ("k", "v"))
    batch = Parser(of, ("k", "v")).parse(messages(items, first=10))
    reasons = [*batch.bad.values(), *([batch.tuple_bad] if batch.tuple_bad is not None else [])]
    bad = np.logical_or.reduce([np.zeros(len(batch), bool), *(part != 0 for part in reasons)])
    places = zip(batch.offset[bad].tolist(), batch.line[bad].tolist(), strict=True)
    assert [letter[:2] for letter in letters_] == list(places)
    for _, _, reason, payload in letters_:
        assert [letter[2:] for letter in found(of, [payload], ("k", "v"))] == [(reason, payload)]


def test_what_is_too_long_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(made, "PAYLOAD_BYTES_MAX", 6)
    monkeypatch.setattr(made, "BATCH_BYTES_MAX", 12)
    parser, held = Parser(CSV, ("v",)), messages([b"x,a,1", b"x,abcdefgh,1", b"x", b"x,b,2"])
    table = letters_of(parser, 0, held, parser.parse(held))
    assert table["payload"].to_pylist() == [b"x,a,1", b"x,abcd", b"x", b""]
    assert table["cut"].to_pylist() == [False, True, False, True]


@pytest.fixture
def box(tmp_path) -> LetterBox:
    """Of a state folder that is empty."""
    return LetterBox(Config(data=tmp_path))


CLAIM = SimpleNamespace(partition=2, start=0, end=4)
HELD = messages([b"1,a,2", b"x,a,1", b"1,a,y", b"2,b,3"])


def keep(box: LetterBox, held: Messages = HELD, columns=("v",)) -> bool:
    parser = Parser(CSV, columns)
    return box.keep(parser, CLAIM, held, parser.parse(held))


def files(box: LetterBox) -> list[str]:
    return sorted(path.name for path in box.store.storage.root.rglob("*") if path.is_file())


def test_a_claim_that_is_worked_on_again_writes_the_same_file(box):
    assert keep(box)
    written = {path: path.read_bytes() for path in box.store.storage.root.rglob("*.letters")}
    assert keep(box)
    assert {path: path.read_bytes() for path in box.store.storage.root.rglob("*.letters")} == written
    assert len(files(box)) == 1


def test_another_query_s_lane_takes_no_letters_away(box):
    """It reads the same offsets for other columns, and finds as many letters, but others."""
    held = messages([b"1,a,x", b"1,\xff,2"])
    assert keep(box, held, ("v",))
    assert keep(box, held, ("k",))
    table, = box.store.in_order(CSV.id)
    assert table["reason"].to_pylist() == ["v: not a number", "k: invalid UTF-8"]


def test_nothing_is_written_where_all_is_good(box):
    assert keep(box, messages([b"1,a,2"]))
    assert files(box) == []


def test_none_are_kept_if_so_wished(tmp_path):
    box = LetterBox(Config(data=tmp_path, dead_letter_bytes_max=0))
    assert keep(box)
    assert files(box) == []


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), ValueError("a defect")])
def test_a_full_disk_is_told_and_fails_no_batch(box, monkeypatch, error):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(LetterStore, "write", fail)
    assert not keep(box)
    assert not box.keep_unread(CSV, CLAIM, "why")


def test_an_offset_that_nobody_can_read_is_a_letter_without_bytes(box):
    assert box.keep_unread(CSV, SimpleNamespace(partition=2, start=7, end=8), "why")
    table, = box.store.in_order(CSV.id)
    assert table.drop_columns("time").to_pylist() == [
        {"partition": 2, "offset": 7, "line": 0, "reason": "why", "payload": b"", "cut": True}]


def test_letters_of_a_host_without_the_state_folder_are_not_kept_and_written_nowhere(tmp_path):
    """They were written below the mount point, where nobody finds them, and counted as kept."""
    box = LetterBox(Config(data=tmp_path), "ours")
    assert not keep(box)
    assert files(box) == []
    Storage(str(box.store.storage.root)).put("instance.json", b'{"id": "ours", "format": 1}')
    assert keep(box)
    assert len(files(box)) == 2
