"""What the lowering of all kinds of nodes shares: limits of depth and size, calls with explicit casts, refusals.

The meaning of a name depends on its place (WHERE, an aggregate's argument, the select list ...). A scope knows it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from sqlglot import exp

from mars.algebra import coercion, functions
from mars.errors import SqlError
from mars.model.expressions import Call, Expression, Literal
from sql import literals
from sql.places import span
from sql.refusals import refusal

MAX_DEPTH = 150
MAX_SIZE = 100_000


class Scope(Protocol):
    """The meaning of names and calls at one place of the statement."""

    def given(self, node: exp.Expr, lowering: Lowering) -> Expression | None:
        """The expression that a whole node means (a key, an aggregate), or None to lower its parts."""

    def column(self, node: exp.Column, lowering: Lowering) -> Expression:
        """The expression of a column; raises SqlError if there is none of that name here."""


class Lowering(ABC):
    """Lowers trees of one statement in one scope."""

    def __init__(self, sql: str, scope: Scope) -> None:
        self.sql = sql
        self.scope = scope
        self.depth = 0

    def lower(self, node: exp.Expr) -> Expression:
        """The typed expression of a tree; SqlError with the place of what is not valid."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.refuse(
                node, "too deeply nested", f"more than {MAX_DEPTH} levels", "use less nesting, with IN"
            )
        found = self.scope.given(node, self)
        if found is None:
            found = self.inside(node)
            if node.args.get("negate"):
                found = self.call("not", (found,), node)
        self.depth -= 1
        if self.depth == 0 and size(found, {}) > MAX_SIZE:
            raise self.refuse(node, "the expression is too large", f"it takes more than {MAX_SIZE:,} steps for each tuple",
                              "IN, BETWEEN and nullif repeat what is before them: use less nesting")
        return found

    @abstractmethod
    def inside(self, node: exp.Expr) -> Expression:
        """Lowers the node according to its kind."""

    def call(self, name: str, arguments: tuple[Expression, ...], node: exp.Expr) -> Expression:
        """A call with each argument cast to the type that the function takes."""
        try:
            wanted, result = functions.resolve(name, arguments)
        except coercion.TypeMismatch as mismatch:
            given = ", ".join(a.type for a in arguments)
            raise self.refuse(node, f"{functions.SCALARS[name].spelling} does not take {given}",
                              mismatch.reason, mismatch.hint) from None
        if result == "VOID":
            return Literal(None, "VOID")
        return Call(
            name, tuple(self.cast(a, t, node) for a, t in zip(arguments, wanted, strict=True)), result
        )

    def predicate(self, name: str, arguments: tuple[Expression, ...], node: exp.Expr) -> Call:
        """A function whose result is BOOLEAN, and that is therefore a call even of NULLs."""
        found = self.call(name, arguments, node)
        assert isinstance(found, Call), found
        return found

    def cast(self, value: Expression, target: str, node: exp.Expr) -> Expression:
        """An implicit cast. A constant is cast here, and refused if it would become NULL."""
        if value.type == target:
            return value
        if isinstance(value, Literal):
            folded = literals.fold(value, target)
            if folded is not None:
                return folded
            if isinstance(value.value, str) and value.type == "STRING" and not literals.reads(value.value, target):
                raise self.refuse(node, f"'{value.value}' is not a valid {target}",
                                  "it would always be NULL", f"write a constant of type {target}")
        return Call("cast", (value,), target)

    def refuse(self, node: exp.Expr, title: str, detail: str = "", hint: str = "") -> SqlError:
        """The refusal that points at a node."""
        start, end = span(node)
        return refusal(self.sql, start, end, title, detail, hint)


def size(expression: Expression, known: dict[int, int]) -> int:
    """The number of calls, columns and constants in an expression; shared parts count each time. `known` has the sizes of
    its parts, by identity, because there may be too many to count one by one."""
    if not isinstance(expression, Call):
        return 1
    if id(expression) not in known:
        known[id(expression)] = 1 + sum(size(argument, known) for argument in expression.arguments)
    return known[id(expression)]
