"""Fields to Arrow columns, by type. Kernels read the plain case; a library reads the values that they flag, all at once.

Every value has a state: 0 is a value, NULLED is NULL, any other is a reason (index into REASONS). `READS` says which text
gives which value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapper.kernels import numbers, texts, times
from mapper.kernels.numbers import LIBRARY, NULLED, OUT_OF_RANGE
from mapper.parse_dictionary import Dictionary
from mapper.parse_fields import Column, longer
from mars.model.types import decimal_parts, to_arrow

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


class ColumnReader:
    """Reads one column of one type, block by block, to one Arrow array a batch; strings keep their dictionary from batch
    to batch. Call begin, then add for each block, then the methods that give results."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.arrow_type = to_arrow(type_)
        self.dictionary = Dictionary() if type_ == "STRING" else None
        self._width = 2 if decimal_parts(type_) else 1
        self._read = _reader(type_, self.dictionary)
        self.begin(0)

    def begin(self, expected: int) -> None:
        """Starts a batch of about that many tuples. The arrays of the last batch stay as they are."""
        if self.dictionary is not None:
            self.dictionary.trim()
        self._values: np.ndarray = np.empty(expected * self._width, _numpy_type(self.type))
        self._states = np.empty(expected, np.uint8)
        self._count = self._others = 0

    def add(self, column: Column) -> None:
        """Reads a block of tuples."""
        first, end, width = self._count, self._count + len(column), self._width
        if end > len(self._states):
            self._values = longer(self._values, first * width, 2 * end * width)
            self._states = longer(self._states, first, 2 * end)
        self._others += _read_block(self._read, column, self._values[first * width:end * width], self._states[first:end])
        self._count = end

    @property
    def values(self) -> np.ndarray:
        """The values as the kernels write them (two words per decimal); undefined if the state is not 0."""
        return self._values[:self._count * self._width]

    @property
    def states(self) -> np.ndarray | None:
        """The state of each value; None if all could be read."""
        return self._states[:self._count] if self._others else None

    def array(self) -> tuple[pa.Array, np.ndarray | None]:
        """(Arrow column, reason per tuple or None if all could be read)."""
        states = self.states
        if states is None:
            return self._array(self.values, None), None
        reasons = np.where(states == NULLED, 0, states).astype(np.uint8)
        return self._array(self.values, states != 0), reasons if reasons.any() else None

    def _array(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        """Values, NULL where `null` says so, as Arrow."""
        if self.dictionary is not None:
            # Codes come from the dictionary itself, so Arrow need not look at each.
            return pa.DictionaryArray.from_arrays(pa.array(values, mask=null), self.dictionary.arrow(), safe=False)
        if self._width == 2:
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


Read = Callable[[Column, np.ndarray, np.ndarray], int]  # writes values and states, returns how many states are not 0


def _numpy_type(type_: str) -> type:
    """What the kernels write for a type."""
    if decimal_parts(type_):
        return np.uint64
    return {"STRING": np.int32, "BOOLEAN": np.uint8, "DOUBLE": np.float64, "FLOAT": np.float64}.get(type_, np.int64)


def _read_block(read: Read, column: Column, values: np.ndarray, states: np.ndarray) -> int:
    """The values of a block. Fields with escapes are read from their plain text, all together."""
    others = read(column, values, states)
    rows = column.escaped() if others else None
    if rows is not None and len(rows):
        width = len(values) // len(column)
        plain_values, plain_states = np.empty(len(rows) * width, values.dtype), np.empty(len(rows), np.uint8)
        others += read(column.unescape(column.at(rows)), plain_values, plain_states) - len(rows)
        values.reshape(len(column), width)[rows] = plain_values.reshape(len(rows), width)
        states[rows] = plain_states
    return others


def _reader(type_: str, dictionary: Dictionary | None) -> Read:
    """The function that reads a block without escapes."""
    if dictionary is not None:
        return dictionary.encode
    if type_ in INTEGER_RANGES:
        return partial(_run, numbers.read_integers, INTEGER_RANGES[type_])
    if type_ in FLOATS:
        return partial(_floats, type_)
    if parts := decimal_parts(type_):
        limit = 10 ** parts[0]
        words = np.array([limit & (2**64 - 1), limit >> 64], np.uint64)
        return partial(_run, numbers.read_decimals, (*parts, words))
    if type_ == "BOOLEAN":
        return partial(_run, texts.read_booleans, ())
    return partial(_run, times.read_times, (type_ == "DATE",))


def _run(kernel: Callable, arguments: tuple, column: Column, values: np.ndarray, states: np.ndarray) -> int:
    """One kernel over one block."""
    return kernel(column.buffer, column.start, column.length, column.kind, *arguments, values, states)


def _floats(type_: str, column: Column, values: np.ndarray, states: np.ndarray) -> int:
    """Floating point numbers. Arrow reads those that need more than one exact operation."""
    others = _run(numbers.read_doubles, FLOATS[type_], column, values, states)
    if others:
        flagged = np.flatnonzero((states == LIBRARY) & ~np.isin(column.kind, (0, 2)))
        if len(flagged):
            read = pc.cast(pc.ascii_trim(_strings(column.at(flagged)), " \t"), to_arrow(type_)).to_numpy()
            infinite = np.isinf(read)
            values[flagged], states[flagged] = read, np.where(infinite, OUT_OF_RANGE, 0)
            others -= int((~infinite).sum())
    return others


def _strings(column: Column) -> pa.Array:
    """The texts of a column as an Arrow string array (the caller knows that they are ASCII)."""
    ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), column.length]))
    data = np.empty(int(ends[-1]), np.uint8)
    texts.gather(column.buffer, column.start, column.length, data)
    return pa.LargeStringArray.from_buffers(len(column), pa.py_buffer(ends), pa.py_buffer(data))
