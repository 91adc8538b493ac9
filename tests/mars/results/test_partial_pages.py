"""The open rows of first pages are kept for a minute, and not all of them when they are many. First pages are shared only by
readers of the same commits who ask for the same."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from mars.errors import GoneError
from mars.model.commits import QueryCommit
from mars.results import partial_pages
from mars.results.first_pages import FirstPage, FirstPages
from mars.results.partial_pages import KEPT_S, PartialPages
from mars.results.snapshot import Snapshot
from mars.runtime.system import SYSTEM
from tests.clock import ManualClock
from tests.reducer.pieces import QUERY, STREAM

ROWS = pa.table({"n": pa.array(range(100), pa.int64())})


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def pages(clock) -> PartialPages:
    return PartialPages(replace(SYSTEM, clock=clock))


def test_rows_are_found_by_their_id_for_a_while(pages, clock):
    first = pages.keep(ROWS)
    clock.now_s += KEPT_S / 2
    second = pages.keep(ROWS.slice(50))
    assert (len(pages.find(first)), len(pages.find(second))) == (100, 50)
    clock.now_s += KEPT_S / 2 + 1
    with pytest.raises(GoneError):
        pages.find(first)
    assert len(pages.find(second)) == 50


def test_no_more_than_its_share_of_memory_is_kept(clock, monkeypatch):
    monkeypatch.setattr(partial_pages, "KEPT_BYTES", 2 * ROWS.nbytes)
    pages = PartialPages(replace(SYSTEM, clock=clock))
    ids = [pages.keep(ROWS) for _ in range(3)]
    with pytest.raises(GoneError):
        pages.find(ids[0])
    assert [len(pages.find(id_)) for id_ in ids[1:]] == [100, 100]


class First:
    """First pages, and how often one was made."""

    def __init__(self, pages: PartialPages) -> None:
        self.pages, self.shared, self.made = pages, FirstPages(pages), 0

    def get(self, snapshot: Snapshot, asked: str = "all", open_id: str = "", lasts: bool = True) -> int:
        def make() -> FirstPage[int]:
            self.made += 1
            return FirstPage(self.made, 10, open_id, lasts)

        return self.shared.get(snapshot, asked, make)


@pytest.fixture
def first(pages) -> First:
    return First(pages)


def test_a_first_page_is_shared_only_by_readers_of_the_same_commits_who_ask_the_same(first):
    entries = [QueryCommit(1), QueryCommit(1)]
    snapshot = Snapshot(STREAM, QUERY, tuple(entries))
    assert [first.get(snapshot), first.get(Snapshot(STREAM, QUERY, tuple(entries)))] == [1, 1]
    assert first.get(snapshot, "a part") == 2
    later = Snapshot(STREAM, QUERY, (entries[0], entries[1].copy()))
    assert [first.get(later), first.get(snapshot), first.get(later)] == [3, 1, 3]
    assert first.get(Snapshot(STREAM, replace(QUERY, state="PAUSED"), tuple(entries))) == 4
    assert first.get(Snapshot(STREAM, replace(QUERY, id="q2"), tuple(entries))) == 5


def test_a_page_that_other_things_decide_too_is_made_anew(first):
    snapshot = Snapshot(STREAM, QUERY, (None,))
    assert [first.get(snapshot, lasts=False) for _ in range(2)] == [1, 2]


def test_who_gets_a_shared_page_may_ask_for_the_next_one_for_as_long(first, clock):
    snapshot, id_ = Snapshot(STREAM, QUERY, (None,)), first.pages.keep(ROWS)
    assert first.get(snapshot, open_id=id_) == 1
    for _ in range(3):
        clock.now_s += KEPT_S - 1
        assert first.get(snapshot, open_id=id_) == 1
    assert len(first.pages.find(id_)) == 100
    clock.now_s += KEPT_S + 1
    assert first.get(snapshot, open_id=first.pages.keep(ROWS)) == 2
