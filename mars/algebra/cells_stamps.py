"""Stamps of cells: which commit changed a cell last, whether its window is closed, and which revision of a row it is.

Queries whose rows change after they were given out have them (mars/model/partials.py, STAMPS). Mappers leave them 0, and the
owner of the key part writes them; of cells that are merged the greatest counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mars.algebra.cells_layout import key_columns, panes_of, schema
from mars.algebra.cells_merge import merged
from mars.algebra.evaluation.arrays import numbers, single
from mars.algebra.grouping import Groups, group
from mars.model.plan import Aggregation, Stream


def column_of(aggregation: Aggregation, stamp: str) -> str:
    """The name of a stamp's column in cells."""
    return next(f"{partial.name}_at" for partial in aggregation.partials if partial.kind == stamp)


def stamps_of(aggregation: Aggregation, cells: pa.Table, stamp: str) -> np.ndarray:
    """The stamp of each cell."""
    return numbers(single(cells[column_of(aggregation, stamp)]))


def stamped(aggregation: Aggregation, cells: pa.Table, **stamps: int | np.ndarray) -> pa.Table:
    """The cells with other stamps: one for all of them, or one for each."""
    for stamp, values in stamps.items():
        place = cells.schema.get_field_index(column_of(aggregation, stamp))
        column = pa.array(np.broadcast_to(np.asarray(values, np.int64), len(cells)))
        cells = cells.set_column(place, cells.schema.field(place), column)
    return cells


def newest(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table]) -> tuple[pa.Table, np.ndarray]:
    """Of all cells of one window and keys the one that was stamped last, and the number of each in the tables together."""
    cells = together(aggregation, stream, tables)
    changed = stamps_of(aggregation, cells, "changed")
    order = np.argsort(-changed, kind="stable")
    found = group(key_columns(cells.take(pa.array(order))), panes_of(cells)[order])
    rows = np.sort(order[found.first_row])
    return cells.take(pa.array(rows)), rows


def revised(aggregation: Aggregation, stream: Stream, published: pa.Table, more: Sequence[pa.Table]
            ) -> tuple[pa.Table, pa.Table]:
    """(cells of windows that change, what of the published ones stays): `more` has what is new, of windows of which
    something is published or of others. A cell that changes keeps the greatest stamps of what it is made of."""
    new = together(aggregation, stream, more)
    near = np.isin(panes_of(published), panes_of(new))
    beside = published.filter(pa.array(near))
    cells = together(aggregation, stream, [beside, new])
    groups: Groups = group(key_columns(cells), panes_of(cells))
    hit = np.zeros(groups.count, np.bool_)
    hit[groups.ids[len(beside):]] = True
    changes = hit[groups.ids]
    stays = np.ones(len(published), np.bool_)
    stays[np.flatnonzero(near)] = ~changes[:len(beside)]
    return merged(aggregation, stream, cells.filter(pa.array(changes))), published.filter(pa.array(stays))


def together(aggregation: Aggregation, stream: Stream, tables: Sequence[pa.Table]) -> pa.Table:
    """One table of all cells, which are not merged."""
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables([schema(aggregation, stream).empty_table(), *tables]).combine_chunks()
