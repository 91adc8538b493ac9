"""GROUP BY: the keys of a query, with aliases and ordinals resolved and the event time replaced by the window."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from mars.model.expressions import Column
from mars.model.plan import Key, Stream
from sql.check.aggregate_calls import is_aggregate
from sql.check.lower import TreeLowering
from sql.check.lowering import Lowering
from sql.check.scopes import WINDOW_COLUMNS, TupleScope, check_qualifiers, normal
from sql.places import call_name
from sql.refusals import refusal
from sql.statements import SelectStatement


@dataclass(frozen=True)
class Groups:
    """`keys` by the normal text of their expression; `time_is_key` says whether the event-time column is in GROUP BY."""

    keys: dict[str, Key]
    time_is_key: bool


def read_groups(
    select: SelectStatement,
    stream: Stream,
    scope: TupleScope,
    aliases: dict[str, exp.Expr],
    windowed: bool,
) -> Groups:
    """The keys in the order of GROUP BY; a repeated one counts once."""
    lowering = TreeLowering(select.sql, scope)
    group = select.tree.args.get("group")
    keys: dict[str, Key] = {}
    time_is_key = False
    for written in grouped(select) if group and group.args.get("all") else listed(group.expressions if group else []):
        node = resolved(written, select, scope, aliases, lowering)
        if (
            isinstance(node, exp.Column)
            and node.name.lower() in WINDOW_COLUMNS
            and node.name.lower() not in scope.columns
        ):
            check_qualifiers(node, scope, lowering)
            check_windowed(node, windowed, lowering)
            continue
        if isinstance(node, exp.Column) and node.name.lower() == stream.time_column.lower():
            scope.column(node, lowering)
            check_windowed(node, windowed, lowering)
            time_is_key = True
            continue
        expression = lowering.lower(node)
        refuse_time_inside(node, stream, lowering)
        name = node.name if isinstance(node, exp.Column) else call_name(node).lower() or f"key_{len(keys)}"
        keys.setdefault(normal(node), Key(name, expression, expression.type))
    return Groups(keys, time_is_key)


def check_partition(select: SelectStatement, keys: tuple[Key, ...]) -> None:
    """SqlError if a window function's PARTITION BY names other keys than GROUP BY."""
    named = select.clauses.partition
    if named is None:
        return
    wanted = {key.expression.name.lower() if isinstance(key.expression, Column) else key.name.lower() for key in keys}
    if {name.text.lower() for name in named} != wanted:
        raise refusal(select.sql, named[0].start, named[-1].end, "PARTITION BY differs from GROUP BY",
                      "a session is about one group", "name the same columns in both, or leave out PARTITION BY")


def grouped(select: SelectStatement) -> list[exp.Expr]:
    """GROUP BY ALL: what the select list has without an aggregate in it, but for constants."""
    items = [item.unalias() for item in select.tree.expressions]
    return [item for item in items if item.find(exp.Column) and not any(map(is_aggregate, item.walk()))]


def listed(terms: list[exp.Expr]) -> list[exp.Expr]:
    """The terms of a GROUP BY; parentheses around some of them or all mean nothing."""
    flat: list[exp.Expr] = []
    for term in terms:
        inside = term.unnest()
        flat += listed(inside.expressions) if isinstance(inside, exp.Tuple) else [inside]
    return flat


def resolved(
    node: exp.Expr,
    select: SelectStatement,
    scope: TupleScope,
    aliases: dict[str, exp.Expr],
    lowering: Lowering,
) -> exp.Expr:
    """The expression that an ordinal or an alias means; a column of the stream takes precedence over an alias of the same
    name."""
    if isinstance(node, exp.Literal) and not node.is_string:
        items = select.tree.expressions
        if not (node.this.isdigit() and len(node.this) < 5 and 1 <= int(node.this) <= len(items)):
            raise lowering.refuse(node, f"there is no column {node.this} in SELECT", f"it has {len(items)}",
                                  "number them from 1, or write the column's name")
        return items[int(node.this) - 1].unalias()
    if isinstance(node, exp.Column) and not node.table and node.name.lower() not in scope.columns:
        return aliases.get(node.name.lower(), node)
    return node


def check_windowed(node: exp.Column, windowed: bool, lowering: Lowering) -> None:
    """The event time in GROUP BY means the window's start, so there must be a window."""
    if not windowed:
        raise lowering.refuse(node, f"{node.name} in GROUP BY means the window's start", "there is no window",
                              "add WINDOWING 60 s")


def refuse_time_inside(node: exp.Expr, stream: Stream, lowering: Lowering) -> None:
    """Refused because the event time inside a GROUP BY expression would cut windows into parts."""
    for column in node.find_all(exp.Column):
        if column.name.lower() == stream.time_column.lower():
            raise lowering.refuse(column, f"the event time {column.name} cannot be part of a GROUP BY expression",
                                  "the window groups the time",
                                  f"write GROUP BY {column.name} and WINDOWING 60 s, or another length")
