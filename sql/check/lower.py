"""Turns the tree of one scalar expression into a typed mars expression, node by node."""

from __future__ import annotations

from sqlglot import exp

from mars.model.expressions import Expression
from sql.check import nodes
from sql.check.lowering import Lowering


class TreeLowering(Lowering):
    """The Lowering that knows every kind of node of the dialect (`nodes`)."""

    def inside(self, node: exp.Expr) -> Expression:
        """Lowers the node according to its kind."""
        if type(node) in nodes.BINARY:
            operands = (self.lower(node.this), self.lower(node.expression))
            return self.call(nodes.BINARY[type(node)], operands, node)
        method = nodes.METHODS.get(type(node))
        if method is None:
            raise self.refuse(node, "this expression is not part of the dialect", type(node).__name__.lower(),
                              "docs/dialect.md lists the operators and functions")
        return method(self, node)
