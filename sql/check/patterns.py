"""LIKE, ILIKE and RLIKE, also with ANY and ALL."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from mars.model.expressions import Expression, Literal
from sql import literals
from sql.check.lowering import Lowering


def lower_like(lowering: Lowering, node: exp.Expr, escape: str = "\\") -> Expression:
    """LIKE with the backslash as its escape; ILIKE by small letters."""
    if isinstance(node.expression, (exp.Any, exp.All)):
        return lower_quantified(lowering, node, escape)
    value, pattern = lowering.lower(node.this), lowering.lower(node.expression)
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        text = literals.backslash_pattern(pattern.value, escape)
        if text is None:
            raise lowering.refuse(node.expression, "the pattern is not valid",
                                  f"{escape} must be followed by %, _ or {escape}",
                                  f"write {escape}{escape} for the character itself"
                                  + (", and double each of them in a text: \\\\\\\\" if escape == "\\" else ""))
        pattern = Literal(text.lower() if isinstance(node, exp.ILike) else text, "STRING")
    if isinstance(node, exp.ILike):
        value = lowering.call("lower", (value,), node)
    return lowering.call("like", (value, pattern), node)


def lower_escape(lowering: Lowering, node: exp.Escape) -> Expression:
    """LIKE ... ESCAPE."""
    escape = node.expression.name
    if not isinstance(node.this, (exp.Like, exp.ILike)) or len(escape) != 1:
        raise lowering.refuse(node, "ESCAPE takes one character", "", "write LIKE 'a!%%' ESCAPE '!'")
    found = lower_like(lowering, node.this, escape)
    return lowering.call("not", (found,), node) if node.this.args.get("negate") else found


def lower_rlike(lowering: Lowering, node: exp.RegexpLike) -> Expression:
    """RLIKE. The constant pattern is compiled to check that it is valid."""
    return match(lowering, node, node.this, node.expression)


def match(lowering: Lowering, node: exp.Expr, text: exp.Expr, regex: exp.Expr) -> Expression:
    """The condition that a part of the text matches."""
    value, pattern = lowering.lower(text), lowering.lower(regex)
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        try:
            pc.match_substring_regex(pa.array(["a"]), pattern.value)
        except pa.ArrowInvalid as error:
            raise lowering.refuse(regex, "the regular expression is not valid",
                                  str(error).split(": ", 1)[-1],
                                  "use RE2's syntax: no look-around, no back references") from None
    return lowering.call("rlike", (value, pattern), node)


def lower_quantified(lowering: Lowering, node: exp.Expr, escape: str) -> Expression:
    """LIKE ANY and LIKE ALL of a list of patterns. NOT is applied to each pattern, and here it is outside the whole: so
    NOT LIKE ANY is the opposite of LIKE ALL."""
    patterns = node.expression.this.unnest()
    listed = patterns.expressions if isinstance(patterns, exp.Tuple) else [patterns]
    likes = [type(node)(this=node.this.copy(), expression=pattern.copy()) for pattern in listed]
    found = [lower_like(lowering, like, escape) for like in likes]
    is_any = isinstance(node.expression, exp.Any) != bool(node.args.get("negate"))
    while len(found) > 1:
        pairs = [lowering.call("or" if is_any else "and", pair, node) for pair in zip(found[::2], found[1::2], strict=False)]
        found = pairs + found[len(pairs) * 2:]
    return found[0]
