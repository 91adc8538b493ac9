"""Late tuples of a query with LATE TO, as cells: which groups of a range of tuples came too late. Pure.

Each of these has the pane, the keys and the number of tuples of a cell that was late (and its greatest time, of `Joined`
kinds of windows), without partials; and the partition and the offsets [start, end) of the range that the cell was made of.
The range, the keys and the pane tell the tuples: whoever reads the range again finds just these (`found`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mars.algebra import cells_layout, windows
from mars.algebra.cells_layout import LAST, lasts_of, panes_of, table_of
from mars.algebra.evaluation.arrays import single
from mars.algebra.grouping import group
from mars.algebra.windows import NEVER, Windows
from mars.model.plan import Aggregation, Stream

RANGE = pa.schema([("partition", pa.int32()), ("start", pa.int64()), ("end", pa.int64())])


def schema(aggregation: Aggregation, stream: Stream) -> pa.Schema:
    """The schema of late cells."""
    whole = cells_layout.schema(aggregation, stream)
    count = whole.get_field_index(LAST if LAST in whole.names else "n") + 1
    return pa.schema([*(whole.field(i) for i in range(count)), *RANGE])


def of_range(aggregation: Aggregation, stream: Stream, late: pa.Table, partition: int, start: int, end: int) -> pa.Table:
    """The late cells of cells that came too late, all of one range."""
    wanted = schema(aggregation, stream)
    columns = [single(late[name]) for name in wanted.names[:-len(RANGE)]]
    return table_of([*columns, *(pa.array(np.full(len(late), value), field.type)
                                 for value, field in zip((partition, start, end), RANGE, strict=True))], wanted)


def together(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table]) -> pa.Table:
    """All of them in one table."""
    return pa.concat_tables([schema(aggregation, stream).empty_table(), *tables]).combine_chunks()


def missed(kind: Windows, late: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the windows that the tuples of each late cell have missed: the first start, the last end, and how many they are."""
    panes, lasts, count = panes_of(late), lasts_of(late), len(late)
    if lasts is not None:
        return *kind.bounds(panes, lasts), np.ones(count, np.int64)
    rows, names = kind.of_panes(panes, None, None)
    starts, ends = np.full(count, NEVER), np.full(count, -NEVER)
    np.minimum.at(starts, rows, kind.start(names))
    np.maximum.at(ends, rows, kind.shown_end(names, kind.end(names)))
    return starts, ends, np.bincount(rows[kind.final(names)], minlength=count).astype(np.int64)


def found(aggregation: Aggregation, stream: Stream, late: pa.Table, keys: Sequence[pa.Array],
          times: np.ndarray) -> np.ndarray:
    """int64[n]: in which of the late cells, all of one range, each tuple of that range is; -1 for none. `keys` and `times`
    are the tuples' keys and event times."""
    kind, count = windows.of(aggregation, stream), len(late)
    names = [f"k{i}" for i in range(len(keys))]
    wanted = pa.schema([late.schema.field(name) for name in names])
    both = pa.concat_tables([late.select(names), table_of(list(keys), wanted)]).combine_chunks() if names else late
    of = [single(both[name]) for name in names]
    if LAST in late.schema.names:
        return _in_runs(late, group(of, np.zeros(count + len(times), np.int64)).ids, times)
    ids = group(of, np.concatenate([panes_of(late), kind.panes(times)])).ids
    place = np.full(int(ids.max(initial=0)) + 1, -1)
    place[ids[:count]] = np.arange(count)
    return place[ids[count:]]


def _in_runs(late: pa.Table, ids: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The same of cells that are runs: the last one of the tuple's group that begins no later, if it reaches so far."""
    count, lasts = len(late), lasts_of(late)
    assert lasts is not None
    at = np.concatenate([panes_of(late), times])
    is_tuple = np.arange(len(ids)) >= count
    order = np.lexsort((is_tuple, at, ids))
    cell = np.maximum.accumulate(np.where(is_tuple[order], -1, np.arange(len(order))))
    rows = np.full(len(ids), -1)
    rows[order] = np.where(cell < 0, -1, order[np.maximum(cell, 0)])
    rows = rows[count:]
    known = rows >= 0
    here = np.maximum(rows, 0)
    hit = known & (ids[here] == ids[count:]) & (times <= lasts[here]) if count else known
    return np.where(hit, rows, -1)

