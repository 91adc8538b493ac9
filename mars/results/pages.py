"""Pages of results: the rows of windows that every key part has closed, in one order, as of one commit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from mars.adapters.storage import CorruptFileError
from mars.results import cursors, emitted
from mars.results.cursors import CURSOR, Cursor, Selection, no_cursor
from mars.results.first_pages import FirstPage
from mars.results.formats import timestamp_text
from mars.results.partial_pages import open_rows
from mars.results.pieces import Piece, instant
from mars.results.places import Place
from mars.results.reason import why_empty
from mars.results.rows import Choice, first_rows, gone
from mars.results.snapshot import FRESH_S, Snapshot
from mars.results.source import ResultSource

TRIES = 3
T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """Rows, the cursor of the next page (None on the last), and as of which commit and watermark. `reason` says why there
    are no rows, and is empty if there are some."""

    rows: pa.Table
    next: str | None
    commit: int
    watermark: str | None
    reason: str = ""


@dataclass(frozen=True)
class Form(Generic[T]):
    """What is made of a page for those who ask, and about how many bytes that takes."""

    make: Callable[[Page], T]
    bytes: Callable[[T], int]


WHOLE: Form[Page] = Form(lambda page: page, lambda page: page.rows.get_total_buffer_size())


def page(source: ResultSource, name: str, selection: Selection, limit: int, cursor: str | None = None,
         min_commit: int = 0, named: Collection[str] = ()) -> Page:
    """At most `limit` rows; `named` are the parameters that the request names. NotFoundError, RequestError, GoneError, or
    SqlError for a condition that is refused."""
    return page_as(WHOLE, source, name, selection, limit, cursor, min_commit, named)


def page_as(form: Form[T], source: ResultSource, name: str, selection: Selection, limit: int, cursor: str | None = None,
            min_commit: int = 0, named: Collection[str] = ()) -> T:
    """What a form makes of `page`. First pages of the same commits are read and made once for all who ask for them."""
    stream, query = source.catalog.query(name)
    start = cursors.load(cursor, CURSOR) if cursor else None
    if start:
        start.check(query.shown_id, selection, named)
    for attempt in range(TRIES):
        snapshot = source.snapshots.read_whole(stream, query, min_commit)
        if start and not start.is_of(snapshot.vector, snapshot.watermark_us):
            if attempt == 0:  # another API process may have given out a page of a newer commit than the one known here
                source.snapshots.sync(stream)
                continue
            raise no_cursor()
        try:
            if start:
                return form.make(_continue(source, snapshot, start, limit))
            return source.first_pages.get(snapshot, (form, selection, limit),
                                          partial(_first, form, source, snapshot, selection, limit))
        except CorruptFileError:
            # Files are deleted once a newer commit does not need them, so continue as of that commit.
            if attempt == TRIES - 1:
                raise
            source.clock.sleep(2 * FRESH_S)
    raise AssertionError("unreachable")


def _first(form: Form[T], source: ResultSource, snapshot: Snapshot, selection: Selection, limit: int) -> FirstPage[T]:
    found = _begin(source, snapshot, selection, limit)
    made = form.make(found)
    open_id = cursors.load(found.next, CURSOR).open_id if found.next else ""
    # Why there are no rows may change without a commit.
    return FirstPage(made, form.bytes(made), open_id, lasts=not found.reason)


def _begin(source: ResultSource, snapshot: Snapshot, selection: Selection, limit: int) -> Page:
    open_table = open_rows(source.tables, snapshot) if _shows_open(snapshot, selection) else None
    cursor = Cursor(snapshot.query.shown_id, snapshot.vector, snapshot.watermark_us, selection, 0, 0, 0,
                    gone_us=source.tables.gone_us(snapshot))
    found = _page(source, snapshot, cursor, None, open_table, limit)
    if len(found.rows):
        return found
    return replace(found, reason=why_empty(source, snapshot, selection))


def _continue(source: ResultSource, snapshot: Snapshot, cursor: Cursor, limit: int) -> Page:
    place, gone_us = Place(cursor.start_us, cursor.end_us, cursor.skip), source.tables.gone_us(snapshot)
    if cursor.has_lost(gone_us):
        raise gone(place, gone_us)
    open_table = source.partial_pages.find(cursor.open_id) if _shows_open(snapshot, cursor.selection) else None
    return _page(source, snapshot, cursor, place, open_table, limit)


def _shows_open(snapshot: Snapshot, selection: Selection) -> bool:
    """EMIT CHANGES gives open windows out, too: their last column tells them from closed ones."""
    return selection.partial or snapshot.query.plan.presentation.emission == "CHANGES"


def _page(source: ResultSource, snapshot: Snapshot, cursor: Cursor, after: Place | None, open_table: pa.Table | None,
          limit: int) -> Page:
    """The page of a cursor that begins at `after`, None for the first rows."""
    plan, selection, bound = snapshot.query.plan, cursor.selection, cursor.bound_us
    first, last = _span(selection, after)
    pieces = [] if bound is None else source.tables.closed(snapshot, bound, first_us=first, last_us=last,
                                                                 as_of=cursor.commits)
    if selection.partial:
        pieces = emitted.whole(plan, pieces)
    elif bound is not None and emitted.is_emitted(plan):
        pieces = emitted.newest(plan, pieces, bound - snapshot.delay_us)
    if open_table is not None and len(open_table):
        pieces.append(Piece.of(open_table))
    rows = first_rows(Choice.of(plan, selection, source.compile_condition, after), pieces, limit + 1)
    next_ = None
    if len(rows) > limit:
        rows = rows.slice(0, limit)
        place = _place_after(rows, after)
        open_id = cursor.open_id or (source.partial_pages.keep(open_table) if open_table is not None else "")
        next_ = cursors.dump(replace(cursor, start_us=place.start_us, end_us=place.end_us, skip=place.skip, open_id=open_id))
    if selection.partial:
        rows = _marked(rows, bound, snapshot.delay_us)
    return Page(rows, next_, sum(cursor.commits), timestamp_text(bound))


def _span(selection: Selection, after: Place | None) -> tuple[int | None, int | None]:
    """The least and greatest window_start that can still come; None for no bound."""
    first = selection.first_us
    last = None if selection.end_us is None else selection.end_us - 1
    if after and selection.descending:
        last = after.start_us if last is None else min(last, after.start_us)
    elif after:
        first = after.start_us if first is None else max(first, after.start_us)
    return first, last


def _place_after(rows: pa.Table, before: Place | None) -> Place:
    """The place after these rows, which began at `before`."""
    starts, ends = (rows[name].cast(pa.int64()) for name in ("window_start", "window_end"))
    start, end = starts[-1].as_py(), ends[-1].as_py()
    same = pc.sum(pc.and_(pc.equal(starts, instant(start)), pc.equal(ends, instant(end)))).as_py()
    if before and (before.start_us, before.end_us) == (start, end):
        same += before.skip
    return Place(start, end, same)


def _marked(rows: pa.Table, bound_us: int | None, delay_us: int) -> pa.Table:
    """The rows with one more column, which says whether a row's window is still open."""
    closes = pc.add(rows["window_end"].cast(pa.int64()), instant(delay_us))
    flags = pa.array([True] * len(rows), pa.bool_()) if bound_us is None else pc.greater(closes, instant(bound_us))
    return rows.append_column("partial", flags)
