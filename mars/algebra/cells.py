"""Cells: the partial aggregates of tuples per pane and keys, as an Arrow table.

Columns, in order: `w` int64, the pane (mars/algebra/windows; 0 without a window); `k0`, `k1`, ... the keys (text as
dictionary<int32, string>); `n` int64, the tuples in the cell; `last` int64, the greatest time in it, of `Joined` kinds of
windows alone; then `{name}_{suffix}`, the columns of each partial of the aggregation (mars/algebra/partials; count(*)
without FILTER has none, `n` is its partial). No two rows of a table have the same pane and keys. Mappers and reducers hold
the cells of panes; those of windows, with the window in `w`, are made of them when windows close, and `finish` makes rows of
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mars.algebra import cells_joined, cells_ranges, cells_stepped, hashing, partials, windows
from mars.algebra.cells_finish import finish, key_levels
from mars.algebra.cells_layout import LAST, key_columns, panes_of, row_count, schema, table_of, tuple_count
from mars.algebra.cells_merge import merged, named, under
from mars.algebra.cells_wire import compact, decode, encode
from mars.algebra.evaluate import evaluate
from mars.algebra.evaluation.arrays import plain, single, taken
from mars.algebra.grouping import Groups
from mars.algebra.partials import Input, Order
from mars.algebra.windows import Emitted, Joined, Ranged, Stepped
from mars.model.expressions import Expression, columns_of
from mars.model.plan import Aggregation, Stream

__all__ = ["aggregate", "close", "decode", "encode", "equal", "finish", "first_pane", "late_split", "looks_back", "merge",
           "of_windows", "reaches_back", "row_count", "schema", "settle", "split", "tuple_count", "unclosed", "would_close"]

FEW = 5_000


def aggregate(aggregation: Aggregation, stream: Stream, columns: dict[str, pa.Array], event_time: np.ndarray,
              rows: np.ndarray | None, partition: int, offset: np.ndarray, line: np.ndarray) -> pa.Table:
    """The cells of tuples of one partition.

    columns, event_time, offset, line: as in mapper/batch.ParsedBatch; rows: bool[n], which tuples count (None: all).
    """
    order = Order(event_time, partition, offset, line)
    needed = set(_columns(aggregation))
    columns = {name: single(column) for name, column in columns.items() if name in needed}
    if rows is not None and not rows.all():
        chosen = pa.array(np.flatnonzero(rows))
        columns = {name: column.take(chosen) for name, column in columns.items()}
        order = order.take(rows)
    length = len(order.time)
    kind = windows.of(aggregation, stream)
    # Few tuples need few values of a dictionary that knows many.
    keys = [key if len(key) > FEW else compact(key) for key in
            (evaluate(key.expression, columns, length) for key in aggregation.keys)]
    cells = kind.gather(keys, kind.panes(order.time), order.time)
    groups = cells.groups
    table = named(cells, keys, np.bincount(groups.ids, minlength=groups.count).astype(np.int64, copy=False))
    inputs: dict[tuple[Expression | None, ...], Input] = {}
    for partial in aggregation.partials:
        of = (partial.argument, partial.second, partial.filter)
        if of not in inputs:
            inputs[of] = _input(*of, columns, groups, order)
        table += partials.update(partial, inputs[of])
    return table_of(table, schema(aggregation, stream))


def _input(argument: Expression | None, second: Expression | None, filter_: Expression | None,
           columns: dict[str, pa.Array], groups: Groups, order: Order) -> Input:
    """What partials of one or two arguments and a filter are made of."""
    length = len(order.time)
    values, others = (None if part is None else evaluate(part, columns, length) for part in (argument, second))
    given = Input(values, groups.ids, groups.count, order, others)
    return given if filter_ is None else given.where(_is_true(evaluate(filter_, columns, length)))


def merge(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table]) -> pa.Table:
    """One table of cells of any number of them; associative, commutative, and blind to how tuples were split."""
    if len(tables) < 2:
        return tables[0] if tables else schema(aggregation, stream).empty_table()
    # Key columns need unified dictionaries; combining the chunks does that.
    return merged(aggregation, stream, pa.concat_tables(tables).combine_chunks())


def split(cells: pa.Table, key_parts: int) -> list[pa.Table]:
    """The cells of each key part: all windows of a key lie in one part, and a query without keys lies in part 0."""
    if key_parts == 1:
        return [cells]
    part = hashing.part_of(key_columns(cells), key_parts, len(cells))
    columns = [single(column) for column in cells.columns]
    rows = [np.flatnonzero(part == number) for number in range(key_parts)]
    return [pa.Table.from_arrays([taken(column, chosen) for column in columns], schema=cells.schema) for chosen in rows]


def late_split(aggregation: Aggregation, stream: Stream, cells: pa.Table, watermark: int,
               held: Sequence[pa.Table] = ()) -> tuple[pa.Table, pa.Table]:
    """(cells that come too late, the others): a cell is late if all windows that it could be in are closed at this
    watermark. `held` are the cells that are open already, on which that depends where a kind is `Joined`."""
    kind = windows.of(aggregation, stream)
    if isinstance(kind, Joined):
        return cells_joined.late_split(kind, cells, watermark, held)
    closed = kind.last_end(panes_of(cells)) <= kind.closed_end(watermark)
    if not closed.any():
        return cells.slice(0, 0), cells
    return cells.filter(pa.array(closed)), cells.filter(pa.array(~closed))


def reaches_back(aggregation: Aggregation, stream: Stream, cells: pa.Table, watermark: int) -> bool:
    """May one of these cells, which are not late, be within reach of tuples of windows that are closed at this watermark, of
    a kind for which that matters? Then what is left of those must not be read beside it again."""
    kind = windows.of(aggregation, stream)
    return isinstance(kind, Joined) and bool((panes_of(cells) <= kind.closed_end(watermark)).any())


def unclosed(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table], watermark: int) -> list[pa.Table]:
    """What of each table open windows still need, if windows are closed up to this watermark. `tables` hold all cells that
    open windows need, and may hold any others that went into closed ones."""
    kind = windows.of(aggregation, stream)
    if isinstance(kind, Joined):
        return cells_joined.unclosed(kind, tables, watermark)
    return [late_split(aggregation, stream, table, watermark)[1] for table in tables]


def close(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table], before: int | None,
          watermark: int) -> tuple[list[pa.Table], list[pa.Table]]:
    """(cells of the windows that close as the watermark goes from `before` to `watermark`, what of each table open windows
    still need). `tables` hold all cells of panes that windows open at `before` need; None is before the first watermark."""
    kind = windows.of(aggregation, stream)
    if isinstance(kind, Joined):
        return cells_joined.close(aggregation, stream, kind, tables, watermark)
    split = [late_split(aggregation, stream, table, watermark) for table in tables]
    closed = [gone for gone, _ in split]
    if isinstance(kind, Ranged):
        reached = [table.filter(pa.array(panes_of(table) <= kind.closed_end(watermark))) for table in tables]
        ends = before is None or any((panes_of(table) > kind.closed_end(before)).any() for table in reached)
        closed = [of_windows(aggregation, stream, merge(aggregation, stream, reached), before, watermark)] if ends else []
    elif isinstance(kind, Emitted):  # what has changed since the time before may be in any of the tables
        above = None if before is None else kind.closed_end(before)
        reached = [table for table in tables if (kind.first_end(panes_of(table), above) <= kind.closed_end(watermark)).any()]
        closed = [of_windows(aggregation, stream, merge(aggregation, stream, reached), before, watermark)]
    elif isinstance(kind, Stepped):  # a window has cells in most of the tables, and would be made of each
        above = None if before is None else kind.closed_end(before)
        reached = [cells_stepped.within(kind, table, above, kind.closed_end(watermark)) for table in tables]
        whole = pa.concat_tables([schema(aggregation, stream).empty_table(), *reached]).combine_chunks()
        closed = [of_windows(aggregation, stream, whole, before, watermark)]
    return [table for table in closed if table.num_rows], [rest for _, rest in split]


def of_windows(aggregation: Aggregation, stream: Stream, cells: pa.Table, before: int | None = None,
               watermark: int | None = None) -> pa.Table:
    """The cells of windows from cells of panes: of those that close as the watermark goes from `before` to `watermark`. None
    for either is no bound."""
    kind = windows.of(aggregation, stream)
    if isinstance(kind, Joined):
        return cells_joined.of_windows(aggregation, stream, kind, cells)
    above, up_to = (None if mark is None else kind.closed_end(mark) for mark in (before, watermark))
    panes = panes_of(cells)
    if isinstance(kind, Ranged):
        return cells_ranges.of_windows(aggregation, stream, kind, cells, above, up_to)
    if isinstance(kind, Stepped):
        found = cells_stepped.of_windows(aggregation, stream, kind, cells, above, up_to)
        return cells_stepped.given_out(kind, cells, found, up_to) if isinstance(kind, Emitted) else found
    rows, names = kind.of_panes(panes, above, up_to)
    return cells if len(rows) == len(cells) else under(cells, rows, names)


def settle(aggregation: Aggregation, stream: Stream, cells: pa.Table, watermark: int | None) -> pa.Table:
    """The same cells for all windows that are still open at this watermark, with as few panes as can be; in no order."""
    kind = windows.of(aggregation, stream)
    if watermark is None or kind.panes_are_windows:
        return cells
    panes = panes_of(cells)
    settled = kind.settled(panes, kind.closed_end(watermark))
    if np.array_equal(panes, settled):
        return cells
    return merged(aggregation, stream, cells.set_column(0, "w", pa.array(settled)))


def equal(one: pa.Table, other: pa.Table) -> bool:
    """Do two tables of one aggregation hold the same cells, bit by bit, in whatever order?"""
    if len(one) != len(other):
        return False
    one, other = (table.take(pa.array(np.lexsort([*key_levels(table)[::-1], panes_of(table)]))) for table in (one, other))
    return all(plain(single(one[name])).equals(plain(single(other[name]))) for name in one.schema.names)


def looks_back(cells: pa.Table) -> bool:
    """Does it depend on what is held already whether one of these cells is late?"""
    return LAST in cells.schema.names


def first_pane(cells: pa.Table) -> float:
    """The least pane; infinite if no tuple is in the cells. Where cells have a greatest time, the least of those: no window
    closes before a gap has passed behind it."""
    if LAST in cells.schema.names:
        return cells_joined.least_last(cells)
    return int(panes_of(cells).min()) if len(cells) else math.inf


def would_close(aggregation: Aggregation, stream: Stream, pane: int, before: int | None, watermark: int) -> bool:
    """Does a window that a pane from `pane` on is in close as the watermark goes from `before` to `watermark`?"""
    kind = windows.of(aggregation, stream)
    above = None if before is None else kind.closed_end(before)
    return bool(kind.first_end(np.array([pane], np.int64), above)[0] <= kind.closed_end(watermark))


def _columns(aggregation: Aggregation) -> list[str]:
    parts: list[Expression | None] = [key.expression for key in aggregation.keys]
    parts += [part for partial in aggregation.partials for part in (partial.argument, partial.second, partial.filter)]
    return [name for part in parts for name in columns_of(part)]


def _is_true(condition: pa.Array) -> np.ndarray:
    return condition.fill_null(False).to_numpy(zero_copy_only=False)
