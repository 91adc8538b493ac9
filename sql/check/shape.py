"""Refuses what plain SQL allows in a SELECT but the dialect does not, with what to write instead."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from mars.errors import SqlError
from mars.model.plan import Stream
from sql.check.aggregate_calls import is_aggregate
from sql.check.node_parts import refuse_unread
from sql.check.strength import refuse_ambiguous
from sql.places import span
from sql.refusals import refusal, refusal_at
from sql.statements import SelectStatement

ALLOWED = ("expressions", "from_", "where", "group", "having", "order", "limit")
INSTEAD = {
    "joins": ("JOIN", "make a query of each stream, and join their results"),
    "laterals": ("LATERAL VIEW", "produce one tuple for each element"),
    "with_": ("WITH", "write one SELECT over the stream; WITH works over the results of queries"),
    "offset": ("OFFSET", "write LIMIT alone"),
    "qualify": ("QUALIFY", "write HAVING"),
    "windows": ("WINDOW", "write WINDOWING 60 s"),
    "sort": ("SORT BY", "write ORDER BY"), "cluster": ("CLUSTER BY", "write ORDER BY"),
    "distribute": ("DISTRIBUTE BY", "write ORDER BY"),
}
GROUPINGS = {
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "totals": "TOTALS",
}


def check(select: SelectStatement, continuous: bool) -> None:
    """Raises SqlError for the first part that does not belong."""
    tree = select.tree
    for name, value in tree.args.items():
        if value and name not in ALLOWED:
            what, instead = INSTEAD.get(name, (name.strip("_").upper(), "remove it"))
            raise at(
                select, value, f"{what} is not part of a SELECT over a stream", "it reads one stream", instead
            )
    if any(value for name, value in tree.args["from_"].this.args.items() if name not in ("this", "alias")):
        raise at(select, tree.args["from_"], "only the stream's name can be here",
                 "a sample, pivot or join cannot follow it", f"write FROM {select.source.text}")
    alias = tree.args["from_"].this.args.get("alias")
    if alias and alias.args.get("columns"):
        raise at(select, alias, "a stream's columns cannot be renamed here", "", "write a name for the stream alone")
    check_group(select)
    if not tree.expressions:
        raise refusal_at(select.sql, select.source, "the select list is empty", "",
                      "write SELECT count(*) FROM " + select.source.text)
    if is_star(select) and not shows_tuples(select):
        raise at(select, tree.expressions[0], "* is not grouped", "a row covers many tuples",
                 "name the columns of GROUP BY, and aggregates such as count(*)")
    refuse_unread(select.sql, tree)
    refuse_ambiguous(select.sql, tree)


def check_group(select: SelectStatement) -> None:
    """Checks that Checks that GROUP BY is a plain list."""
    group = select.tree.args.get("group")
    for name, value in (group.args.items() if group else ()):
        # sqlglot keeps ALL and DISTINCT as True and False of one part.
        if name != "expressions" and value not in (None, []) and not (name == "all" and value):
            what = "DISTINCT" if value is False else GROUPINGS.get(name, name.upper())
            raise at(select, group, f"GROUP BY {what} is not part of the dialect", "", "write GROUP BY a, b")


def distinct_grouped(select: SelectStatement) -> SelectStatement:
    """SELECT DISTINCT a, b as SELECT a, b ... GROUP BY ALL."""
    distinct = select.tree.args.get("distinct")
    if distinct is None:
        return select
    items = select.tree.expressions
    has_aggregate = any(is_aggregate(node) for item in items for node in item.walk())
    if distinct.args.get("on") or select.tree.args.get("group") or select.tree.args.get("having") or has_aggregate:
        raise at(select, items, "SELECT DISTINCT takes plain columns", "it is a GROUP BY of them by itself",
                 "write GROUP BY without DISTINCT")
    if is_star(select):
        raise at(select, items, "SELECT DISTINCT takes columns by their names", "* has the event time, too",
                 "name the columns")
    tree = select.tree.copy()
    tree.set("distinct", None)
    tree.set("group", exp.Group(all=True))
    return replace(select, tree=tree)


def shows_tuples(select: SelectStatement) -> bool:
    """True if the SELECT has no window, no grouping and no aggregate, so that each tuple gives its own row."""
    tree = select.tree
    if select.clauses.window is not None or tree.args.get("group") or tree.args.get("having"):
        return False
    return not any(is_aggregate(node) for item in tree.expressions for node in item.walk())


def is_star(select: SelectStatement) -> bool:
    """True for `SELECT *`, also `SELECT s.*`."""
    items = select.tree.expressions
    return len(items) == 1 and (isinstance(items[0], exp.Star)
                                or (isinstance(items[0], exp.Column) and isinstance(items[0].this, exp.Star)))


def expand_star(select: SelectStatement, stream: Stream) -> list[exp.Expr]:
    """The select list, with * as all columns."""
    if is_star(select):
        return [exp.column(exp.to_identifier(c.name, quoted=True)) for c in stream.columns]
    return select.tree.expressions


def at(select: SelectStatement, part: object, title: str, detail: str, hint: str) -> SqlError:
    """The refusal at a part of the tree, or at the stream's name if the part has no place."""
    node = part[0] if isinstance(part, list) and part else part
    start, end = span(node) if isinstance(node, exp.Expr) else (0, 0)
    if end == 0:
        start, end = select.source.start, select.source.end
    return refusal(select.sql, start, end, title, detail, hint)
