"""Readers that follow a result as windows close: how far each reader is, and what comes next for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from mars.adapters.storage import CorruptFileError
from mars.errors import GoneError, NotFoundError, NotReadyError
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import Query
from mars.results import changes, emitted, event_ids
from mars.results.blocks import CHUNK_ROWS, Block, Chunk
from mars.results.cursors import Selection
from mars.results.places import Changes, Place, begun
from mars.results.rows import Choice, all_rows, gone, times
from mars.results.snapshot import Snapshot
from mars.results.source import ResultSource
from mars.results.times import instant_us
from mars.runtime.periods import Every

LOOK_S = 1.0  # between looks whether the query is still there: readers are many, and wait for a long time


@dataclass
class Tail:
    """How far one reader is. It has all rows up to `place`, and all rows of windows that close at or before the watermark
    `above_us`, as far as it asked for them. Both are None for a reader that has nothing and wants everything that is
    kept. Rows never change, and they come in the order of window_end, in which windows of every kind close, then of
    window_start. So a place always means the same. Of a query whose rows do change `changes` is the place, and the other two
    are None."""

    stream: Stream
    query: Query
    selection: Selection
    looks: Every
    above_us: int | None = None
    place: Place | None = None
    snapshot: Snapshot | None = None
    waiting: Iterator[Block] | None = None
    changes: Changes | None = None


def open_tail(source: ResultSource, name: str, last_event_id: str | None, from_: str | None, where: str | None) -> Tail:
    """Where a reader begins: after the last event that it has, at a time, now, or with everything that is kept. SqlError
    for a condition that is refused; RequestError for an invalid place; GoneError if rows after the place are missing."""
    stream, query = source.catalog.query(name)
    now = from_ == "now"
    selection = Selection(None if now else instant_us("from", from_), where=where)
    tail = Tail(stream, query, selection, Every(LOOK_S, source.clock))
    Choice.of(query.plan, tail.selection, source.compile_condition)
    if last_event_id:
        place = event_ids.load(last_event_id, query.shown_id, tail.selection, _changes(tail) and stream.key_parts)
        tail.place, tail.changes = (None, place) if isinstance(place, Changes) else (place, None)
        # Browsers never come back after a refusal, so errors that may pass are left to the stream, which waits.
        with contextlib.suppress(CorruptFileError, NotReadyError):
            _require_kept(source, tail, source.snapshots.read(stream, query))
    elif now:
        snapshot = source.snapshots.read(stream, query)
        if _changes(tail):
            tail.changes = Changes.of(snapshot.vector)
        else:
            tail.above_us = snapshot.watermark_us
    return tail


def _changes(tail: Tail) -> bool:
    return tail.query.plan.aggregation.is_changelog


def next_block(source: ResultSource, tail: Tail) -> Block | None:
    """The next rows; the tail is then after them. None if no further window has closed. NotFoundError if the query was
    dropped, GoneError if rows are missing. After any error, the next call gives the rows that this call should have
    given."""
    _look(source, tail)
    try:
        while (waiting := tail.waiting or _begin(source, tail)) is not None:
            block = next(waiting, None)
            if block is None:
                _end(tail)
            elif _took(tail, block):
                return block
    except Exception:
        tail.waiting = None
        raise
    return None


def _took(tail: Tail, block: Block) -> bool:
    """Put the tail behind the block; False if it has no rows."""
    behind = block.chunks[-1].behind
    if isinstance(behind, Changes):
        tail.changes = behind
    else:
        tail.place = behind
    return len(block.table) > 0


def _end(tail: Tail) -> None:
    """All rows of the snapshot are read."""
    assert tail.snapshot is not None, tail  # rows are opened as of one
    tail.waiting = None
    if not _changes(tail):
        tail.above_us = tail.snapshot.watermark_us


def _begin(source: ResultSource, tail: Tail) -> Iterator[Block] | None:
    """The rows behind the reader's place, which wait for it from now on; None if there is nothing new."""
    tail.snapshot = source.snapshots.read_whole(tail.stream, tail.query)
    if _changes(tail):
        return _begin_changes(source, tail, tail.snapshot)
    visible, after = tail.snapshot.watermark_us, None
    if visible is None or (tail.above_us is not None and visible <= tail.above_us):
        return None
    if tail.place is not None:
        closes_us = tail.place.end_us + tail.snapshot.delay_us
        if closes_us > visible:  # the id comes from an API process that knows a newer commit
            return None
        after = tail.place if tail.above_us is None or closes_us > tail.above_us else None
    _require_kept(source, tail, tail.snapshot)
    above_us = tail.above_us if after is None else after.end_us + tail.snapshot.delay_us - 1
    pieces = source.tables.closed(tail.snapshot, visible, above_us, tail.selection.first_us)
    choice = Choice.of(tail.query.plan, tail.selection, source.compile_condition, after, by_end=True)
    tail.waiting = _blocks(tail.query.plan, all_rows(choice, pieces), after)
    return tail.waiting


