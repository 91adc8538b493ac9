"""The cells of windows of several panes (kinds that are `Stepped`), over whole tables.

Windows that lie beside each other share most of their panes. So what all windows of a span share is merged once for them
before the span is halved; in the end a cell is merged into each of its few windows. If many windows close at once, as when
a backlog is read, a row then costs a few merges, however many panes a window has. Nothing is taken back, so extremes and
floats are as exact as anywhere. If one window closes at a time, it merges all its panes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mars.algebra.cells_layout import key_columns, panes_of
from mars.algebra.cells_merge import merged, under
from mars.algebra.grouping import group
from mars.algebra.windows import Emitted, Stepped
from mars.model.plan import Aggregation, Stream

EACH = 4  # windows a cell, on average: so many merges are cheaper than another halving
FEW = 20_000  # cells of windows before they are merged: so few are merged at once, however many panes the windows share


def of_windows(aggregation: Aggregation, stream: Stream, kind: Stepped, cells: pa.Table, above: int | None,
               up_to: int | None) -> pa.Table:
    """The cells of the windows that end in (above, up_to]; None for no bound."""
    found = list(_of_span(aggregation, stream, kind, cells, above, up_to))
    return pa.concat_tables(found).combine_chunks() if found else cells.slice(0, 0)


def within(kind: Stepped, cells: pa.Table, above: int | None, up_to: int | None) -> pa.Table:
    """The cells of panes that are in a window which ends in (above, up_to]."""
    hit = kind.reach(panes_of(cells), above, up_to)[1] > 0
    return cells if hit.all() else cells.filter(pa.array(hit))


def _of_span(aggregation: Aggregation, stream: Stream, kind: Stepped, cells: pa.Table, above: int | None,
             up_to: int | None) -> Iterator[pa.Table]:
    first, counts = kind.reach(panes_of(cells), above, up_to)
    within = counts > 0
    if not within.any():
        return
    low, high = int(first[within].min()), int((first + (counts - 1) * kind.every)[within].max())
    if low < high:
        cells = _shared(aggregation, stream, cells.filter(pa.array(within)), first[within], counts[within])
        counts = kind.reach(panes_of(cells), above, high)[1]
    if low == high or counts.sum() <= max(FEW, EACH * len(cells)):
        yield merged(aggregation, stream, under(cells, *kind.of_panes(panes_of(cells), above, high)))
        return
    middle = low + (high - low) // kind.every // 2 * kind.every
    yield from _of_span(aggregation, stream, kind, cells, above, middle)
    yield from _of_span(aggregation, stream, kind, cells, middle, high)


def _shared(aggregation: Aggregation, stream: Stream, cells: pa.Table, first: np.ndarray, counts: np.ndarray) -> pa.Table:
    """The cells, those of one group that are in the same windows merged, under the pane of one of them."""
    panes = panes_of(cells)
    same = group([pa.array(counts)], first)
    names = panes[same.first_row][same.ids]
    if np.array_equal(names, panes):
        return cells
    return merged(aggregation, stream, cells.set_column(0, "w", pa.array(names)))


def given_out(kind: Emitted, cells: pa.Table, found: pa.Table, up_to: int | None) -> pa.Table:
    """Of cells of windows, made of these cells of panes, those that are final or changed since the time before: a pane that
    is in them is in no earlier one. Without a bound only whole windows, as they are if they close now."""
    names, final = panes_of(found), kind.final(panes_of(found))
    if up_to is None or final.all():
        return found.filter(pa.array(final))
    first = kind.first_end(panes_of(cells), None)
    keys = [pa.concat_arrays([pa.chunked_array([one]).combine_chunks(), pa.chunked_array([other]).combine_chunks()])
            for one, other in zip(key_columns(found), key_columns(cells), strict=True)]
    ids = group(keys, np.concatenate([names, first])).ids
    return found.filter(pa.array(final | np.isin(ids[:len(found)], ids[len(found):])))
