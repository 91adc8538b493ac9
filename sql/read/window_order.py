"""Which SELECTs over a query's results ask for the first rows in the order of its windows, so that who runs one can look at
those windows first and leave out the others once there are enough rows."""

from __future__ import annotations

from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

WINDOW = ("window_start", "window_end")
PARTS = {"expressions", "from_", "where", "order", "limit", "offset"}
# What looks at one row alone. An aggregate, a sub-query or a window function looks at others too, and is not here.
ROWWISE = (
    exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Where, exp.Order,
    exp.Ordered, exp.Limit, exp.Offset, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.Is,
    exp.In, exp.Between, exp.Like, exp.ILike, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Add, exp.Sub,
    exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam,
    exp.Interval, exp.Var, exp.Case, exp.If, exp.Coalesce, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Lower, exp.Upper,
    exp.Length, exp.TimestampTrunc, exp.DateTrunc)


@dataclass(frozen=True)
class WindowOrder:
    """The latest windows are asked for, or the earliest; `rows` is what LIMIT says."""

    descending: bool
    rows: int


def window_order(sql: str) -> WindowOrder | None:
    """What the statement asks for if each of its rows is made of one row of one table, they are ordered by window first, and
    LIMIT says how many there are; None for any other. It is in the engine's dialect (DuckDB)."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Select) or not _is_rowwise(tree):
        return None
    order, limit = tree.args.get("order"), tree.args.get("limit")
    first = order.expressions[0] if order else None
    if first is None or not isinstance(first.this, exp.Column) or first.this.name.lower() not in WINDOW:
        return None
    if not isinstance(limit, exp.Limit) or limit.args.get("limit_options") or not _is_whole(limit.expression):
        return None
    return WindowOrder(bool(first.args.get("desc")), int(limit.expression.name))


def _is_rowwise(tree: exp.Select) -> bool:
    if any(value for name, value in tree.args.items() if name not in PARTS):
        return False
    nodes = [node for node in tree.walk() if node is not tree]
    return all(type(node) in ROWWISE for node in nodes) and not any(_is_other(node) for node in nodes)


def _is_other(node: exp.Expr) -> bool:
    """Is it a table or a star that is more than its name, or another column under a name of the window's?"""
    if isinstance(node, exp.Table):
        return any(value for name, value in node.args.items() if name not in ("this", "alias"))
    if isinstance(node, exp.Star):
        return any(node.args.values())
    return isinstance(node, exp.Alias | exp.TableAlias) and (node.alias.lower() in WINDOW or bool(node.args.get("columns")))


def _is_whole(expression: exp.Expr | None) -> bool:
    return isinstance(expression, exp.Literal) and not expression.is_string and expression.name.isdecimal()