def _begin_changes(source: ResultSource, tail: Tail, snapshot: Snapshot) -> Iterator[Block] | None:
    """As _begin: the changes behind the reader's place."""
    after = begun(tail.changes, tail.stream.key_parts)
    if not changes.are_any(snapshot, after):
        return None
    _require_kept(source, tail, snapshot)
    choice = Choice.of(tail.query.plan, tail.selection, source.compile_condition)
    tail.waiting = changes.changed(source.tables, snapshot, after, choice)
    return tail.waiting


def _require_kept(source: ResultSource, tail: Tail, snapshot: Snapshot) -> None:
    """GoneError if rows that the reader has yet to get may be missing. A reader that has nothing yet begins with what is
    kept."""
    if tail.changes is not None and changes.lost(source.tables, snapshot, tail.changes):
        raise GoneError("the changes after this place are no longer kept", "result_retention_days have passed for some of "
                        "them", "begin again without Last-Event-ID")
    gone_us, end_us = source.tables.gone_us(snapshot), None if tail.place is None else tail.place.end_us
    if tail.above_us is not None:
        above_us = tail.above_us - snapshot.delay_us + 1  # the first windows that it does not have end there
        end_us = above_us if end_us is None else max(end_us, above_us)
    if gone_us is not None and end_us is not None and gone_us >= end_us:
        raise gone(tail.place or Place(end_us, end_us, 0), gone_us)


def _blocks(plan: QueryPlan, tables: Iterator[pa.Table], after: Place | None) -> Iterator[Block]:
    """The rows of tables that begin after `after`, as they are shown, in blocks of at most CHUNK_ROWS."""
    for table in tables:
        begin = end = 0
        held: list[Chunk] = []
        for chunk in _chunks(table, after):
            if end - begin + chunk.rows > CHUNK_ROWS:
                yield Block(emitted.shown(plan, table.slice(begin, end - begin)), held)
                begin, held = end, []
            held.append(chunk)
            end += chunk.rows
        if held:
            yield Block(emitted.shown(plan, table.slice(begin)), held)


def _chunks(table: pa.Table, after: Place | None) -> Iterator[Chunk]:
    """The chunks of a table. The first may be the rest of a chunk, if rows begin after `after`."""
    starts, ends = times(table, "window_start"), times(table, "window_end")
    edges = np.flatnonzero(np.diff(starts).astype(bool) | np.diff(ends).astype(bool)) + 1
    for first, end in pairwise([0, *edges.tolist(), len(table)] if len(table) else []):
        window = int(starts[first]), int(ends[first])
        done = after.skip if after and (after.start_us, after.end_us) == window else 0
        last = done + end - first
        while done < last:
            stop = min(last, (done // CHUNK_ROWS + 1) * CHUNK_ROWS)
            yield Chunk(Place(*window, stop), stop - done)
            done = stop


def _look(source: ResultSource, tail: Tail) -> None:
    """Look now and then whether the query is still the same one, and what its state is."""
    if not tail.looks.is_due():
        return
    stream, query = source.catalog.query(tail.query.name)
    if query.id != tail.query.id:
        raise NotFoundError("the query was dropped", f"another query has the name {query.name} now")
    if query.shown_id != tail.query.shown_id:
        raise GoneError("the query was altered", f"{query.name} shows other rows now", event_ids.BEGIN)
    tail.stream, tail.query = stream, query
    tail.looks.begin()
