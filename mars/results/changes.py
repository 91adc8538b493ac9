"""What has changed of a result whose rows change after they were given out, since a reader has read it. Pure, but that it
reads cells.

Each cell of such a query has the number of the commit of its key part that changed it last. So a reader's place is one
number for each key part: it has all changes up to that commit, and what has changed since is found by it alone. Within a
commit changes come in the order of their windows, then of a hash of their keys. A cell that changes again goes to a later
commit, and leaves the others where they are. So a place always means the same, though rows behind it become fewer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mars.algebra import cells, cells_stamps, hashing
from mars.algebra.cells_layout import key_columns, panes_of
from mars.model.commits import QueryCommit, ResultSegment
from mars.model.plan import QueryPlan
from mars.results.blocks import CHUNK_ROWS, Block, Chunk
from mars.results.pieces import Piece
from mars.results.places import ALL, Changes, Step
from mars.results.rows import Choice
from mars.results.schema import schema_of
from mars.results.snapshot import Snapshot
from mars.results.tables import ResultTables


def changed(tables: ResultTables, snapshot: Snapshot, after: Changes, choice: Choice) -> Iterator[Block]:
    """What has changed behind a place, key part by key part, in chunks of about CHUNK_ROWS; some may be empty. The last one
    is behind everything that the snapshot has."""
    for number, part in enumerate(snapshot.parts):
        if part is None or after.parts[number] >= (part.commits, ALL, ALL):
            continue
        for table, step in _slices(_ordered(tables, snapshot, number, part, after.parts[number])):
            after = after.at(number, step)
            yield _block(snapshot, choice, table, after)
        after = after.at(number, (part.commits, ALL, ALL))
        yield Block(schema_of(snapshot.query.plan).empty_table(), [Chunk(after, 0)])


def are_any(snapshot: Snapshot, after: Changes) -> bool:
    """Has a commit of the snapshot come behind the place?"""
    return any(part is not None and step < (part.commits, ALL, ALL)
               for part, step in zip(snapshot.parts, after.parts, strict=True))


def lost(tables: ResultTables, snapshot: Snapshot, after: Changes) -> bool:
    """Have changes behind a place been deleted by the retention? A key part of which nothing was read begins with what is
    kept."""
    return any(part is not None and step[0] > 0 and step < (_gone(tables, part), ALL, ALL)
               for part, step in zip(snapshot.parts, after.parts, strict=True))


def _gone(tables: ResultTables, part: QueryCommit) -> int:
    segments = tables.segments(part)
    return segments[0].last_change if segments and not segments[0].rows else 0


def _block(snapshot: Snapshot, choice: Choice, table: pa.Table, behind: Changes) -> Block:
    plan = snapshot.query.plan
    rows = cells.finish(plan, snapshot.stream, table, ordered=False).cast(schema_of(plan))
    chosen = choice.of_piece(Piece.of(rows)).load()
    return Block(chosen, [Chunk(behind, len(chosen))])


def _slices(tables: Iterator[tuple[pa.Table, np.ndarray]]) -> Iterator[tuple[pa.Table, Step]]:
    """(about CHUNK_ROWS cells, the step behind them); cells of one step stay together."""
    for table, steps in tables:
        begin = 0
        while begin < len(table):
            end = min(begin + CHUNK_ROWS, len(table))
            while end < len(table) and (steps[end] == steps[end - 1]).all():
                end += 1
            commit, window, hash_ = (int(number) for number in steps[end - 1])
            yield table.slice(begin, end - begin), (commit, window, hash_)
            begin = end


def _ordered(tables: ResultTables, snapshot: Snapshot, number: int, part: QueryCommit, after: Step
             ) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """(cells, the step of each), in the order of the steps. Closed windows are read segment by segment, so that a reader of
    everything does not hold everything."""
    plan, stream = snapshot.query.plan, snapshot.stream
    open_ = tables.open.cells(snapshot, number, part) if plan.presentation.emission == "CHANGES" else \
        cells.schema(plan.aggregation, stream).empty_table()
    open_, opens = _behind(plan, open_, after)
    for segments in _apart([one for one in tables.segments(part) if one.rows and one.last_change >= after[0]]):
        until = np.searchsorted(opens[:, 0], segments[-1].last_change, side="right")
        closed = [tables.cells(segment, plan, stream) for segment in segments]
        yield _behind(plan, cells_stamps.together(plan.aggregation, stream, [*closed, open_.slice(0, until)]), after)
        open_, opens = open_.slice(until), opens[until:]
    yield open_, opens


def _apart(segments: list[ResultSegment]) -> Iterator[list[ResultSegment]]:
    """The segments in the order of their commits; those that are of the same commits together."""
    held: list[ResultSegment] = []
    for segment in sorted(segments, key=lambda segment: segment.first_change):
        if held and segment.first_change > max(one.last_change for one in held):
            yield sorted(held, key=lambda one: one.last_change)
            held = []
        held.append(segment)
    if held:
        yield sorted(held, key=lambda one: one.last_change)


def _behind(plan: QueryPlan, table: pa.Table, after: Step) -> tuple[pa.Table, np.ndarray]:
    """The cells behind a step, and the steps of them, in their order."""
    changes = cells_stamps.stamps_of(plan.aggregation, table, "changed")
    rows = np.flatnonzero(changes >= after[0])
    if len(rows) < len(table):
        table, changes = table.take(pa.array(rows)), changes[rows]
    windows = panes_of(table)
    hashes = (hashing.hash_rows(key_columns(table), len(table)) >> np.uint64(1)).astype(np.int64)
    chosen = (changes > after[0]) | (windows > after[1]) | ((windows == after[1]) & (hashes > after[2]))
    order = np.lexsort([hashes, windows, changes])
    order = order[chosen[order]]
    steps = np.stack([changes[order], windows[order], hashes[order]], axis=1)
    return table.take(pa.array(order)), steps
