"""When windows close that a group's tuples decide together (kinds that are `Joined`), over whole tables.

The state of such a query may lie in many tables, and what closes is known only from all cells of a group. What went into
closed windows is left out of the tables in memory. But files that were written before still have it, and it must not be
joined with what comes later. Nor may a late tuple reopen a closed window. So a closed window leaves a *wall*: a cell
without tuples, with the window's end in `w` and in `last`. Up to there everything of the group is closed. A wall goes once
nothing that could still count would touch it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mars.algebra import partials
from mars.algebra.cells_layout import LAST, key_columns, lasts_of, panes_of, partial_columns, schema, table_of
from mars.algebra.cells_merge import merged, under
from mars.algebra.evaluation.arrays import numbers, single, taken
from mars.algebra.grouping import group
from mars.algebra.windows import NEVER, Joined
from mars.algebra.windows.runs import greatest
from mars.model.plan import Aggregation, Stream

NOWHERE = -2**63  # where no wall is


@dataclass(frozen=True)
class _Rows:
    """The cells of several tables, one after the other: their groups, first and last times, which of them are walls, and how
    many each table has."""

    ids: np.ndarray
    groups: int
    first: np.ndarray
    last: np.ndarray
    wall: np.ndarray
    lengths: list[int]

    def walls(self) -> np.ndarray:
        """int64[n]: how far everything of the cell's group is closed."""
        furthest = np.full(self.groups, NOWHERE)
        np.maximum.at(furthest, self.ids[self.wall], self.first[self.wall])
        return furthest[self.ids]

    def parts(self, chosen: np.ndarray) -> list[np.ndarray]:
        """bool[n] as one array for each table."""
        return np.split(chosen, np.cumsum(self.lengths)[:-1])


def close(aggregation: Aggregation, stream: Stream, kind: Joined, tables: Sequence[pa.Table], watermark: int
          ) -> tuple[list[pa.Table], list[pa.Table]]:
    """As cells.close. After what is left of each table comes one with the walls of what has closed, if there is any."""
    end = kind.closed_end(watermark)
    if not any(_may_close(kind, table, end) for table in tables):
        return [], list(tables)
    rows = _together(tables)
    starts, ends = _windows(kind, rows, ~rows.wall)
    closed = ~rows.wall & (ends <= end)
    built = _walls_of(aggregation, stream, tables, rows, closed, ends)
    gone = closed | _useless(kind, rows, closed, end)
    whole = [under(table, np.flatnonzero(part), names[part]) for table, part, names in
             zip(tables, rows.parts(closed), rows.parts(starts), strict=True) if part.any()]
    rest = [table.filter(pa.array(~part)) if part.any() else table
            for table, part in zip(tables, rows.parts(gone), strict=True)]
    if not whole:
        return [], rest
    return [merged(aggregation, stream, pa.concat_tables(whole).combine_chunks())], [*rest, *built]


def late_split(kind: Joined, cells: pa.Table, watermark: int, held: Sequence[pa.Table]) -> tuple[pa.Table, pa.Table]:
    """As cells.late_split. A cell whose last tuple is on time is never late. Any other is late if its group is closed up to
    its first one, or if it would be in a window that is closed already."""
    end = kind.closed_end(watermark)
    early = panes_of(cells) <= end
    if not early.any():
        return cells.slice(0, 0), cells
    numbers_of = np.flatnonzero(early)
    rows = _together([cells.take(pa.array(numbers_of)), *held])
    asked = np.arange(len(rows.ids)) < len(numbers_of)
    on_time = rows.last > end
    late = asked & ~on_time & (rows.first <= rows.walls())
    while True:
        ends = _windows(kind, rows, ~rows.wall & ~late)[1]
        more = asked & ~on_time & ~late & (ends <= end)
        if not more.any():
            break
        late |= more
    mask = np.zeros(len(cells), np.bool_)
    mask[numbers_of] = late[:len(numbers_of)]
    return cells.filter(pa.array(mask)), cells.filter(pa.array(~mask))


