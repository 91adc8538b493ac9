"""The parser's arrays: as large as what is read, whatever was read before."""

from __future__ import annotations

import tracemalloc

import pytest

from mapper.parse import Parser
from tests.mapper.parsing import messages, rows, stream

COLUMNS = {"t": "BIGINT", "a": "STRING", "n": "INT"}
LINES, SMALL = 10_000, 4_000


@pytest.mark.parametrize(("of", "line"), [
    (stream(COLUMNS), b"1,ab,2"), (stream(COLUMNS, "JSON"), b'{"t":1,"a":"ab","n":2}')])
@pytest.mark.parametrize("placed", [False, True])
def test_small_messages_after_a_large_one_take_little_room(of, line, placed):
    parser, large, small = Parser(of, ("a", "n")), [b"\n".join([line] * LINES)], [line] * SMALL
    batches = [messages(large, 9), messages(small, 10)]
    most = 100 * sum(int(batch.length.sum()) for batch in batches)
    tracemalloc.start()
    try:
        for batch in batches:
            if placed:
                parser.places(batch)
            else:
                parsed = parser.parse(batch)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    if not placed:
        assert rows(parsed, ("a", "n")) == [(10 + i, 0, "ab", 2) for i in range(SMALL)]


def test_as_many_tuples_as_bytes_find_room():
    one = stream({"t": "BIGINT"})
    assert len(Parser(one, ("t",)).parse(messages([b"1", b"", b"2\n3", b"4", b"1\n" * 5_000]))) == 5_004
    one = stream({"t": "BIGINT"}, "JSON")
    assert len(Parser(one, ("t",)).parse(messages([b"[1,1,1", b"1", b"[", b"[" + b"1," * 999]))) == 4
