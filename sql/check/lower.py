"""The tree of one scalar expression to a typed mars expression: each node by its kind."""

from __future__ import annotations

from sqlglot import exp

from mars.model.expressions import Expression
from sql.check import nodes
from sql.check.lowering import Lowering


class TreeLowering(Lowering):
    """Knows every kind of node that the dialect has (`nodes`)."""

    def inside(self, node: exp.Expr) -> Expression:
        """Lowers by the kind of the node."""
        if type(node) in nodes.BINARY:
            operands = (self.lower(node.this), self.lower(node.expression))
            return self.call(nodes.BINARY[type(node)], operands, node)
        method = nodes.METHODS.get(type(node))
        if method is None:
            raise self.refuse(node, "this expression is not part of the dialect", type(node).__name__.lower(),
                              "docs/dialect.md lists the operators and functions")
        return method(self, node)
