"""The columns of a cells table and how to reach them; mars/algebra/cells.py says what they mean."""

from __future__ import annotations

import pyarrow as pa

from mars.algebra import aggregates
from mars.algebra.aggregates_family import partial_type
from mars.algebra.evaluation.arrays import numbers, single
from mars.model.plan import QueryPlan, Stream


def schema(plan: QueryPlan, stream: Stream) -> pa.Schema:
    """The schema of the plan's cells."""
    keys = [pa.field(f"k{i}", partial_type(key.type)) for i, key in enumerate(plan.keys)]
    fields = [pa.field("w", pa.int64()), *keys, pa.field("n", pa.int64())]
    for i, call in enumerate(plan.aggregates):
        if not aggregates.is_tuple_count(call):
            fields += [pa.field(f"a{i}_{suffix}", type_) for suffix, type_ in aggregates.partial_columns(call)]
    return pa.schema(fields)


def table_of(columns: list[pa.Array], wanted: pa.Schema) -> pa.Table:
    """A table of the columns in the types of the schema."""
    columns = [column if column.type == field.type else column.cast(field.type)
               for column, field in zip(columns, wanted, strict=True)]
    return pa.Table.from_arrays(columns, schema=wanted)


def key_columns(cells: pa.Table) -> list[pa.Array]:
    """The key columns in their order; they stand between `w` and `n`."""
    return [single(column) for column in cells.columns[1:cells.schema.get_field_index("n")]]


def partials(plan: QueryPlan, cells: pa.Table, number: int) -> list[pa.Array]:
    """The partial columns of aggregate `number`."""
    call = plan.aggregates[number]
    if aggregates.is_tuple_count(call):
        return [single(cells["n"])]
    return [single(cells[f"a{number}_{suffix}"]) for suffix, _ in aggregates.partial_columns(call)]


def row_count(cells: pa.Table) -> int:
    """How many cells there are."""
    return len(cells)


def tuple_count(cells: pa.Table) -> int:
    """How many tuples the cells hold."""
    return int(numbers(single(cells["n"])).sum())
