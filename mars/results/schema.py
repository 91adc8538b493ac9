"""The columns of a query's results, their types, and which of them order the rows of a window."""

from __future__ import annotations

import pyarrow as pa

from mars.model import types
from mars.model.expressions import Column
from mars.model.plan import QueryPlan


def columns_of(plan: QueryPlan) -> list[tuple[str, str]]:
    """(name, type) of each result column: the window's two, then the select list."""
    window = [("window_start", "TIMESTAMP"), ("window_end", "TIMESTAMP")] if plan.aggregation.window else []
    return window + [(output.name, output.type) for output in plan.presentation.outputs]


def schema_of(plan: QueryPlan) -> pa.Schema:
    """The Arrow schema of the result columns."""
    return pa.schema([(name, types.to_arrow(type_)) for name, type_ in columns_of(plan)])


def order_of(plan: QueryPlan) -> list[str]:
    """The columns that order the rows of one window: the keys in their order, or all outputs if a key is not shown."""
    outputs, keys = plan.presentation.outputs, [f"k{i}" for i in range(len(plan.aggregation.keys))]
    shown = {output.expression.name: output.name for output in outputs if isinstance(output.expression, Column)}
    return [shown[key] for key in keys] if all(key in shown for key in keys) else [output.name for output in outputs]
