"""Values as the text that Spark SQL prints."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import STRING

INSTANT = pa.timestamp("us", "UTC")
FIRST = pa.scalar(datetime(1, 1, 1, tzinfo=UTC), INSTANT)
LAST = pa.scalar(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), INSTANT)
FIRST_DAY, LAST_DAY = pa.scalar(date.min), pa.scalar(date.max)


def by_distinct(column: pa.Array, convert: Callable[[str], object], type_: pa.DataType) -> pa.Array:
    """`convert` on each distinct text that is not NULL, as an array of `type_`: the slow and sure way."""
    codes = column.dictionary_encode()
    values = [None if value is None else convert(value) for value in codes.dictionary.to_pylist()]
    return pa.array(values, type_).take(codes.indices)


def from_float(column: pa.Array) -> pa.Array:
    """FLOAT and DOUBLE as Java prints them: '1.0', '1.0E10', 'NaN', 'Infinity'."""
    text = column.cast(STRING)
    size = pc.abs(column)
    plain = pc.and_(pc.greater_equal(size, pa.scalar(1e-3, column.type)), pc.less(size, pa.scalar(1e7, column.type)))
    text = pc.if_else(pc.match_substring(text, "."), text, pc.binary_join_element_wise(text, ".0", ""))
    rest = pc.invert(pc.coalesce(plain, pa.scalar(True)))
    if not pc.any(rest).as_py():
        return text
    rows = pc.indices_nonzero(rest)
    kind = column.type.to_pandas_dtype()
    odd = by_distinct(column.take(rows).cast(STRING), lambda shortest: _java_float(shortest, kind), STRING)
    return pc.replace_with_mask(text, rest, odd)


def _java_float(shortest: str, kind: type) -> str:
    """Java's form of the shortest digits of a float below 10^-3, at or above 10^7, zero, infinite or NaN."""
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "0": "0.0", "-0": "-0.0"}.get(shortest)
    if special:
        return special
    sign, digits = ("-", shortest[1:]) if shortest[0] == "-" else ("", shortest)
    mantissa, _, exponent = digits.partition("e")
    whole, _, fraction = mantissa.partition(".")
    figures = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + fraction) - len(figures))
    figures = figures.rstrip("0")
    if len(figures) == 1:
        # Java shows at least two figures, and takes them from the number itself: 4.9E-324, not 5E-324.
        return f"{sign}{float(kind(digits)):.1e}".replace("e", "E").replace("+", "").replace("E0", "E").replace("E-0", "E-")
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"


def from_timestamp(column: pa.Array) -> pa.Array:
    """'yyyy-MM-dd HH:mm:ss', with a fraction only if there is one, in UTC; NULL outside the years 1 to 9999, for which
    Arrow has no text."""
    text = _between(column, FIRST, LAST).cast(pa.timestamp("us")).cast(STRING)
    text = pc.replace_substring_regex(text, r"\.0+$", "")
    return pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+$", r"\1")


def _between(column: pa.Array, first: pa.Scalar, last: pa.Scalar) -> pa.Array:
    """NULL in place of values outside the bounds."""
    known = pc.and_(pc.greater_equal(column, first), pc.less_equal(column, last))
    return pc.if_else(known, column, pa.scalar(None, column.type))


def to_text(column: pa.Array) -> pa.Array:
    """STRING of a value of any type."""
    if pa.types.is_floating(column.type):
        return from_float(column)
    if pa.types.is_timestamp(column.type):
        return from_timestamp(column)
    if pa.types.is_date32(column.type):
        return _between(column, FIRST_DAY, LAST_DAY).cast(STRING)
    return column.cast(STRING)
