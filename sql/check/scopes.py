"""The meaning of names at each place of a SELECT: the tuple's columns, or the columns of a result row."""

from __future__ import annotations

from sqlglot import exp

from mars.errors import SqlError
from mars.model.expressions import Column, Expression
from mars.model.partials import AggregateCall
from mars.model.plan import Key, Stream
from sql.check.aggregate_calls import aggregate_call, is_aggregate, read_aggregate
from sql.check.lower import TreeLowering
from sql.check.lowering import Lowering
from sql.places import call_name
from sql.refusals import did_you_mean

WINDOW_COLUMNS = ("window_start", "window_end")
SEE_COLUMNS = "DESCRIBE the stream to see its columns"


class TupleScope:
    """One tuple: in WHERE, in GROUP BY and inside aggregates. `used` collects the columns that were named;
    `place` and `hint` say why an aggregate or a window column does not belong there."""

    def __init__(self, stream: Stream, qualifiers: tuple[str, ...], place: str, hint: str) -> None:
        self.columns = {c.name.lower(): c for c in stream.columns}
        self.qualifiers = tuple(q.lower() for q in qualifiers)
        self.place = place
        self.hint = hint
        self.used: set[str] = set()

    def given(self, node: exp.Expr, lowering: Lowering) -> Expression | None:
        """A tuple has no given expressions; aggregates are refused."""
        if is_aggregate(node):
            raise lowering.refuse(
                node,
                f"{call_name(aggregate_call(node))} is an aggregate and does not belong {self.place}",
                "",
                self.hint,
            )
        return None

    def column(self, node: exp.Column, lowering: Lowering) -> Expression:
        """A column of the stream."""
        check_qualifiers(node, self, lowering)
        column = self.columns.get(node.name.lower())
        if column is None and node.name.lower() in WINDOW_COLUMNS:
            raise lowering.refuse(node, f"{node.name} does not belong {self.place}",
                                  "it is a column of the result",
                                  "name it in SELECT, HAVING or ORDER BY of a SELECT with WINDOWING")
        if column is None:
            raise unknown_column(node, lowering, [c.name for c in self.columns.values()])
        self.used.add(column.name)
        return Column(column.name, column.type)


class RowScope:
    """One row of the result: in SELECT and HAVING. `keys` are by their normal text; `aliases` are the select
    list's (HAVING alone); `aggregates` grows as aggregates are met."""

    def __init__(
        self,
        tuples: TupleScope,
        stream: Stream,
        keys: dict[str, Key],
        windowed: bool,
        time_is_key: bool,
        aggregates: list[AggregateCall],
        aliases: dict[str, exp.Expr] | None = None,
    ) -> None:
        self.tuples = tuples
        self.stream = stream
        self.keys = keys
        self.windowed = windowed
        self.time_is_key = time_is_key
        self.aggregates = aggregates
        self.aliases = aliases or {}

    def given(self, node: exp.Expr, lowering: Lowering) -> Expression | None:
        """A key, an aggregate, or an alias."""
        if is_aggregate(node):
            return self.aggregate(node, lowering)
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self.aliases:
            return TreeLowering(lowering.sql, self.without_aliases()).lower(self.aliases[node.name.lower()])
        text = (
            normal(node) if self.keys and not isinstance(node, (exp.Literal, exp.Null, exp.Boolean)) else ""
        )
        for index, (key_text, key) in enumerate(self.keys.items()):
            if text == key_text:
                check_qualifiers(node, self.tuples, lowering)  # texts are compared without them
                return Column(f"k{index}", key.type)
        return None

    def without_aliases(self) -> RowScope:
        """The same row, as the select list sees it."""
        return RowScope(self.tuples, self.stream, self.keys, self.windowed, self.time_is_key, self.aggregates)

    def column(self, node: exp.Column, lowering: Lowering) -> Expression:
        """The window's columns, and the event time as the window's start; any other column is not grouped."""
        name = node.name.lower()
        if name in WINDOW_COLUMNS and not node.table:
            if not self.windowed:
                raise lowering.refuse(
                    node, f"there is no {node.name} without a window", "", "add WINDOWING 60 s"
                )
            return Column(name, "TIMESTAMP")
        found = self.tuples.column(node, lowering)
        if name == self.stream.time_column.lower() and self.time_is_key:
            return Column("window_time", found.type)
        raise lowering.refuse(
            node,
            f"column {node.name} is not grouped",
            "a row covers many tuples, which may differ in this column",
            f"add {node.name} to GROUP BY, or aggregate it: first({node.name}), max({node.name})",
        )

    def aggregate(self, node: exp.Expr, lowering: Lowering) -> Expression:
        """The column of an aggregate; the same aggregate is computed once."""
        call = read_aggregate(node, self.tuples, lowering)
        if call not in self.aggregates:
            self.aggregates.append(call)
        return Column(f"a{self.aggregates.index(call)}", call.type)


def check_qualifiers(node: exp.Expr, scope: TupleScope, lowering: Lowering) -> None:
    """Refuses an expression with `x.column` in it unless x is the stream or its alias."""
    known = scope.qualifiers
    for column in node.find_all(exp.Column):
        if column.table and column.table.lower() not in known:
            raise lowering.refuse(column, f"unknown stream {column.table}", "the columns belong to the stream after FROM",
                                  did_you_mean(column.table, known, f"write {known[0]}.{column.name}"))


def unknown_column(node: exp.Column, lowering: Lowering, known: list[str]) -> SqlError:
    """The refusal of a column that the stream does not have."""
    listed = "the columns are " + ", ".join(known[:12]) + (" ..." if len(known) > 12 else "")
    return lowering.refuse(node, f"unknown column {node.name}", listed,
                           did_you_mean(node.name, known, SEE_COLUMNS))


def normal(node: exp.Expr) -> str:
    """A text that is equal for expressions that differ only in case, quotes, parentheses, qualifiers, and the order of
    the two sides of + and *."""
    root = exp.Paren(this=node.copy())
    for part in list(root.walk()):
        if isinstance(part, exp.Paren) and part is not root:
            part.replace(part.this)
        elif isinstance(part, exp.Column):
            part.replace(exp.column(exp.to_identifier(part.name.lower(), quoted=True)))
        elif isinstance(part, exp.Anonymous):
            part.set("this", part.name.lower())
    for part in list(root.find_all(exp.Add, exp.Mul, bfs=True))[::-1]:
        if repr(part.this) > repr(part.expression):
            left, right = part.this, part.expression
            part.set("this", right)
            part.set("expression", left)
    return repr(root.this)  # compare the tree, not its SQL, which would parse differently without the parentheses
