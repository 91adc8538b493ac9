"""A SELECT and its stream to a QueryPlan. The order of work:

1. `shape`: refuse what plain SQL allows and the dialect does not (joins, sub-queries, DISTINCT ...)
2. WHERE, over the tuple's columns; a landmark is a part of it
3. GROUP BY: keys; the bare event-time column is the window instead
4. SELECT and HAVING, over keys, aggregates and the window
5. window, watermark, grace, idle, start; ORDER BY and LIMIT
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from mars import computing
from mars.model.expressions import Column, Expression
from mars.model.free_names import FreeNames
from mars.model.partials import AggregateCall, kept_once
from mars.model.plan import Aggregation, Key, Output, Presentation, QueryPlan, Stream
from sql.check import changelog, emissions, landmark, order, policies, shape, timeout
from sql.check.aggregate_calls import aggregate_call, is_aggregate
from sql.check.groups import Groups, check_partition, read_groups
from sql.check.lower import TreeLowering
from sql.check.scopes import WINDOW_COLUMNS, RowScope, TupleScope
from sql.places import call_name
from sql.refusals import refusal_at
from sql.statements import SelectStatement

NO_AGGREGATE = "use HAVING"


def compile_select(select: SelectStatement, stream: Stream, continuous: bool) -> QueryPlan:
    """The plan of a SELECT over `stream`, as `plan_of` gives it, with the versions of the code that computes it."""
    plan = plan_of(select, stream, continuous)
    return replace(plan, versions=computing.versions_of(plan, stream))


def plan_of(select: SelectStatement, stream: Stream, continuous: bool) -> QueryPlan:
    """The checked plan of a SELECT over `stream`, which its FROM names; SqlError if it is not valid for the stream.

    continuous: the query runs until it is dropped (CREATE QUERY), so a window is needed, and ORDER BY and LIMIT say
    which rows of each window it shows. Otherwise it runs once over what the topic holds.
    """
    try:
        return Compiler(select, stream, continuous).compile()
    except RecursionError:
        raise refusal_at(select.sql, select.source, "too deeply nested",
                      "the statement has too many levels", "use less nesting, with IN or AND") from None


class Compiler:
    """The compilation of one statement; it holds what the steps share."""

    def __init__(self, select: SelectStatement, stream: Stream, continuous: bool) -> None:
        self.select = select = shape.distinct_grouped(select)
        self.sql = select.sql
        self.tree = select.tree
        self.stream = stream
        self.continuous = continuous
        alias = self.tree.args["from_"].this.alias
        self.qualifiers = (alias,) if alias else (select.source.text, stream.name)
        self.windowed = select.clauses.window is not None
        self.aggregates: list[AggregateCall] = []
        self.used: set[str] = {stream.time_column}

    def compile(self) -> QueryPlan:
        """The five steps."""
        shape.check(self.select, self.continuous)
        passed = landmark.condition(self.select, self.stream)
        condition = self.condition(passed, self.tuple_scope("in WHERE", NO_AGGREGATE)) if passed else None
        if shape.shows_tuples(self.select):
            return self.show_tuples(condition)
        groups = self.groups()
        outputs = self.outputs(groups)
        having = self.tree.args.get("having")
        kept = self.condition(having.this, self.row_scope(groups, self.result_names())) if having else None
        return self.plan(condition, tuple(groups.keys.values()), outputs, kept)

    def show_tuples(self, condition: Expression | None) -> QueryPlan:
        """The plan of a SELECT that shows tuples: every column of the select list is computed per tuple."""
        scope = self.tuple_scope("here", "use GROUP BY")
        keys, names = [], FreeNames()
        for item, text in zip(shape.expand_star(self.select, self.stream), self.item_texts(), strict=True):
            value = TreeLowering(self.sql, scope).lower(item.unalias())
            keys.append(Key(names.take(name_of(item, text)), value, value.type))
        outputs = tuple(Output(k.name, Column(f"k{i}", k.type), k.type) for i, k in enumerate(keys))
        return replace(self.plan(condition, tuple(keys), outputs, None), grouped=False)

    def plan(self, condition: Expression | None, keys: tuple[Key, ...], outputs: tuple[Output, ...],
             having: Expression | None) -> QueryPlan:
        """The plan of what has been compiled, with our clauses, ORDER BY and LIMIT."""
        calls = tuple(self.aggregates)
        check_partition(self.select, keys)
        policy = policies.read(self.select, self.stream, self.continuous)
        emissions.check(self.select, keys, outputs, self.continuous)
        changelog.check(self.select, keys, outputs, self.continuous)
        timeout.check(self.select, outputs, self.continuous)
        order.check(self.select, outputs, self.continuous)
        calls, outputs, stamps = changelog.added(self.select, *timeout.added(self.select, calls, outputs))
        aggregation = Aggregation(self.stream.name, self.columns(), condition, keys, emissions.window_of(self.select),
                                  kept_once((*calls, *stamps)), **policy)
        limit = order.read_limit(self.select)
        presentation = Presentation(calls, emissions.shown(self.select, outputs), having,
                                    self.order_by(outputs, self.windowed), None if self.continuous else limit,
                                    self.select.clauses.emission or "FINAL", limit if self.continuous else None)
        return QueryPlan(self.sql, aggregation, presentation, policies.start_of(self.select, self.continuous),
                         rate=self.select.clauses.rate, late_to=policies.late_to_of(self.select))

    def item_texts(self) -> tuple[str, ...]:
        """The texts of the select list; for * the columns' names."""
        if shape.is_star(self.select):
            return tuple(c.name for c in self.stream.columns)
        return self.select.texts

    def tuple_scope(self, place: str, hint: str) -> TupleScope:
        """One tuple; the columns that it names count as needed."""
        scope = TupleScope(self.stream, self.qualifiers, place, hint)
        scope.used = self.used
        return scope

    def row_scope(self, groups: Groups, aliases: dict[str, exp.Expr] | None = None) -> RowScope:
        """One row of the result."""
        tuples = self.tuple_scope("inside an aggregate", "write one aggregate of a plain expression")
        return RowScope(
            tuples, self.stream, groups.keys, self.windowed, groups.time_is_key, self.aggregates, aliases
        )

    def condition(self, node: exp.Expr, scope: TupleScope | RowScope) -> Expression:
        """A condition of type BOOLEAN."""
        lowering = TreeLowering(self.sql, scope)
        value = lowering.lower(node)
        if value.type not in ("BOOLEAN", "VOID"):
            raise lowering.refuse(node, "a condition is needed here", f"this is {value.type}",
                                  "compare it: ... <> 0")
        return lowering.cast(value, "BOOLEAN", node)

    def groups(self) -> Groups:
        """GROUP BY, with aliases and ordinals resolved."""
        scope = self.tuple_scope("in GROUP BY", "group by a column, and aggregate in SELECT")
        return read_groups(self.select, self.stream, scope, self.aliases(), self.windowed)

    def aliases(self) -> dict[str, exp.Expr]:
        """The expressions of the select list by their alias; window_start and window_end mean the window's."""
        return {item.alias.lower(): item.this for item in self.tree.expressions
                if isinstance(item, exp.Alias) and item.alias.lower() not in WINDOW_COLUMNS}

    def result_names(self) -> dict[str, exp.Expr]:
        """For HAVING: the aliases, and the names that calls get, such as count, unless a column has that
        name."""
        taken, calls = FreeNames(WINDOW_COLUMNS if self.windowed else ()), dict[str, exp.Expr]()
        for item in self.tree.expressions:
            written = name_of(item, "")
            name = taken.take(written).lower() if written else ""
            if not isinstance(item, (exp.Alias, exp.Column)):
                calls.setdefault(name, item)
        known = {column.name.lower() for column in self.stream.columns}
        return {name: item for name, item in calls.items() if name and name not in known} | self.aliases()

    def outputs(self, groups: Groups) -> tuple[Output, ...]:
        """The select list without bare window_start and window_end, which every result has anyway."""
        names, outputs = FreeNames(WINDOW_COLUMNS if self.windowed else ()), []
        scope = self.row_scope(groups)
        for item, text in zip(self.tree.expressions, self.select.texts, strict=True):
            value = TreeLowering(self.sql, scope).lower(item.unalias())
            if isinstance(item, exp.Column) and value in [Column(n, "TIMESTAMP") for n in WINDOW_COLUMNS]:
                continue
            outputs.append(Output(names.take(name_of(item, text)), value, value.type))
        return tuple(outputs)

    def order_by(self, outputs: tuple[Output, ...], windowed: bool) -> tuple[tuple[int, bool], ...]:
        """The terms of ORDER BY."""
        scope = self.tuple_scope("in ORDER BY", "name its column of the select list")
        return order.read(self.select, outputs, windowed, scope)

    def columns(self) -> tuple[str, ...]:
        """The columns that must be readable, in the stream's order."""
        strict = self.stream.options.get("strict", False)
        return tuple(c.name for c in self.stream.columns if strict or c.name in self.used)


def name_of(item: exp.Expr, text: str) -> str:
    """The name of a column of the select list: alias, column, function, or its text."""
    if item.alias:
        return item.alias
    if isinstance(item, exp.Column):
        return item.name
    inner = aggregate_call(item) if is_aggregate(item) else item
    return call_name(inner).lower() or text
