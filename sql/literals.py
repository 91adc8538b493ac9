"""Constants: from the text of a number to a typed literal, and casts of literals at compile time."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal, InvalidOperation

import pyarrow as pa

from mars.algebra.evaluation import casts
from mars.model import types
from mars.model.expressions import Literal
from mars.model.types import decimal_parts

WIDE = Context(prec=100)
INT_MAX, BIGINT_MAX = 2**31 - 1, 2**63 - 1
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*\Z", re.ASCII)


def number(text: str) -> Literal | None:
    """The literal of an unsigned number as Spark types it: INT, BIGINT or DECIMAL by its digits, DOUBLE with
    an exponent; None when it is too large."""
    if len(text) > 400 or not NUMBER.match(text):
        return None
    if "e" in text.lower():
        value = float(text)
        return Literal(value, "DOUBLE") if math.isfinite(value) else None
    if "." in text:
        whole, _, fraction = text.partition(".")
        digits, scale = len(whole.lstrip("0") + fraction), len(fraction)
        return (
            Literal(text, f"DECIMAL({max(digits, scale, 1)},{scale})") if max(digits, scale) <= 38 else None
        )
    return whole_number(int(text))


def whole_number(value: int) -> Literal | None:
    """The literal of a whole number: INT if it fits, else BIGINT, else DECIMAL."""
    if -INT_MAX - 1 <= value <= INT_MAX:
        return Literal(value, "INT")
    if -BIGINT_MAX - 1 <= value <= BIGINT_MAX:
        return Literal(value, "BIGINT")
    digits = len(str(abs(value)))
    return Literal(str(value), f"DECIMAL({digits},0)") if digits <= 38 else None


def negated(literal: Literal) -> Literal | None:
    """The constant with the other sign, and the type that it then has (-9223372036854775808 is BIGINT); None if it is not
    a number."""
    if literal == Literal(INT_MAX + 1, "BIGINT"):
        return Literal(-INT_MAX - 1, "INT")
    match literal.value:
        case float(value) if literal.type == "DOUBLE":
            return Literal(-value, "DOUBLE")
        case int(value) if literal.type in ("INT", "BIGINT") and value > 0:
            return Literal(-value, literal.type)
        case str(value) if decimal_parts(literal.type) and value == str(BIGINT_MAX + 1):
            return Literal(-BIGINT_MAX - 1, "BIGINT")
        case str(value) if decimal_parts(literal.type) and not value.startswith("-"):
            return Literal("-" + value, literal.type)
    return None


def fold(literal: Literal, target: str) -> Literal | None:
    """The constant in another type if the cast is exact and plain; None otherwise."""
    value, source = literal.value, literal.type
    if value is None:
        return Literal(None, target)
    if isinstance(value, bool) or source == "FLOAT":
        return None
    if source == "STRING" and isinstance(value, str):
        return fold_text(value, target)
    if target == "STRING":
        return Literal(str(value), "STRING") if source in ("INT", "BIGINT") else None
    if source in ("INT", "BIGINT") or decimal_parts(source):
        return fold_exact(Decimal(value), source, target)
    return None


def reads(text: str, target: str) -> bool:
    """Would the cast of a column accept the text? A plan cannot hold all such values: NaN and FLOAT are excluded."""
    return casts.cast(pa.array([text]), types.to_arrow(target))[0].is_valid


def fold_text(text: str, target: str) -> Literal | None:
    """The value of a text as the cast of a column would read it; None if that is NULL, or a value that a plan cannot
    hold."""
    value = casts.cast(pa.array([text]), types.to_arrow(target))[0].as_py()
    if value is None or target == "FLOAT" or (target == "DOUBLE" and not math.isfinite(value)):
        return None
    if target == "TIMESTAMP":
        return Literal(value.replace(tzinfo=None).isoformat() + "Z", target)
    if target == "DATE":
        return Literal(value.isoformat(), target)
    return Literal(format(value, "f") if decimal_parts(target) else value, target)


def fold_exact(value: Decimal, source: str, target: str) -> Literal | None:
    """An exact number in another type, if that holds it exactly (DOUBLE and FLOAT: correctly rounded)."""
    if target in ("DOUBLE", "FLOAT"):
        # A DECIMAL has no negative zero: CAST(-0.0 AS DOUBLE) is 0.0.
        return Literal(float(value) + 0.0, target) if target == "DOUBLE" else None
    parts = decimal_parts(target)
    try:
        if parts:
            scaled = value.quantize(Decimal(1).scaleb(-parts[1]), context=WIDE)
            fits = scaled == value and len(scaled.as_tuple().digits) <= parts[0]
            return Literal(format(scaled, "f"), target) if fits else None
        limit = {"INT": INT_MAX, "BIGINT": BIGINT_MAX}.get(target)
        exact = limit is not None and source in ("INT", "BIGINT") and -limit - 1 <= value <= limit
        return Literal(int(value), target) if exact else None
    except InvalidOperation:
        return None


def backslash_pattern(pattern: str, escape: str) -> str | None:
    """A LIKE pattern with another escape character, rewritten with the backslash; None if its escapes are not valid."""
    out, i = [], 0
    while i < len(pattern):
        character = pattern[i]
        if character == escape:
            following = pattern[i + 1:i + 2]
            if not following or following not in ("%", "_", escape):
                return None
            out.append("\\" + following if following in "%_\\" else following)
            i += 2
            continue
        out.append("\\\\" if character == "\\" else character)
        i += 1
    return "".join(out)
