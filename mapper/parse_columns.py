"""Fields to Arrow columns, by type: kernels read the plain case, and what they flag goes on as one batch.

Every reader gives (values, states): state 0 is a value, NULLED is NULL, any other is a reason (index into REASONS).
What text reads as which value: see `READS`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapper.kernels import numbers, texts, times
from mapper.kernels.numbers import LIBRARY, NULLED, OUT_OF_RANGE
from mapper.parse_dictionary import Dictionary
from mapper.parse_fields import Column
from mars.types import decimal_parts, to_arrow

READS = """
INT, BIGINT     [+-]digits, spaces and tabs around
DOUBLE, FLOAT   [+-]digits[.digits][e[+-]digits], or nan, inf, infinity in any case; correctly rounded; spaces around
DECIMAL(p,s)    as DOUBLE without the words, rounded half up to s digits; spaces around
BOOLEAN         true or false in any case, nothing around
DATE            yyyy[-[m]m[-[d]d]] and, after T or a space, anything; spaces around; years 1 to 9999
TIMESTAMP       as DATE, then [h]h:[m]m[:[s]s[.digits]] and Z, +h, +hh, +hh:mm, +hhmm or nothing (UTC); cut to us
STRING          UTF-8
"""
INTEGER_RANGES = {"INT": (-2**31, 2**31 - 1), "BIGINT": (-2**63, 2**63 - 1)}
FLOATS = {"DOUBLE": (53, 22), "FLOAT": (24, 10)}

Values = tuple[np.ndarray, np.ndarray, int]  # values, states, how many states are not 0


class ColumnReader:
    """Reads one column of one type; strings keep their dictionary from batch to batch."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.arrow_type = to_arrow(type_)
        self.dictionary = Dictionary() if type_ == "STRING" else None

    def read(self, column: Column) -> tuple[pa.Array, np.ndarray | None]:
        """(Arrow column, reason per tuple or None if all read)."""
        if self.dictionary is not None:
            self.dictionary.trim()
        return self.array(read_values(self.type, column, self.dictionary))

    def array(self, read: Values) -> tuple[pa.Array, np.ndarray | None]:
        """The same of values that are read already; they are not changed."""
        values, state, others = read
        if not others:
            return self._array(values, None), None
        null = state != 0
        reasons = np.where(state == NULLED, 0, state).astype(np.uint8)
        return self._array(values, null), reasons if reasons.any() else None

    def _array(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        """Values, NULL where `null` says so, as Arrow."""
        if self.dictionary is not None:
            return pa.DictionaryArray.from_arrays(pa.array(values, mask=null), self.dictionary.arrow())
        if decimal_parts(self.type):
            valid = None if null is None else pa.array(~null).buffers()[1]
            return pa.Array.from_buffers(self.arrow_type, len(values) // 2, [valid, pa.py_buffer(values)])
        if self.type == "BOOLEAN":
            values = values.view(np.bool_)
        elif self.type in ("INT", "DATE"):
            values = values.astype(np.int32)
        elif self.type == "FLOAT":
            values = values.astype(np.float32)
        array = pa.array(values, mask=null)
        return array if array.type == self.arrow_type else array.view(self.arrow_type)


def read_values(type_: str, column: Column, dictionary: Dictionary | None = None) -> Values:
    """The values of a column; fields with escapes are read from their plain text, as one batch."""
    reader = _reader(type_, dictionary)
    values, state, others = reader(column)
    rows = column.escaped() if others else ()
    if len(rows):
        plain_values, plain_state, plain_others = reader(column.unescape(column.at(rows)))
        width = len(values) // max(len(column), 1)
        values.reshape(len(column), width)[rows] = plain_values.reshape(len(rows), width)
        state[rows] = plain_state
        others += plain_others - len(rows)
    return values, state, others


def _reader(type_: str, dictionary: Dictionary | None) -> Callable[[Column], Values]:
    """The function that reads a column without escapes."""
    if dictionary is not None:
        return dictionary.encode
    if type_ in INTEGER_RANGES:
        return lambda column: _run(numbers.read_integers, column, np.int64, *INTEGER_RANGES[type_])
    if type_ in FLOATS:
        return lambda column: _floats(type_, column)
    if parts := decimal_parts(type_):
        limit = 10 ** parts[0]
        words = np.array([limit & (2**64 - 1), limit >> 64], np.uint64)
        return lambda column: _run(numbers.read_decimals, column, np.uint64, *parts, words, width=2)
    if type_ == "BOOLEAN":
        return lambda column: _run(texts.read_booleans, column, np.uint8)
    return lambda column: _run(times.read_times, column, np.int64, type_ == "DATE")


def _run(kernel: Callable, column: Column, dtype: type, *arguments, width: int = 1) -> Values:
    """One kernel over one column."""
    values, state = np.empty(width * len(column), dtype), np.empty(len(column), np.uint8)
    others = kernel(column.buffer, column.start, column.length, column.kind, *arguments, values, state)
    return values, state, others


def _floats(type_: str, column: Column) -> Values:
    """Floating point numbers; those that need more than one exact operation are read by Arrow."""
    values, state, others = _run(numbers.read_doubles, column, np.float64, *FLOATS[type_])
    if others:
        flagged = np.flatnonzero((state == LIBRARY) & ~np.isin(column.kind, (0, 2)))
        if len(flagged):
            read = pc.cast(pc.ascii_trim(_strings(column.at(flagged)), " \t"), to_arrow(type_)).to_numpy()
            infinite = np.isinf(read)
            values[flagged], state[flagged] = read, np.where(infinite, OUT_OF_RANGE, 0)
            others -= int((~infinite).sum())
    return values, state, others


def _strings(column: Column) -> pa.Array:
    """The texts of a column as an Arrow string array (the caller knows that they are ASCII)."""
    ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), column.length]))
    data = np.empty(int(ends[-1]), np.uint8)
    texts.gather(column.buffer, column.start, column.length, data)
    return pa.LargeStringArray.from_buffers(len(column), pa.py_buffer(ends), pa.py_buffer(data))
