"""Typed scalar expressions: what a statement computes per tuple and per result row.

They are made by sql/check with every type resolved, travel in the plan as JSON, and are computed by
mars/algebra/evaluate.py on whole Arrow arrays. Semantics are Spark SQL's with ANSI off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Constant = bool | int | float | str | None


@dataclass(frozen=True)
class Column:
    """A column by name: a stream's column in WHERE, keys and arguments; `k0`, `a0`, `window_start`, `window_end`,
    `window_time` in outputs and HAVING (see plan.QueryPlan)."""

    name: str
    type: str


@dataclass(frozen=True, eq=False)
class Literal:
    """A constant. `value` is None, bool, int, float, or text (DECIMAL, DATE, TIMESTAMP and STRING are text). Equal ones have
    one text, so that 0.0 is another one than -0.0: what is equal in two expressions is computed once."""

    value: Constant
    type: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (repr(self.value), self.type) == (repr(other.value), other.type)

    def __hash__(self) -> int:
        return hash((repr(self.value), self.type))


@dataclass(frozen=True)
class Call:
    """A function of mars/algebra/functions.py on arguments. `cast` has the target as its own type; `case` has
    condition, value, condition, value, ..., else value as its arguments (the else is always there)."""

    function: str
    arguments: tuple[Expression, ...]
    type: str


Expression = Column | Literal | Call


def to_json(expression: Expression | None) -> object:
    """A JSON-able form; `from_json` gives back an equal expression."""
    match expression:
        case None:
            return None
        case Column(name, type_):
            return {"column": name, "type": type_}
        case Literal(value, type_):
            return {"value": value, "type": type_}
        case Call(function, arguments, type_):
            return {"call": function, "arguments": [to_json(a) for a in arguments], "type": type_}


def from_json(data: dict | None) -> Expression | None:
    """The expression of a form made by `to_json`."""
    return None if data is None else present_from_json(data)


def present_from_json(data: dict) -> Expression:
    """The expression of the form of one that is there."""
    if "column" in data:
        return Column(data["column"], data["type"])
    if "call" in data:
        return Call(data["call"], tuple(present_from_json(a) for a in data["arguments"]), data["type"])
    return Literal(data["value"], data["type"])


def columns_of(expression: Expression | None) -> Iterator[str]:
    """The names of all columns in the expression, in order, with repeats."""
    match expression:
        case Column(name, _):
            yield name
        case Call(_, arguments, _):
            for argument in arguments:
                yield from columns_of(argument)


def functions_of(expression: Expression | None) -> Iterator[str]:
    """The names of all functions in the expression, with repeats."""
    if isinstance(expression, Call):
        yield expression.function
        for argument in expression.arguments:
            yield from functions_of(argument)