def unclosed(kind: Joined, tables: Sequence[pa.Table], watermark: int) -> list[pa.Table]:
    """As cells.unclosed. What lies behind a wall is closed, and so is each window that ends by now."""
    if not tables:
        return []
    rows = _together(tables)
    behind = ~rows.wall & (rows.last <= rows.walls())
    ends = _windows(kind, rows, ~rows.wall & ~behind)[1]
    gone = behind | (~rows.wall & (ends <= kind.closed_end(watermark)))
    return [table.filter(pa.array(~part)) if part.any() else table
            for table, part in zip(tables, rows.parts(gone), strict=True)]


def of_windows(aggregation: Aggregation, stream: Stream, kind: Joined, cells: pa.Table) -> pa.Table:
    """The cells of all windows."""
    rows = _together([cells])
    starts, _ = _windows(kind, rows, ~rows.wall)
    chosen = np.flatnonzero(~rows.wall)
    return merged(aggregation, stream, under(cells, chosen, starts[chosen]))


def least_last(cells: pa.Table) -> float:
    """The least of the greatest times; infinite if no cell holds a tuple."""
    lasts = numbers(single(cells[LAST]))[numbers(single(cells["n"])) > 0]
    return int(lasts.min()) if len(lasts) else math.inf


def _may_close(kind: Joined, table: pa.Table, end: int) -> bool:
    """May a window with a cell of this table close, or a wall of it have become useless? Asked at each watermark."""
    lasts = lasts_of(table)
    assert lasts is not None, table.schema
    return bool((lasts <= end - kind.shortest).any())


def _together(tables: Sequence[pa.Table]) -> _Rows:
    names = tables[0].schema.names
    places = pa.concat_tables([table.select(names[:names.index(LAST) + 1]) for table in tables])
    rows = places.combine_chunks()
    found = group(key_columns(rows), np.zeros(len(rows), np.int64))
    lasts = lasts_of(rows)
    assert lasts is not None, rows.schema
    return _Rows(found.ids, found.count, panes_of(rows), lasts, numbers(single(rows["n"])) == 0, [len(t) for t in tables])


def _windows(kind: Joined, rows: _Rows, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The start and the end of the window of each chosen cell, in int64[n]; 0 for the others."""
    starts, ends = np.zeros(len(rows.ids), np.int64), np.zeros(len(rows.ids), np.int64)
    starts[chosen], ends[chosen] = kind.windows_of(rows.ids[chosen], rows.first[chosen], rows.last[chosen])
    return starts, ends


def _useless(kind: Joined, rows: _Rows, closed: np.ndarray, end: int) -> np.ndarray:
    """bool[n]: which walls may go. A tuple that touches one must not count, so it stays while such a tuple might count
    otherwise, because it is young enough, or by an open window that it reaches. A new wall stands further."""
    open_ = ~rows.wall & ~closed
    nearest = np.full(rows.groups, NEVER)
    np.minimum.at(nearest, rows.ids[open_], rows.first[open_])
    renewed = np.zeros(rows.groups, np.bool_)
    renewed[rows.ids[closed]] = True
    needed = (rows.first >= end - kind.gap) | (rows.first >= nearest[rows.ids] - kind.gap)
    return rows.wall & (~needed | renewed[rows.ids])


def _walls_of(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table], rows: _Rows, closed: np.ndarray,
              ends: np.ndarray) -> list[pa.Table]:
    """A wall for each group of which something has closed."""
    chosen = np.flatnonzero(closed)
    if not len(chosen):
        return []
    found = group([], rows.ids[chosen].astype(np.int64))
    places = greatest(found.ids, ends[chosen], found.count)
    whole = pa.concat_tables([table.filter(pa.array(part)) for table, part in
                              zip(tables, rows.parts(closed), strict=True)]).combine_chunks()
    keys = [taken(key, found.first_row) for key in key_columns(whole)]
    columns = [pa.array(places), *keys, pa.array(np.zeros(found.count, np.int64)), pa.array(places)]
    for partial in aggregation.partials:
        nothing = [column.slice(0, 0) for column in partial_columns(whole, partial)]
        columns += partials.merge(partial, nothing, np.zeros(0, np.int32), found.count)
    return [table_of(columns, schema(aggregation, stream))]
