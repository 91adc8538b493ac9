"""The table of a sink in Iceberg: its schema when it is made, and the check of one that is there."""

from __future__ import annotations

import re

from pyiceberg import types
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform

from mars.adapters.iceberg import LakeTable
from mars.adapters.target_errors import TargetRefusesError
from mars.publisher.target import WINDOW, Shape

TYPES: dict[str, types.PrimitiveType] = {
    "BOOLEAN": types.BooleanType(), "INT": types.IntegerType(), "BIGINT": types.LongType(), "FLOAT": types.FloatType(),
    "DOUBLE": types.DoubleType(), "STRING": types.StringType(), "DATE": types.DateType(),
    "TIMESTAMP": types.TimestamptzType()}
# Types of a table that somebody else made which hold every value.
WIDER: dict[str, tuple[types.PrimitiveType, ...]] = {"INT": (types.LongType(),), "FLOAT": (types.DoubleType(),)}
DECIMAL = re.compile(r"DECIMAL\((\d+), *(\d+)\)")


def type_of(name: str) -> types.PrimitiveType:
    """Iceberg's type of a column's."""
    if found := DECIMAL.fullmatch(name):
        return types.DecimalType(int(found[1]), int(found[2]))
    return TYPES[name]


def schema_of(shape: Shape) -> Schema:
    """The schema of a table that is made. The window's times are required; any other column may be NULL."""
    return Schema(*(types.NestedField(number, name, type_of(type_), required=name in WINDOW)
                    for number, (name, type_) in enumerate(shape.columns, 1)))


def check(lake: LakeTable, shape: Shape) -> None:
    """TargetRefusesError, which names the column, if rows of the shape do not fit in the table."""
    assert lake.table is not None
    fields = {field.name: field for field in lake.table.schema().fields}
    for name, type_ in shape.columns:
        where, wanted = f"column {name} of {lake.name}", type_of(type_)
        if name not in fields:
            raise TargetRefusesError(f"{where} is missing", f"the table has {', '.join(fields)}",
                                     f"add it to the table as {wanted}, or name another table")
        if not _holds(fields[name].field_type, wanted, type_):
            raise TargetRefusesError(f"{where} does not take the result",
                                     f"it is {fields[name].field_type}, and results are {wanted}",
                                     f"make it {wanted}, CAST in the query, or name another table")
    ours = {name for name, _ in shape.columns}
    for field in fields.values():
        if field.required and field.name not in ours:
            raise TargetRefusesError(f"column {field.name} of {lake.name} is required", "the result has no such column",
                                     "make it optional, or name another table")
    for part in lake.table.spec().fields:
        if not isinstance(part.transform, IdentityTransform):
            raise TargetRefusesError(f"{lake.name} is partitioned by {part.transform} of "
                                     f"{lake.table.schema().find_column_name(part.source_id)}",
                                     "a sink writes into tables that have no partitions, or partitions by whole values",
                                     "name another table")


def _holds(there: types.IcebergType, wanted: types.PrimitiveType, name: str) -> bool:
    """Does a column of the table's type hold every value of the result's?"""
    if isinstance(there, types.DecimalType) and isinstance(wanted, types.DecimalType):
        return there.scale >= wanted.scale and there.precision - there.scale >= wanted.precision - wanted.scale
    return there == wanted or there in WIDER.get(name, ())
