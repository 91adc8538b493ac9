"""Refuses words that sqlglot parses but that mean nothing here. Ignoring them silently would give other rows than were
asked for.

sqlglot parses the words of all dialects, and keeps each as a part of its node. This module lists the parts that Mars
reads, for every kind of node in the dialect. Other kinds are refused where they are lowered.
"""

from __future__ import annotations

from sqlglot import exp

from mars.errors import SqlError
from sql.check.nodes import BINARY
from sql.places import span
from sql.refusals import refusal

Parts = tuple[str, ...]
NONE: Parts = ()
ONE: Parts = ("this",)
LIST: Parts = ("expressions",)
BOTH: Parts = ("this", "expression")
TYPE: Parts = ("this", "to", "safe")
READ: dict[type[exp.Expr], Parts] = dict.fromkeys((
    *BINARY, exp.NullSafeNEQ, exp.Is, exp.Like, exp.ILike, exp.Escape, exp.RegexpLike, exp.Extract, exp.Filter), BOTH)
READ |= dict.fromkeys((exp.Neg, exp.BitwiseNot, exp.Not, exp.Paren, exp.Boolean, exp.IgnoreNulls, exp.RespectNulls,
                       exp.Where, exp.Having, exp.From), ONE)
READ |= dict.fromkeys((exp.Distinct, exp.Order, exp.Tuple), LIST)
READ |= dict.fromkeys((exp.Star, exp.Null), NONE)
READ |= dict.fromkeys((exp.Cast, exp.TryCast), TYPE)
READ |= {
    exp.Alias: ("this", "alias"), exp.Anonymous: ("this", "expressions"), exp.Between: ("this", "low", "high"),
    exp.Case: ("this", "ifs", "default"), exp.Column: ("this", "table"), exp.Div: (*BOTH, "typed", "safe"),
    exp.DPipe: (*BOTH, "safe"), exp.If: ("this", "true"), exp.In: ("this", "expressions", "query", "field", "unnest"),
    exp.Interval: ("this", "unit"),
    exp.Trim: ("this", "expression", "position"), exp.Substring: ("this", "start", "length"),
    exp.StrPosition: ("this", "substr"), exp.Concat: ("expressions", "safe", "coalesce"),
    exp.Limit: ("expression",), exp.Literal: ("this", "is_string"), exp.Ordered: ("this", "desc", "nulls_first"),
}
NO_PART = "are not part of the dialect"
CAST = ("a cast takes only a type", f"FORMAT and DEFAULT {NO_PART}", "write cast(x AS type)")
INSTEAD: dict[type[exp.Expr], tuple[str, str, str]] = {
    exp.Between: ("BETWEEN takes two bounds", f"SYMMETRIC and ASYMMETRIC {NO_PART}", "write BETWEEN lower AND upper"),
    exp.Cast: CAST, exp.TryCast: CAST,
    exp.Column: ("a column has one qualifier", "it belongs to the stream after FROM", "write stream.column"),
    exp.Limit: ("LIMIT takes a whole number", f"PERCENT, ROWS, WITH TIES and BY {NO_PART}", "write LIMIT 100"),
    exp.Order: ("ORDER BY does not belong inside a call", "array_agg and string_agg go by event time", "remove ORDER BY"),
    exp.Star: ("* takes no additions", f"EXCEPT, REPLACE, RENAME and ILIKE {NO_PART}", "name the columns"),
}


def refuse_unread(sql: str, tree: exp.Expr) -> None:
    """Raises SqlError at the first node with a part that Mars does not read."""
    for node in tree.walk():
        read = READ.get(type(node))
        if read is None:
            continue
        for name, value in node.args.items():
            # `negate` is read for every kind of node. A part that is False was written too (ASYMMETRIC).
            if name not in read and name != "negate" and value is not None and value != []:
                raise refused(sql, node, name)


def refused(sql: str, node: exp.Expr, part: str) -> SqlError:
    """The refusal of a part of a node."""
    word = part.strip("_").replace("_", " ").upper()
    return refusal(sql, *span(node), *INSTEAD.get(type(node), (f"{word} is not part of the dialect", "", "remove it")))
