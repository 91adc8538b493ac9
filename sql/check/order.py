"""ORDER BY and LIMIT: of a SELECT given alone, or of each window of a continuous query."""

from __future__ import annotations

import re

from sqlglot import exp

from mars.errors import SqlError
from mars.model.plan import Output
from sql.check.lower import TreeLowering
from sql.check.scopes import WINDOW_COLUMNS, TupleScope, check_qualifiers, normal
from sql.check.shape import is_star
from sql.places import span
from sql.refusals import did_you_mean, refusal
from sql.statements import SelectStatement

LIMIT_MAX = 999_999_999


def read(
    select: SelectStatement, outputs: tuple[Output, ...], windowed: bool, scope: TupleScope
) -> tuple[tuple[int, bool], ...]:
    """(index, descending) for each term; index -2 is window_start, -1 window_end. NULL sorts as the least value. `scope`
    knows the names of the stream."""
    order = select.tree.args.get("order")
    terms = []
    for term in order.expressions if order else []:
        descending = bool(term.args.get("desc"))
        if term.args.get("nulls_first") is not None and bool(term.args["nulls_first"]) == descending:
            raise at(select, term, "the place of NULLs cannot be chosen", "NULL sorts as the least value", "remove it")
        check_qualifiers(term, scope, TreeLowering(select.sql, scope))
        terms.append((index_of(select, term.this.unnest(), outputs, windowed), descending))
    return tuple(terms)


def check(select: SelectStatement, outputs: tuple[Output, ...], continuous: bool) -> None:
    """SqlError if ORDER BY or LIMIT of a continuous query do not say which rows of a window are its first."""
    order, limit, clauses = select.tree.args.get("order"), select.tree.args.get("limit"), select.clauses
    if not continuous:
        return
    if order and not limit:
        raise at(select, order, "ORDER BY of a continuous query needs LIMIT",
                 "the two say which rows of each window are shown, and results are ordered by window and keys",
                 "write LIMIT 10 behind it, or use ORDER BY when reading the results")
    if limit and not order:
        raise at(select, limit, "LIMIT of a continuous query needs ORDER BY",
                 "else nobody could tell which rows of a window are its first",
                 "write ORDER BY 2 DESC before it, or use LIMIT when reading the results")
    if limit and read_limit(select) == 0:
        raise at(select, limit, "LIMIT 0 of a continuous query shows nothing", "", "write LIMIT 10")
    replaces = "EMIT CHANGES" if clauses.emission == "CHANGES" else "EMIT EVERY" if clauses.emit_every_ms else \
        "LATE UPDATE" if clauses.late_for_ms else ""
    if order and replaces:
        raise at(select, order, f"ORDER BY .. LIMIT does not go with {replaces}", "a row that was given out cannot be taken "
                 "back when others come before it", "give them where results are read")


def index_of(
    select: SelectStatement, node: exp.Expr, outputs: tuple[Output, ...], windowed: bool
) -> int:
    """The output that a term names: by ordinal, name, alias, or the same expression. `s.column` is never an alias."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return numbered(select, node, outputs, windowed)
    if isinstance(node, exp.Column):
        names = [output.name.lower() for output in outputs]
        if node.name.lower() in names and (is_star(select) or not node.table):
            return names.index(node.name.lower())
        if windowed and node.name.lower() in WINDOW_COLUMNS:
            return WINDOW_COLUMNS.index(node.name.lower()) - 2
    text, index = normal(node), 0
    for item in select.tree.expressions:
        bare = is_window(item, windowed)
        if not bare and normal(item.unalias()) == text:
            return index
        index += not bare
    raise at(select, node, "ORDER BY takes a column of the select list", "",
             did_you_mean(node.name, [o.name for o in outputs], "add it to SELECT, or write its number"))


def numbered(select: SelectStatement, node: exp.Literal, outputs: tuple[Output, ...], windowed: bool) -> int:
    """The output of an ordinal. Ordinals count what SELECT lists, including its window columns."""
    items = [] if is_star(select) else select.tree.expressions
    count = len(items) or len(outputs)
    if not (node.this.isdigit() and len(node.this) < 5 and 1 <= int(node.this) <= count):
        raise at(select, node, f"there is no column {node.this} in SELECT", f"it has {count}", "number them from 1")
    number = int(node.this) - 1
    if items and is_window(items[number], windowed):
        return WINDOW_COLUMNS.index(items[number].name.lower()) - 2
    return number - sum(is_window(item, windowed) for item in items[:number])


def is_window(item: exp.Expr, windowed: bool) -> bool:
    """Is an item of the select list a window column without an alias? Results have these columns anyway, before all
    others."""
    return windowed and isinstance(item, exp.Column) and item.name.lower() in WINDOW_COLUMNS


def read_limit(select: SelectStatement) -> int | None:
    """The number of LIMIT, None without one."""
    limit = select.tree.args.get("limit")
    if limit is None:
        return None
    value = limit.expression
    if not (isinstance(limit, exp.Limit) and isinstance(value, exp.Literal) and not value.is_string
            and re.fullmatch("[0-9]+", value.this)):
        raise at(select, limit, "LIMIT takes a whole number", "", "write LIMIT 100")
    digits = value.this.lstrip("0") or "0"
    if len(digits) > len(str(LIMIT_MAX)):  # check the length first, because int() refuses thousands of digits
        raise at(select, limit, "this LIMIT is too large", f"the maximum is {LIMIT_MAX}",
                 f"write LIMIT {LIMIT_MAX}, or leave it out")
    return int(digits)


def at(select: SelectStatement, node: exp.Expr, title: str, detail: str, hint: str) -> SqlError:
    """The refusal at a node."""
    start, end = span(node)
    return refusal(select.sql, start, end, title, detail, hint)
