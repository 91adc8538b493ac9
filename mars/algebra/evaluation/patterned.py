"""Times written and read by a pattern (mars/algebra/datetime_patterns.py), in UTC. A time outside the years 1 to 9999 is
written as NULL, and a text that does not fit the pattern to its end is read as NULL."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import datetime_patterns
from mars.algebra.datetime_patterns import Part
from mars.algebra.evaluation.arrays import STRING, masked, numbers, valid_mask
from mars.algebra.evaluation.calendar import civil, days_of, is_leap, month_length
from mars.algebra.evaluation.function import Function, Value

SECOND, DAY = 1_000_000, 86_400_000_000
INSTANT = pa.timestamp("us", "UTC")
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def date_format(times: pa.Array, pattern: str) -> pa.Array:
    """Each TIMESTAMP by the pattern."""
    micros, valid = numbers(times), valid_mask(times)
    days = micros // DAY
    year, month, day = civil(days)
    known = (year >= 1) & (year <= 9999)
    known = known if valid is None else known & valid
    second = (micros - days * DAY) // SECOND
    fields = {"y": year, "M": month, "d": day, "D": days - days_of(year, np.ones_like(month), np.ones_like(month)) + 1,
              "H": second // 3600, "h": (second // 3600 + 11) % 12 + 1, "m": second // 60 % 60, "s": second % 60,
              "S": micros % SECOND, "a": second // 43_200, "E": (days + 3) % 7}
    texts = [pa.scalar(part.text) if not part.letter else _written(part, fields[part.letter])
             for part in datetime_patterns.written(pattern)]
    joined = pc.binary_join_element_wise(pa.repeat("", len(times)), *texts, "")
    return pc.if_else(pa.array(known), joined, pa.scalar(None, STRING))


def _written(part: Part, values: np.ndarray) -> pa.Array:
    names = {"a": ["AM", "PM"], "E": WEEKDAYS, "M": MONTHS}.get(part.letter, [])
    if names and not part.is_number:
        short = part.letter != "a" and part.count < 4
        first = 1 if part.letter == "M" else 0
        return pa.array([name[:3] if short else name for name in names]).take(pa.array(values - first))
    if part.letter == "S":
        digits = pc.utf8_lpad(pa.array(values).cast(STRING), 6, "0")
        return pc.utf8_slice_codeunits(pc.utf8_rpad(digits, 9, "0"), 0, part.count)
    if part.letter == "y" and part.count == 2:
        values = values % 100
    return pc.utf8_lpad(pa.array(values).cast(STRING), part.count, "0")


def to_timestamp(texts: pa.Array, pattern: str) -> pa.Array:
    """Each text as a TIMESTAMP; a field that the pattern lacks is that of 1970-01-01 00:00."""
    parts = datetime_patterns.read(pattern)
    shape = "".join(f"(?P<{part.letter}>{_shape(part)})" if part.letter else re.escape(part.text) for part in parts)
    # A group without a name of the pattern keeps Arrow from refusing a pattern without fields.
    found = pc.extract_regex(texts, rf"(?si)\A(?P<all>{shape})\z")
    fields = {part.letter: _field(part, pc.struct_field(found, part.letter)) for part in parts if part.letter}
    ones, zeros = np.ones(len(texts), np.int64), np.zeros(len(texts), np.int64)
    year, month, day = fields.get("y", ones * 1970), fields.get("M", ones), fields.get("d", ones)
    valid = (year >= 1) & (month >= 1) & (month <= 12)
    month = np.where(valid, month, 1)
    valid &= (day >= 1) & (day <= month_length(year, month))
    days = days_of(year, month, day)
    if "D" in fields:
        days += fields["D"] - 1
        valid &= (fields["D"] >= 1) & (fields["D"] <= 365 + is_leap(year))
    hour, minute, second = fields.get("H", zeros), fields.get("m", zeros), fields.get("s", zeros)
    valid &= (hour <= 23) & (minute <= 59) & (second <= 59)
    if "h" in fields:
        valid &= (fields["h"] >= 1) & (fields["h"] <= 12)
        hour = fields["h"] % 12 + fields["a"]
    micros = ((days * 24 + hour) * 60 + minute) * 60 + second
    valid &= found.is_valid().to_numpy(zero_copy_only=False)
    return masked(micros * SECOND + fields.get("S", zeros), valid, pa.int64()).cast(INSTANT)


def _shape(part: Part) -> str:
    """The regular expression of a field. A year has at most four digits behind its zeros, other numbers two or three."""
    count = part.count
    if part.letter == "a":
        return "AM|PM"
    if part.letter == "S":
        return f"[0-9]{{1,{count}}}"
    if not part.is_number:
        return "|".join(name[:3] if count == 3 else name for name in MONTHS)
    if part.letter == "y" and count != 2:
        return "0{0,15}[0-9]{1,4}" if count == 1 else "0{0,15}[0-9]{3,4}" if count == 3 else "0" * (count - 4) + "[0-9]{4}"
    most = 3 if part.letter == "D" else 2
    return f"0{{0,16}}[0-9]{{1,{most}}}" if count == 1 else f"[0-9]{{{count},{most}}}"


def _field(part: Part, texts: pa.Array) -> np.ndarray:
    """int64[n] of a field's texts: microseconds of a fraction, 12 of PM, 0 where the text is NULL."""
    if part.letter == "a":
        return np.where(_index(texts, ["am", "pm"]) == 1, 12, 0)
    if not part.is_number:
        return _index(texts, [(name[:3] if part.count == 3 else name).lower() for name in MONTHS]) + 1
    if part.letter == "S":
        texts = pc.utf8_slice_codeunits(pc.utf8_rpad(texts, 9, "0"), 0, 6)
    values = texts.cast(pa.int64()).fill_null(0).to_numpy()
    return values + 2000 if part.letter == "y" and part.count == 2 else values


def _index(texts: pa.Array, names: list[str]) -> np.ndarray:
    return pc.index_in(pc.utf8_lower(texts), pa.array(names)).fill_null(0).to_numpy().astype(np.int64)


def _date_format(arguments: list[Value], type_: str) -> pa.Array:
    return date_format(arguments[0], arguments[1].as_py())


def _to_timestamp(arguments: list[Value], type_: str) -> pa.Array:
    return to_timestamp(arguments[0], arguments[1].as_py())


FUNCTIONS = {"date_format": Function(_date_format, setting=1), "to_timestamp": Function(_to_timestamp, setting=1)}
