"""Query plans by hand."""

from __future__ import annotations

from dataclasses import fields, replace

from mars.model.expressions import Expression
from mars.model.partials import AggregateCall, kept_once
from mars.model.plan import Aggregation, Key, Output, Presentation, QueryPlan, Window

MINUTE = Window("tumbling", 60_000)


def made(columns: tuple[str, ...], keys: tuple[Key, ...] = (), calls: tuple[AggregateCall, ...] = (),
         outputs: tuple[Output, ...] = (), where: Expression | None = None, window: Window | None = MINUTE, *,
         stream: str = "s", sql: str = "", **policy: int | None) -> QueryPlan:
    """A plan; `policy` are fields of its Aggregation."""
    return QueryPlan(sql, Aggregation(stream, columns, where, keys, window, kept_once(calls), **policy),
                     Presentation(calls, outputs))


def changed(plan: QueryPlan, **values: object) -> QueryPlan:
    """The plan with other values of some fields of its aggregation and presentation."""
    parts = {"aggregation": plan.aggregation, "presentation": plan.presentation}
    new = {name: replace(part, **{f.name: values.pop(f.name) for f in fields(part) if f.name in values})
           for name, part in parts.items()}
    assert not values
    return replace(plan, **new)
