"""Operators that Spark and sqlglot bind differently. Where that matters, this asks for parentheses, so that a statement
means what it means in Spark.

In Spark, || binds as tightly as + and -, and a comparison binds more tightly than LIKE, IN and BETWEEN. In sqlglot's tree
both bind less tightly.
"""

from __future__ import annotations

from sqlglot import exp

from mars.errors import SqlError
from sql.places import span
from sql.refusals import refusal

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>"}
PREDICATES: dict[type[exp.Expr], str] = {
    exp.Like: "LIKE", exp.ILike: "ILIKE", exp.Escape: "LIKE", exp.RegexpLike: "RLIKE", exp.In: "IN",
    exp.Between: "BETWEEN", exp.Is: "IS", exp.Not: "NOT"}
BITS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>"}
SIGNS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-"}


def refuse_ambiguous(sql: str, tree: exp.Expr) -> None:
    """Raises SqlError at the first operator whose operands Spark would group differently."""
    for node in tree.walk():
        if isinstance(node, exp.DPipe) and type(node.expression) in SIGNS:
            sign = SIGNS[type(node.expression)]
            raise refused(sql, node, f"|| before {sign}", "the left operator is computed first", f"write a || (b {sign} c)")
        for part in (node.this, node.expression) if type(node) in BITS else ():
            if type(part) in BITS and type(part) is not type(node):
                what = f"{BITS[type(part)]} beside {BITS[type(node)]}"
                raise refused(sql, node, what, "they do not bind equally strongly", "write one of them in parentheses")
        for part in (node.this, node.expression) if type(node) in COMPARISONS else ():
            if type(part) in PREDICATES:
                sign, word = COMPARISONS[type(node)], PREDICATES[type(part)]
                raise refused(sql, node, f"{sign} beside {word}", f"{sign} binds more tightly",
                              f"write the part with {word} in parentheses")


def refused(sql: str, node: exp.Expr, what: str, detail: str, hint: str) -> SqlError:
    """The refusal of two operators side by side."""
    return refusal(sql, *span(node), f"{what} needs parentheses", detail, hint)
