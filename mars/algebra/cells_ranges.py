"""The cells of windows that are ranges of a group's panes (kinds that are `Ranged`), over whole tables.

A window's cells are merged in pieces whose lengths are powers of two. Each piece is merged once, of two halves, for all
windows that end at its end: about 2 log2(k) merges for a row of k panes, whatever its aggregates are. None is taken back, so
extremes and floats are as exact as anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mars.algebra import partials
from mars.algebra.cells_layout import key_columns, panes_of, partial_columns, schema, table_of
from mars.algebra.cells_merge import under
from mars.algebra.evaluation.arrays import numbers, single, taken
from mars.algebra.grouping import group
from mars.algebra.partials.sums import sum_integers
from mars.algebra.windows import Ranged
from mars.model.plan import Aggregation, Stream

ROWS_AT_ONCE = 1_000_000


def of_windows(aggregation: Aggregation, stream: Stream, kind: Ranged, cells: pa.Table, above: int | None,
               up_to: int | None) -> pa.Table:
    """The cells of windows that end in (above, up_to], from all cells of their groups up to there, each pane once."""
    ids, panes = group(key_columns(cells), np.zeros(len(cells), np.int64)).ids, panes_of(cells)
    order = np.lexsort((panes, ids))
    first, last, names = kind.ranges(ids[order], panes[order], above, up_to)
    pieces = Pieces(aggregation, stream, _rows(cells, order))
    found = [pieces.merged(first[at:at + ROWS_AT_ONCE], last[at:at + ROWS_AT_ONCE], names[at:at + ROWS_AT_ONCE])
             for at in range(0, len(names), ROWS_AT_ONCE)]
    return pa.concat_tables(found).combine_chunks() if found else cells.slice(0, 0)


@dataclass
class Pieces:
    """Cells one after the other, of which ranges are merged."""

    aggregation: Aggregation
    stream: Stream
    cells: pa.Table

    def merged(self, first: np.ndarray, last: np.ndarray, names: np.ndarray) -> pa.Table:
        """One cell, under its name, of the cells from first[i] to last[i]; there is one at least."""
        left, end, piece, length = last - first + 1, last.copy(), self.cells, 1
        made = under(self.cells, last, names)
        begun = np.zeros(len(last), np.bool_)
        while True:
            takes = np.flatnonzero(left & length)
            if len(takes):
                made = self._joined(made, begun, piece, takes, end)
                begun[takes] = True
                end[takes] -= length
            if 2 * length > left.max(initial=0):
                return under(made, np.arange(len(names)), names)
            piece, length = self._doubled(piece, length), 2 * length

    def _joined(self, made: pa.Table, begun: np.ndarray, piece: pa.Table, takes: np.ndarray, end: np.ndarray) -> pa.Table:
        """`made`, with the pieces that end there merged into these of its rows."""
        kept = np.flatnonzero(begun)
        rest = np.setdiff1d(np.arange(len(begun)), np.union1d(kept, takes))  # have no cell of their own yet
        rows = pa.concat_tables([_rows(made, kept), _rows(piece, end[takes]), _rows(made, rest)]).combine_chunks()
        return self._merged(rows, np.concatenate([kept, takes, rest]).astype(np.int32), len(begun))

    def _doubled(self, piece: pa.Table, length: int) -> pa.Table:
        """Pieces of twice the length; the first ones, which have no other before them, stay as they are."""
        n = len(piece)
        rows = pa.concat_tables([piece, piece.slice(0, max(0, n - length))]).combine_chunks()
        return self._merged(rows, np.concatenate([np.arange(n), np.arange(length, n)]).astype(np.int32), n)

    def _merged(self, rows: pa.Table, ids: np.ndarray, count: int) -> pa.Table:
        """One cell of all rows of a number, under the name and keys of the first of them."""
        place = np.full(count, len(ids), np.int64)
        np.minimum.at(place, ids, np.arange(len(ids)))
        columns = [taken(single(rows["w"]), place), *(taken(key, place) for key in key_columns(rows)),
                   pa.array(sum_integers(ids, numbers(single(rows["n"])), count))]
        for partial in self.aggregation.partials:
            columns += partials.merge(partial, partial_columns(rows, partial), ids, count)
        return table_of(columns, schema(self.aggregation, self.stream))


def _rows(cells: pa.Table, rows: np.ndarray) -> pa.Table:
    return pa.Table.from_arrays([taken(single(column), rows) for column in cells.columns], schema=cells.schema)
