"""The types of the dialect and their Arrow counterparts.

A type is written as its SQL text: BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, DATE, TIMESTAMP, and VOID
for a bare NULL. TIMESTAMP is an instant in microseconds UTC. The text is the one form everywhere: plans, JSON, errors.
"""

from __future__ import annotations

import re

import pyarrow as pa

ALIASES = {"INTEGER": "INT", "LONG": "BIGINT", "VARCHAR": "STRING", "TEXT": "STRING", "BOOL": "BOOLEAN"}
DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC|DEC)(?:\((\d+)(?:,(\d+))?\))?$")
INTEGERS = ("INT", "BIGINT")
ARROW = {
    "BOOLEAN": pa.bool_(), "INT": pa.int32(), "BIGINT": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64(),
    "STRING": pa.string(), "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us", "UTC"), "VOID": pa.null(),
}


def normalize(text: str) -> str | None:
    """The canonical text of a type as a user wrote it, or None if there is no such type."""
    word = re.sub(r"\s+", "", text).upper()
    word = ALIASES.get(word, word)
    if word in ARROW and word != "VOID":
        return word
    match = DECIMAL.match(word)
    if not match:
        return None
    precision, scale = int(match[1] or 10), int(match[2] or 0)
    return f"DECIMAL({precision},{scale})" if 1 <= precision <= 38 and scale <= precision else None


def nearest_decimal(text: str) -> str | None:
    """The closest valid type for a DECIMAL that is too wide, or whose scale is above its precision; None for any other
    text."""
    match = DECIMAL.match(re.sub(r"\s+", "", text).upper())
    if match is None or normalize(text):
        return None
    precision, scale = int(match[1] or 10), int(match[2] or 0)
    precision = min(38, max(precision, scale, 1))
    return f"DECIMAL({precision}, {min(scale, precision)})"


def decimal_size(type_: str) -> tuple[int, int]:
    """(precision, scale) of a type that is known to be a DECIMAL."""
    parts = decimal_parts(type_)
    assert parts is not None, type_
    return parts


def decimal_parts(type_: str) -> tuple[int, int] | None:
    """(precision, scale) of a DECIMAL, or None for any other type."""
    match = DECIMAL.match(type_)
    return (int(match[1]), int(match[2])) if match and match[2] else None


def is_numeric(type_: str) -> bool:
    """True for INT, BIGINT, FLOAT, DOUBLE and DECIMAL."""
    return type_ in ("INT", "BIGINT", "FLOAT", "DOUBLE") or decimal_parts(type_) is not None


def to_arrow(type_: str) -> pa.DataType:
    """The Arrow type that holds values of `type_`."""
    parts = decimal_parts(type_)
    return pa.decimal128(*parts) if parts else ARROW[type_]
