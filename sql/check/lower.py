"""Turns the tree of one scalar expression into a typed mars expression, node by node."""

from __future__ import annotations

from sqlglot import exp

from mars.model.expressions import Expression
from sql.check import intervals, nodes
from sql.check.intervals import SIGNS
from sql.check.lowering import Lowering

# A longer chain of AND or OR is joined pair by pair; one after another would nest as deep as it is long.
CHAIN_MAX = 100


class TreeLowering(Lowering):
    """The Lowering that knows every kind of node of the dialect (`nodes`)."""

    def inside(self, node: exp.Expr) -> Expression:
        """Lowers the node according to its kind."""
        if isinstance(node, (exp.And, exp.Or)) and len(members := list(node.flatten(unnest=False))) > CHAIN_MAX:
            return joined(self, [self.lower(member) for member in members], node)
        if type(node) in nodes.BINARY:
            if type(node) in SIGNS and any(map(intervals.is_interval, (node.this, node.expression))):
                return intervals.lower_shifted(self, node)
            operands = (self.lower(node.this), self.lower(node.expression))
            if type(node) in SIGNS and "DATE" in (operands[0].type, operands[1].type):
                return intervals.lower_days(self, operands, node)
            return self.call(nodes.BINARY[type(node)], operands, node)
        method = nodes.METHODS.get(type(node))
        if method is None:
            raise self.refuse(node, "this expression is not part of the dialect", type(node).__name__.lower(),
                              "docs/dialect.md lists the operators and functions")
        return method(self, node)


def joined(lowering: Lowering, found: list[Expression], node: exp.Expr) -> Expression:
    """The members of a long chain of AND or OR, joined pair by pair."""
    while len(found) > 1:
        pairs = [lowering.call(nodes.BINARY[type(node)], pair, node) for pair in zip(found[::2], found[1::2], strict=False)]
        found = pairs + found[len(pairs) * 2:]
    return found[0]
