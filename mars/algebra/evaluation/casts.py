"""CAST between all types, and constants. What does not fit is NULL, except that integers are cut to their low bits and
floats saturate on their way to integers, as in Java."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation import decimals, from_text
from mars.algebra.evaluation.arrays import masked, numbers, valid_mask
from mars.algebra.evaluation.function import Function, Value
from mars.algebra.evaluation.mathematics import to_long
from mars.algebra.evaluation.to_text import to_text
from mars.model import types
from mars.model.expressions import Constant

INT64, DOUBLE, INSTANT = pa.int64(), pa.float64(), pa.timestamp("us", "UTC")
SECOND = 1_000_000
DAY = 86_400 * SECOND


def literal(value: Constant, type_: str) -> pa.Scalar:
    """The constant of a Literal: DECIMAL, DATE and TIMESTAMP are read from their text."""
    arrow = types.to_arrow(type_)
    if value is None or type_ == "STRING":
        return pa.scalar(value, arrow)
    if isinstance(value, str) and types.decimal_parts(type_):
        return pa.scalar(Decimal(value), arrow)
    if isinstance(value, str) and type_ == "DATE":
        return from_text.to_date(pa.array([value]))[0]
    if isinstance(value, str) and type_ == "TIMESTAMP":
        return from_text.to_timestamp(pa.array([value]))[0]
    return pa.scalar(float(value) if type_ in ("FLOAT", "DOUBLE") else value, arrow)


def cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """The column in another type."""
    if column.type == type_:
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), type_)
    if pa.types.is_string(type_):
        return to_text(column)
    if pa.types.is_string(column.type):
        return _from_text(column, type_)
    if pa.types.is_date32(type_) or pa.types.is_date32(column.type):
        return _with_dates(column, type_)
    if pa.types.is_timestamp(type_):
        return _to_timestamp(column)
    if pa.types.is_timestamp(column.type):
        return _from_timestamp(column, type_)
    return _between_numbers(column, type_)


def _from_text(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(type_):
        return from_text.to_boolean(column)
    if pa.types.is_date32(type_):
        return from_text.to_date(column)
    if pa.types.is_timestamp(type_):
        return from_text.to_timestamp(column)
    if pa.types.is_decimal(type_):
        return from_text.to_decimal(column, type_)
    if pa.types.is_floating(type_):
        return from_text.to_float(column, type_)
    return from_text.to_integer(column, type_)


def _with_dates(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """TIMESTAMP to its day, DATE to its midnight, NULL if no TIMESTAMP is that early. A date is not a number, so
    everything else is NULL."""
    if pa.types.is_timestamp(column.type):
        days = numbers(column) // DAY
        return masked(days.astype(np.int32), valid_mask(column), pa.int32()).cast(type_)
    if not pa.types.is_timestamp(type_):
        return pa.nulls(len(column), type_)
    days, valid = numbers(column).astype(np.int64), valid_mask(column)
    known = np.abs(days) <= np.iinfo(np.int64).max // DAY
    return masked(days * DAY, known if valid is None else known & valid, INT64).cast(INSTANT)


def _to_timestamp(column: pa.Array) -> pa.Array:
    """Numbers are seconds since the epoch, saturating; NaN and the infinities are NULL; true is one microsecond."""
    valid = valid_mask(column)
    if pa.types.is_decimal(column.type):
        micros = decimals.unscaled(column) * SECOND
        unit = 10 ** column.type.scale
        values = np.where(micros < 0, -(-micros // unit), micros // unit)
        values = (values & decimals.WORD).astype(np.uint64).view(np.int64)
    elif pa.types.is_floating(column.type):
        finite = np.isfinite(numbers(column))
        valid = finite if valid is None else finite & valid
        with np.errstate(all="ignore"):
            values = to_long(numbers(column).astype(np.float64) * SECOND)
    elif pa.types.is_boolean(column.type):
        values = numbers(column).astype(np.int64)
    else:
        limit = np.iinfo(np.int64).max // SECOND
        seconds = numbers(column).astype(np.int64)
        values = np.where(seconds > limit, np.iinfo(np.int64).max,
                          np.where(seconds < -limit, np.iinfo(np.int64).min, seconds * SECOND))
    return masked(values, valid, INT64).cast(INSTANT)


def _from_timestamp(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Seconds since the epoch: whole ones for integers (NULL beyond INT), with their fraction for the others."""
    valid, micros = valid_mask(column), numbers(column)
    if pa.types.is_boolean(type_):
        return pa.array(micros != 0, mask=None if valid is None else ~valid)
    if pa.types.is_integer(type_):
        seconds = micros // SECOND
        limit = 1 << (type_.bit_width - 1)
        fits = (seconds >= -limit) & (seconds <= limit - 1)
        return masked(seconds, fits if valid is None else fits & valid, INT64).cast(type_)
    if pa.types.is_decimal(type_):
        return decimals.convert(decimals.from_unscaled(micros.astype(object), valid, pa.decimal128(38, 6)), type_)
    return cast(masked(micros / SECOND, valid, DOUBLE), type_)


def _between_numbers(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(type_):
        return pc.not_equal(column, pa.scalar(0, column.type))
    if pa.types.is_boolean(column.type):
        return cast(column.cast(pa.int32()), type_)
    if pa.types.is_decimal(column.type):
        return _from_decimal(column, type_)
    if pa.types.is_decimal(type_):
        return _to_decimal(column, type_)
    if pa.types.is_floating(column.type) and pa.types.is_integer(type_):
        return _float_to_integer(column, type_)
    return column.cast(type_, safe=False)


def _float_to_integer(column: pa.Array, type_: pa.DataType) -> pa.Array:
    values = to_long(numbers(column).astype(np.float64))
    if type_ == pa.int32():
        values = np.clip(values, -(1 << 31), (1 << 31) - 1)
    return masked(values, valid_mask(column), INT64).cast(type_)


def _from_decimal(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type_):
        return decimals.convert(column, type_)
    if pa.types.is_floating(type_):
        # Through text, because that is rounded correctly.
        return column.cast(pa.string()).cast(type_)
    values = decimals.unscaled(column)
    size = np.abs(values) // 10 ** column.type.scale
    low = (np.where(values < 0, -size, size) & decimals.WORD).astype(np.uint64).view(np.int64)
    return masked(low, valid_mask(column), INT64).cast(type_, safe=False)


def _to_decimal(column: pa.Array, type_: pa.Decimal128Type) -> pa.Array:
    if pa.types.is_floating(column.type):
        # Spark takes the decimal digits that a DOUBLE prints.
        return from_text.to_decimal(column.cast(DOUBLE).cast(pa.string()), type_)
    return decimals.from_unscaled(numbers(column).astype(object) * 10 ** type_.scale, valid_mask(column), type_)


def _cast(arguments: list[Value], type_: str) -> pa.Array:
    return cast(arguments[0], types.to_arrow(type_))


FUNCTIONS = {"cast": Function(_cast)}
