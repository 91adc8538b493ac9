"""Text as values, read as Spark SQL's cast reads it: spaces and control characters around it are ignored, and an invalid
text is NULL."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation import decimals
from mars.algebra.evaluation.arrays import STRING
from mars.algebra.evaluation.to_text import by_distinct

BLANKS = "".join(map(chr, range(33))) + "\x7f"
INTEGER = r"^(?P<sign>[+-]?)0*(?P<digits>[0-9]*)(?:\.[0-9]*)?$"
FLOAT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
DECIMAL = r"^[+-]?([0-9]{1,38}\.?|[0-9]{0,30}\.[0-9]{1,38})$"
LONG_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
SPECIAL_FLOATS = r"(?i)^([+-]?(inf|infinity)|nan)$"
DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?$", re.DOTALL | re.ASCII)
TIME = re.compile(r"(?:(?P<date>[+-]?\d{4,6}(?:-\d{1,2}(?:-\d{1,2})?)?)(?:[ T]|$))?"
                  r"(?:T?(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?"
                  r"\s*(?P<zone>.*))?$", re.DOTALL | re.ASCII)
OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{2}))?$", re.ASCII)
OFFSET_MAX = timedelta(hours=18)
# Zone names that depend on the machine's own files, and names that Java does not have.
NO_ZONES = frozenset({"localtime", "posixrules", "Factory", "ROC"})
TRUE, FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def trimmed(column: pa.Array) -> pa.Array:
    """The text without spaces and control characters at both ends."""
    return pc.utf8_trim(column, characters=BLANKS)


def _only(column: pa.Array, pattern: str) -> pa.Array:
    """The texts that match, NULL for the others."""
    return pc.if_else(pc.match_substring_regex(column, pattern), column, pa.scalar(None, STRING))


def to_boolean(column: pa.Array) -> pa.Array:
    """t, true, y, yes, 1 and their opposites, in any case."""
    word = pc.utf8_lower(trimmed(column))
    known = pc.is_in(word, value_set=pa.array(TRUE + FALSE))
    return pc.if_else(known, pc.is_in(word, value_set=pa.array(TRUE)), pa.scalar(None, pa.bool_()))


def to_integer(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """INT or BIGINT: a sign and digits; a fraction is cut off; no exponent."""
    parts = pc.extract_regex(trimmed(column), INTEGER)
    sign, digits = pc.struct_field(parts, "sign"), pc.struct_field(parts, "digits")
    digits = pc.if_else(pc.less_equal(pc.utf8_length(digits), 19), digits, pa.scalar(None, STRING))
    # A sign alone and the empty text are not numbers; '.' is 0 in Spark. Leading zeros were removed before.
    some_digit = pc.match_substring_regex(column, "[0-9.]")
    signed = pc.binary_join_element_wise(pc.replace_substring(sign, "+", ""), "0", digits, "")
    values = pc.if_else(some_digit, signed, pa.scalar(None, STRING)).cast(pa.decimal128(38, 0))
    bits = type_.bit_width - 1
    fits = pc.and_(pc.greater_equal(values, pa.scalar(-(1 << bits), pa.int64()).cast(values.type)),
                   pc.less_equal(values, pa.scalar((1 << bits) - 1, pa.int64()).cast(values.type)))
    return pc.if_else(fits, values, pa.scalar(None, values.type)).cast(type_)


def to_float(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """FLOAT or DOUBLE: digits, fraction, exponent, a Java suffix d or f, NaN, Infinity, Inf."""
    text = trimmed(column)
    special = pc.match_substring_regex(text, SPECIAL_FLOATS)
    number = pc.replace_substring_regex(text, r"^(.*[0-9.])[dDfF]$", r"\1")
    plain = _only(number, FLOAT)
    return pc.if_else(special, pc.replace_substring(_only(text, SPECIAL_FLOATS), "+", ""), plain).cast(type_)


def to_decimal(column: pa.Array, type_: pa.Decimal128Type) -> pa.Array:
    """DECIMAL: digits, fraction, exponent, rounded half up; NULL when it does not fit."""
    text = trimmed(column)
    plain = decimals.convert(_only(text, DECIMAL).cast(pa.decimal256(76, 38)), type_)
    rest = pc.and_(plain.is_null(), text.is_valid())
    if not pc.any(rest).as_py():
        return plain
    rows = pc.indices_nonzero(rest)
    odd = by_distinct(text.take(rows), lambda t: decimals.quantized(t, type_) if LONG_DECIMAL.match(t) else None, type_)
    return pc.replace_with_mask(plain, rest, odd)


def to_date(column: pa.Array) -> pa.Array:
    """DATE: yyyy, yyyy-M, yyyy-M-d, and anything after a space or T."""
    return by_distinct(trimmed(column), _date, pa.date32())


def to_timestamp(column: pa.Array) -> pa.Array:
    """TIMESTAMP: a date, a time after a space or T, fraction, offset or zone; UTC if none is given."""
    return by_distinct(trimmed(column), _timestamp, pa.timestamp("us", "UTC"))


def _date(text: str) -> date | None:
    match = DATE.match(text)
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1)) if match else None
    except ValueError:
        return None


def _timestamp(text: str) -> datetime | None:
    match = TIME.match(text)
    if not match or not match["date"]:
        return None
    day = _date(match["date"])
    if day is None:
        return None
    fraction = (match["fraction"] or "")[:6].ljust(6, "0")
    try:
        instant = datetime(day.year, day.month, day.day, int(match["hour"] or 0), int(match["minute"] or 0),
                           int(match["second"] or 0), int(fraction), _zone((match["zone"] or "").strip(BLANKS)))
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@cache
def _regions() -> frozenset[str]:
    return frozenset(available_timezones()) - NO_ZONES


def _zone(text: str) -> timezone | ZoneInfo:
    """Z, an offset like +1:30 or GMT+1 of up to 18 hours, or the name of a region; ValueError for anything else."""
    if text in ("", "Z", "UTC", "GMT", "UT"):
        return UTC
    match = OFFSET.match(text)
    if match:
        hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
        size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if size <= OFFSET_MAX and minutes <= 59 and seconds <= 59:
            return timezone(-size if match[1] == "-" else size)
    elif text in _regions():
        return ZoneInfo(text)
    raise ValueError(text)
