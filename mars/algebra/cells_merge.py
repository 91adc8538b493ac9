"""One cell of all rows that belong together; mars/algebra/cells.py says what cells are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import partials, windows
from mars.algebra.cells_layout import key_columns, lasts_of, panes_of, partial_columns, schema, table_of
from mars.algebra.evaluation.arrays import numbers, single, taken
from mars.algebra.grouping import Groups, group
from mars.algebra.partials.sums import sum_integers
from mars.algebra.windows import Gathered
from mars.model.plan import Aggregation, Stream


def merged(aggregation: Aggregation, stream: Stream, rows: pa.Table) -> pa.Table:
    """One cell of all rows that agree in `w` and the keys; of a `Joined` kind, of all that it says. Its walls, which hold no
    tuple (mars/algebra/cells_joined.py), stay apart: one of each group, the greatest."""
    lasts = lasts_of(rows)
    if lasts is None:
        return _merged(aggregation, stream, rows)
    wall = numbers(single(rows["n"])) == 0
    if not wall.any():
        return _merged(aggregation, stream, rows)
    return pa.concat_tables([_merged(aggregation, stream, rows.filter(pa.array(~wall))),
                             greatest_walls(rows.filter(pa.array(wall)))]).combine_chunks()


def _merged(aggregation: Aggregation, stream: Stream, rows: pa.Table) -> pa.Table:
    panes, lasts = panes_of(rows), lasts_of(rows)
    keys = key_columns(rows)
    cells = windows.of(aggregation, stream).gather(keys, panes, panes if lasts is None else lasts)
    groups = cells.groups
    columns = named(cells, keys, sum_integers(groups.ids, numbers(single(rows["n"])), groups.count))
    for partial in aggregation.partials:
        columns += partials.merge(partial, partial_columns(rows, partial), groups.ids, groups.count)
    return table_of(columns, schema(aggregation, stream))


def greatest_walls(walls: pa.Table) -> pa.Table:
    """Of each group the wall that stands furthest."""
    order = np.argsort(-panes_of(walls), kind="stable")
    walls = walls.take(pa.array(order))
    return walls.take(pa.array(group(key_columns(walls), np.zeros(len(walls), np.int64)).first_row))


def named(cells: Gathered, keys: Sequence[pa.Array], tuples: np.ndarray) -> list[pa.Array]:
    """The first columns of cells: where they belong, and how many tuples they hold."""
    columns = [pa.array(cells.panes), *(_first(key, cells.groups) for key in keys), pa.array(tuples)]
    return columns if cells.lasts is None else [*columns, pa.array(cells.lasts)]


def under(cells: pa.Table, rows: np.ndarray, names: np.ndarray) -> pa.Table:
    """These rows of the cells, each under the name of another pane or window."""
    columns = [pa.array(names), *(taken(single(column), rows) for column in cells.columns[1:])]
    return pa.Table.from_arrays(columns, schema=cells.schema)


def _first(key: pa.Array, groups: Groups) -> pa.Array:
    """The key of each group: that of its first row, -0 as 0, else the order of tuples would show."""
    first = taken(key, groups.first_row)
    return pc.add(first, pa.scalar(0, first.type)) if pa.types.is_floating(first.type) else first
