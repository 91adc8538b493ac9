"""The columns of a cells table and how to reach them; mars/algebra/cells.py says what they mean."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra import partials, windows
from mars.algebra.evaluation.arrays import numbers, single
from mars.algebra.partials.kind import partial_type
from mars.algebra.windows import Joined
from mars.model.partials import AggregateCall, Partial, needed
from mars.model.plan import Aggregation, Stream

LAST = "last"
SCHEMAS_MAX = 4_096
_schemas: dict[bytes, pa.Schema] = {}  # by the name of cells: it is asked for with each batch and each table


def schema(aggregation: Aggregation, stream: Stream) -> pa.Schema:
    """The schema of the aggregation's cells."""
    found = _schemas.get(aggregation.cells_name)
    if found is None:
        if len(_schemas) >= SCHEMAS_MAX:
            _schemas.clear()
        found = _schemas[aggregation.cells_name] = _schema(aggregation, stream)
    return found


def _schema(aggregation: Aggregation, stream: Stream) -> pa.Schema:
    keys = [pa.field(f"k{i}", partial_type(key.type)) for i, key in enumerate(aggregation.keys)]
    fields = [pa.field("w", pa.int64()), *keys, pa.field("n", pa.int64())]
    fields += [pa.field(LAST, pa.int64())] if isinstance(windows.of(aggregation, stream), Joined) else []
    for partial in aggregation.partials:
        fields += [pa.field(f"{partial.name}_{suffix}", type_) for suffix, type_ in partials.columns(partial)]
    return pa.schema(fields)


def table_of(columns: list[pa.Array], wanted: pa.Schema) -> pa.Table:
    """A table of the columns in the types of the schema."""
    columns = [column if column.type == field.type else column.cast(field.type)
               for column, field in zip(columns, wanted, strict=True)]
    return pa.Table.from_arrays(columns, schema=wanted)


def key_columns(cells: pa.Table) -> list[pa.Array]:
    """The key columns in their order; they stand between `w` and `n`."""
    return [single(column) for column in cells.columns[1:cells.schema.get_field_index("n")]]


def panes_of(cells: pa.Table) -> np.ndarray:
    """The pane, or the window, of each cell."""
    return numbers(single(cells["w"]))


def lasts_of(cells: pa.Table) -> np.ndarray | None:
    """The greatest time in each cell; None if cells of this kind of windows do not keep it."""
    return numbers(single(cells[LAST])) if LAST in cells.schema.names else None


def partial_columns(cells: pa.Table, partial: Partial) -> list[pa.Array]:
    """The columns of a partial of the cells' aggregation."""
    return [single(cells[f"{partial.name}_{suffix}"]) for suffix, _ in partials.columns(partial)]


def call_columns(aggregation: Aggregation, cells: pa.Table, call: AggregateCall) -> list[pa.Array]:
    """The columns of the partials that an aggregate is finished from, one after the other."""
    found = []
    for wanted in needed(call):
        if wanted.is_tuple_count:
            found.append(single(cells["n"]))
        else:
            kept = next(partial for partial in aggregation.partials if partial.is_same(wanted))
            found += partial_columns(cells, kept)
    return found


def row_count(cells: pa.Table) -> int:
    """How many cells there are."""
    return len(cells)


def tuple_count(cells: pa.Table) -> int:
    """How many tuples the cells hold."""
    return int(numbers(single(cells["n"])).sum())
