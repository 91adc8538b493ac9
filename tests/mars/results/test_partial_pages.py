"""The open rows of first pages are kept for a minute, and not all of them when they are many."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from mars.errors import GoneError
from mars.results import partial_pages
from mars.results.partial_pages import KEPT_S, PartialPages
from mars.runtime.system import SYSTEM
from tests.clock import ManualClock

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
