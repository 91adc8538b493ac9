"""Where a reader of windows goes on: over ends of commits, errors, and rows that are deleted."""

from __future__ import annotations

import pytest

from mars.adapters.storage import CorruptFileError
from mars.errors import GoneError, NotReadyError
from mars.results import tails
from mars.results.places import Place
from mars.results.tails import Tail, next_block, open_tail

pytestmark = pytest.mark.services


def rows(start: int, count: int) -> list[dict]:
    return [{"start": start, "sip": f"s{i:05}", "count": i, "b": None} for i in range(count)]


@pytest.fixture
def filled(new_query):
    """Windows 0, 60 and 120; key part 1 has rows in the second one."""
    committer = new_query()
    committer.commit(1, rows(60, 1), watermark=1000)
    for start in (0, 60, 120):
        committer.commit(0, rows(start, 5), watermark=start + 65)
    return committer


def read(context, tail: Tail) -> list[tuple[int, int]]:
    """(window start in s, rows) of each chunk, until no further window has closed."""
    found = []
    while block := next_block(context.results, tail):
        begin = 0
        for chunk in block.chunks:
            starts = block.table["window_start"].slice(begin, chunk.rows).to_pylist()
            assert {start.timestamp() for start in starts} == {chunk.behind.start_us / 1e6}
            found.append((chunk.behind.start_us // 1_000_000, len(starts)))
            begin += chunk.rows
        assert begin == len(block.table) <= tails.CHUNK_ROWS
    return found


def begun(context, committer, last_id: str | None = None, from_: str | None = None, where: str | None = None) -> Tail:
    return open_tail(context.results, committer.query.name, last_id, from_, where)


def test_chunks_end_at_the_same_rows_wherever_a_reader_begins(context, filled, monkeypatch):
    monkeypatch.setattr("mars.results.tails.CHUNK_ROWS", 2)
    whole = begun(context, filled)
    assert read(context, whole) == [(0, 2), (0, 2), (0, 1), (60, 2), (60, 2), (60, 2), (120, 2), (120, 2), (120, 1)]
    second = f"{filled.query.id}/60000000/120000000"
    assert read(context, begun(context, filled, f"{second}/3")) == [(60, 1), (60, 2), (120, 2), (120, 2), (120, 1)]
    monkeypatch.setattr("mars.results.tails.CHUNK_ROWS", 6)
    assert read(context, begun(context, filled, f"{second}/6")) == [(120, 5)]


@pytest.mark.parametrize("size", [1, 3, 7, 11, 1000])
def test_no_row_is_left_out_and_none_comes_twice_wherever_a_reader_begins(context, filled, monkeypatch, size):
    """Not only at ends of chunks: they may have been of another size when the id was given."""
    monkeypatch.setattr("mars.results.tails.CHUNK_ROWS", size)
    for before, window, skip in ((0, 0, 0), (0, 0, 2), (0, 0, 5), (5, 60, 1), (5, 60, 6), (11, 120, 5)):
        place = f"{filled.query.id}/{window}000000/{window + 60}000000/{skip}" if skip else None
        assert before + skip + sum(rows for _, rows in read(context, begun(context, filled, place))) == 16


def test_after_an_error_no_row_is_left_out_and_none_comes_again(context, filled, monkeypatch):
    monkeypatch.setattr("mars.results.pieces.STRATUM_ROWS", 1)
    tail, table, broken = begun(context, filled), context.tables.rows, [filled.commits[0].results[1]]

    def failing(result, plan, stream):
        if result in broken:
            raise CorruptFileError("a committed file cannot be read", result.segment.path)
        return table(result, plan, stream)

    monkeypatch.setattr(context.tables, "rows", failing)
    assert len(next_block(context.results, tail).table) == 5
    with pytest.raises(CorruptFileError):
        next_block(context.results, tail)
    broken.clear()
    assert read(context, tail) == [(60, 6), (120, 5)]


def test_a_place_that_is_not_known_here_yet_is_waited_for(context, filled):
    """Its event was sent by an API process that knows of a newer commit."""
    tail = begun(context, filled, f"{filled.query.id}/180000000/240000000/2")
    assert read(context, tail) == []
    filled.commit(0, rows(180, 3), watermark=245)
    assert read(context, tail) == [(180, 1)]


def test_who_has_all_rows_that_are_deleted_reads_on(context, filled):
    """A condition under which long nothing came: the last row is gone, and nothing behind it that was not read."""
    tail = begun(context, filled, where="count = 0")
    assert read(context, tail) == [(0, 1), (60, 2), (120, 1)]
    tail.place = Place(0, 60_000_000, 1)
    filled.forget(0, 180)
    filled.commit(0, rows(180, 3), watermark=245)
    assert read(context, tail) == [(180, 1)]
    tail.place, tail.above_us = Place(0, 60_000_000, 1), 125_000_000
    with pytest.raises(GoneError):
        read(context, tail)


def test_who_wants_what_comes_from_now_on_is_told_of_what_it_missed(context, filled):
    tail = begun(context, filled, from_="now")
    filled.commit(0, rows(180, 3), watermark=245)
    filled.forget(0, 180)
    assert read(context, tail) == [(180, 3)]
    tail = begun(context, filled, from_="now")
    filled.commit(0, rows(240, 3), watermark=305)
    filled.forget(0, 300)
    with pytest.raises(GoneError, match="no longer kept"):
        read(context, tail)


@pytest.mark.parametrize("error", [CorruptFileError("a committed file cannot be read"), NotReadyError("ZooKeeper is away")])
def test_who_comes_back_while_nothing_reads_is_not_turned_away(context, filled, monkeypatch, error):
    """Browsers come back by themselves after a break, and never again after a refusal."""
    place = f"{filled.query.id}/60000000/120000000/6"

    def failing(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(context.snapshots, "read", failing)
        tail = begun(context, filled, place)
    assert read(context, tail) == [(120, 5)]


def test_a_window_with_fewer_rows_than_were_sent_is_not_whole(context, filled):
    with pytest.raises(GoneError):
        read(context, begun(context, filled, f"{filled.query.id}/60000000/120000000/7"))
    with pytest.raises(GoneError):
        read(context, begun(context, filled, f"{filled.query.id}/30000000/60000000/1"))
