"""Cells: the partial aggregates of tuples per pane and keys, as an Arrow table.

Columns, in order: `w` int64, the pane (mars/algebra/windows; 0 without a window); `k0`, `k1`, ... the keys (text as
dictionary<int32, string>); `n` int64, the tuples in the cell; then `{name}_{suffix}`, the columns of each partial of the
aggregation (mars/algebra/partials; count(*) without FILTER has none, `n` is its partial). No two rows of a table have the
same pane and keys. Mappers and reducers hold the cells of panes; those of windows, with the window in `w`, are made of them
when windows close, and `finish` makes rows of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import hashing, partials, windows
from mars.algebra.cells_finish import finish
from mars.algebra.cells_layout import key_columns, partial_columns, row_count, schema, table_of, tuple_count
from mars.algebra.cells_wire import compact, decode, encode
from mars.algebra.evaluate import evaluate
from mars.algebra.evaluation.arrays import numbers, single, taken
from mars.algebra.grouping import Groups, group
from mars.algebra.partials import Input, Order
from mars.algebra.partials.sums import sum_integers
from mars.model.expressions import Expression, columns_of
from mars.model.plan import Aggregation, Stream

__all__ = ["aggregate", "close", "decode", "encode", "finish", "first_pane", "late_split", "merge", "of_windows",
           "row_count", "schema", "settle", "split", "tuple_count", "would_close"]

FEW = 5_000
ROWS_AT_ONCE = 1_000_000


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
    panes = windows.of(aggregation, stream).panes(order.time)
    # Few tuples need few values of a dictionary that knows many.
    keys = [key if len(key) > FEW else compact(key) for key in
            (evaluate(key.expression, columns, length) for key in aggregation.keys)]
    groups = group(keys, panes)
    table = [pa.array(panes[groups.first_row]), *(_first(key, groups) for key in keys),
             pa.array(np.bincount(groups.ids, minlength=groups.count).astype(np.int64, copy=False))]
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
    return _merged(aggregation, stream, pa.concat_tables(tables).combine_chunks())


def _merged(aggregation: Aggregation, stream: Stream, rows: pa.Table) -> pa.Table:
    """One cell of all rows that agree in `w` and the keys."""
    panes = numbers(single(rows["w"]))
    keys = key_columns(rows)
    groups = group(keys, panes)
    merged = [pa.array(panes[groups.first_row]), *(_first(key, groups) for key in keys),
              pa.array(sum_integers(groups.ids, numbers(single(rows["n"])), groups.count))]
    for partial in aggregation.partials:
        merged += partials.merge(partial, partial_columns(rows, partial), groups.ids, groups.count)
    return table_of(merged, schema(aggregation, stream))


def split(cells: pa.Table, key_parts: int) -> list[pa.Table]:
    """The cells of each key part: all windows of a key lie in one part, and a query without keys lies in part 0."""
    if key_parts == 1:
        return [cells]
    part = hashing.part_of(key_columns(cells), key_parts, len(cells))
    columns = [single(column) for column in cells.columns]
    rows = [np.flatnonzero(part == number) for number in range(key_parts)]
    return [pa.Table.from_arrays([taken(column, chosen) for column in columns], schema=cells.schema) for chosen in rows]


def late_split(aggregation: Aggregation, stream: Stream, cells: pa.Table, watermark: int) -> tuple[pa.Table, pa.Table]:
    """(cells of panes whose windows are all closed at this watermark, the others)."""
    kind = windows.of(aggregation, stream)
    closed = kind.last_end(numbers(single(cells["w"]))) <= kind.closed_end(watermark)
    if not closed.any():
        return cells.slice(0, 0), cells
    return cells.filter(pa.array(closed)), cells.filter(pa.array(~closed))


def close(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table], before: int | None,
          watermark: int) -> tuple[list[pa.Table], list[pa.Table]]:
    """(cells of the windows that close as the watermark goes from `before` to `watermark`, what of each table open windows
    still need). `tables` hold all cells of panes that windows open at `before` need; None is before the first watermark."""
    split = [late_split(aggregation, stream, table, watermark) for table in tables]
    closed = [gone for gone, _ in split]
    if not windows.of(aggregation, stream).panes_are_windows:
        closed = [of_windows(aggregation, stream, table, before, watermark) for table in tables]
    return [table for table in closed if table.num_rows], [rest for _, rest in split]


def of_windows(aggregation: Aggregation, stream: Stream, cells: pa.Table, before: int | None = None,
               watermark: int | None = None) -> pa.Table:
    """The cells of windows from cells of panes: of those that close as the watermark goes from `before` to `watermark`. None
    for either is no bound."""
    kind = windows.of(aggregation, stream)
    above, up_to = (None if mark is None else kind.closed_end(mark) for mark in (before, watermark))
    panes = numbers(single(cells["w"]))
    if kind.panes_are_windows:
        rows, names = kind.of_panes(panes, above, up_to)
        return cells if len(rows) == len(cells) else _under(cells, rows, names)
    # A cell is in many windows, so they are made a few at a time: what is not merged yet must not fill the memory.
    spans = kind.spans(panes, above, up_to, ROWS_AT_ONCE)
    found = [_merged(aggregation, stream, _under(cells, *kind.of_panes(panes, *span))) for span in spans]
    return pa.concat_tables(found).combine_chunks() if found else cells.slice(0, 0)


def _under(cells: pa.Table, rows: np.ndarray, names: np.ndarray) -> pa.Table:
    """These rows of the cells, each under the name of another pane or window."""
    columns = [pa.array(names), *(taken(single(column), rows) for column in cells.columns[1:])]
    return pa.Table.from_arrays(columns, schema=cells.schema)


def settle(aggregation: Aggregation, stream: Stream, cells: pa.Table, watermark: int | None) -> pa.Table:
    """The same cells for all windows that are still open at this watermark, with as few panes as can be; in no order."""
    kind = windows.of(aggregation, stream)
    if watermark is None or kind.panes_are_windows:
        return cells
    panes = numbers(single(cells["w"]))
    settled = kind.settled(panes, kind.closed_end(watermark))
    if np.array_equal(panes, settled):
        return cells
    return _merged(aggregation, stream, cells.set_column(0, "w", pa.array(settled)))


def first_pane(cells: pa.Table) -> int:
    """The least pane; there must be a cell."""
    return pc.min(cells["w"]).as_py()


def would_close(aggregation: Aggregation, stream: Stream, pane: int, before: int | None, watermark: int) -> bool:
    """Does a window that a pane from `pane` on is in close as the watermark goes from `before` to `watermark`?"""
    kind = windows.of(aggregation, stream)
    above = None if before is None else kind.closed_end(before)
    return bool(kind.first_end(np.array([pane], np.int64), above)[0] <= kind.closed_end(watermark))


def _columns(aggregation: Aggregation) -> list[str]:
    parts: list[Expression | None] = [key.expression for key in aggregation.keys]
    parts += [part for partial in aggregation.partials for part in (partial.argument, partial.second, partial.filter)]
    return [name for part in parts for name in columns_of(part)]


def _first(key: pa.Array, groups: Groups) -> pa.Array:
    """The key of each group: that of its first row, -0 as 0, else the order of tuples would show."""
    first = taken(key, groups.first_row)
    return pc.add(first, pa.scalar(0, first.type)) if pa.types.is_floating(first.type) else first


def _is_true(condition: pa.Array) -> np.ndarray:
    return condition.fill_null(False).to_numpy(zero_copy_only=False)
