"""Functions of text: characters are Unicode code points, comparison is by bytes."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import STRING
from mars.algebra.evaluation.function import Function, Value, all_valid, arrays
from mars.algebra.evaluation.to_text import by_distinct
from mars.algebra.grouping import group


def with_constants(compute: Callable) -> Function:
    """A function of a text and constants that Arrow takes as options; NULL if any argument is.

    If the other arguments are columns, it is computed once for each combination of their values.
    """
    def run(arguments: list[Value], type_: str) -> pa.Array:
        column, *others = arguments
        if isinstance(column, pa.Array) and all(isinstance(other, pa.Scalar) for other in others):
            constants = [other.as_py() for other in others]
            return pa.nulls(len(column)) if None in constants else compute(column, *constants)
        return _by_combination(compute, arrays(arguments))
    return Function(run)


def _by_combination(compute: Callable, columns: list[pa.Array]) -> pa.Array:
    column, *others = columns
    if len(column) == 0:
        return pa.nulls(0)
    valid = all_valid(columns)
    groups = group(others, np.zeros(len(column), np.int64))
    rows = np.argsort(groups.ids, kind="stable")
    ends = np.cumsum(np.bincount(groups.ids, minlength=groups.count))
    pieces = []
    for start, end, first in zip([0, *ends[:-1]], ends, groups.first_row, strict=True):
        constants = [other[first].as_py() for other in others]
        part = column.take(pa.array(rows[start:end]))
        pieces.append(pa.nulls(len(part)) if None in constants else compute(part, *constants))
    known = [piece.type for piece in pieces if not pa.types.is_null(piece.type)]
    if not known:
        return pa.nulls(len(column))
    joined = pa.concat_arrays([piece.cast(known[0]) for piece in pieces])
    joined = joined.take(pa.array(np.argsort(rows)))
    return joined if valid is None else pc.if_else(pa.array(valid), joined, pa.scalar(None, joined.type))


def _changed_case(arrow: Callable, python: Callable[[str], str]) -> Function:
    """Arrow maps character by character. If that is not enough ('ß' becomes 'SS'), Python's full mapping is used."""
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        column = arguments[0]
        if pc.all(pc.string_is_ascii(column)).as_py() is not False:
            return arrow(column)
        return by_distinct(column, python, STRING)
    return Function(compute)


def _substring(column: pa.Array, start: int, length: int | None = None) -> pa.Array:
    """From 1, from the end when negative (then maybe from before the first character); 0 counts as 1."""
    begin = start - 1 if start > 0 else start
    if length is None:
        return pc.utf8_slice_codeunits(column, begin)
    end = begin + length
    if length <= 0 or (begin >= 0 and end > 1 << 31):
        return _substring(column, start) if length > 0 else empty(column)
    if begin < 0 <= end:
        return pc.utf8_slice_codeunits(column, begin)
    return pc.utf8_slice_codeunits(column, begin, end)


def empty(column: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), pa.scalar(""), pa.scalar(None, STRING))


def _right(column: pa.Array, length: int) -> pa.Array:
    return pc.utf8_slice_codeunits(column, -length) if length > 0 else empty(column)


def _replace(column: pa.Array, search: str, by: str = "") -> pa.Array:
    return pc.replace_substring(column, search, by) if search else column


def like_pattern(pattern: str) -> str:
    r"""The RE2 pattern of a LIKE pattern: % is any text, _ one character, \ takes the next character as it is."""
    parts, escaped = [], False
    for character in pattern:
        if escaped or character not in "%_\\":
            parts.append(re.escape(character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            parts.append(".*" if character == "%" else ".")
    return r"(?s)\A" + "".join(parts) + (r"\\" if escaped else "") + r"\z"


def _like(column: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(column, like_pattern(pattern))


def _trimmed(arrow: Callable) -> Function:
    """trim(text) or trim(characters, text)."""
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        characters = " "
        if len(arguments) == 2:
            constant = arguments[0]
            characters = (constant if isinstance(constant, pa.Scalar) else constant[0]).as_py()
        return arrow(arguments[-1], characters=characters) if characters else arguments[-1]
    return Function(compute)


def _concat(arguments: list[Value], type_: str) -> pa.Array:
    return pc.binary_join_element_wise(*arguments, "")


FUNCTIONS = {
    "concat": Function(_concat),
    "upper": _changed_case(pc.utf8_upper, str.upper), "lower": _changed_case(pc.utf8_lower, str.lower),
    "length": Function(lambda arguments, type_: pc.utf8_length(arguments[0])),
    "substring": with_constants(_substring),
    "left": with_constants(lambda column, length: _substring(column, 1, length)), "right": with_constants(_right),
    "trim": _trimmed(pc.utf8_trim), "ltrim": _trimmed(pc.utf8_ltrim), "rtrim": _trimmed(pc.utf8_rtrim),
    "replace": with_constants(_replace),
    "starts_with": with_constants(lambda column, text: pc.starts_with(column, pattern=text)),
    "ends_with": with_constants(lambda column, text: pc.ends_with(column, pattern=text)),
    "contains": with_constants(lambda column, text: pc.match_substring(column, pattern=text)),
    "like": with_constants(_like), "rlike": with_constants(pc.match_substring_regex),
}
