"""Places and parts of texts: regular expressions (RE2's), separators, and where a text is in another, in characters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import regular_expressions
from mars.algebra.evaluation.arrays import masked, valid_mask
from mars.algebra.evaluation.function import Function, Value
from mars.algebra.evaluation.text import empty, with_constants


def _regexp_extract(column: pa.Array, pattern: str, group: int = 1) -> pa.Array:
    """A group of the first match; '' if nothing matches, or the group takes no part in it."""
    found = pc.struct_field(pc.extract_regex(column, regular_expressions.with_one_group(pattern, group)), "g")
    return pc.if_else(column.is_valid(), pc.fill_null(found, ""), pa.scalar(None, column.type))


def _regexp_replace(column: pa.Array, pattern: str, by: str) -> pa.Array:
    return pc.replace_substring_regex(column, pattern, regular_expressions.replacement(by))


def _split_part(column: pa.Array, separator: str, number: int) -> pa.Array:
    """The part of a number counted from 1, or from the end if it is negative; '' where there is none."""
    if not separator:
        return column if number in (1, -1) else empty(column)
    parts = pc.split_pattern(column, pattern=separator)
    offsets, counts = _lists(parts)
    place = number - 1 if number > 0 else counts + number
    held = (place >= 0) & (place < counts) & (number != 0)
    texts = parts.values.take(pa.array(np.where(held, offsets + place, 0))) if len(parts.values) else empty(column)
    return pc.if_else(column.is_valid(), pc.if_else(pa.array(held), texts, ""), pa.scalar(None, column.type))


def _lists(parts: pa.ListArray) -> tuple[np.ndarray, np.ndarray]:
    """(first, number) of the values of each list; a NULL has none."""
    offsets = parts.offsets.to_numpy().astype(np.int64)
    return offsets[:-1], np.diff(offsets)


def _locate(column: pa.Array, search: str, start: int = 1) -> pa.Array:
    """Where `search` is first found at `start` or later, counted from 1; 0 if it is not."""
    if not search or start < 1:
        return pc.if_else(column.is_valid(), pa.scalar(int(start >= 1), pa.int32()), pa.scalar(None, pa.int32()))
    rest = pc.utf8_slice_codeunits(column, start - 1) if start > 1 else column
    parts = pc.split_pattern(rest, pattern=search, max_splits=1)
    offsets, counts = _lists(parts)
    found = counts > 1
    before = parts.values.take(pa.array(np.where(found, offsets, 0))) if len(parts.values) else empty(rest)
    places = pc.utf8_length(before).fill_null(0).to_numpy() + start
    return masked(np.where(found, places, 0), valid_mask(column), pa.int32())


def _turned(arguments: list[Value], type_: str) -> pa.Array:
    """locate(search, text, start) has the text in the second place."""
    return with_constants(_locate).compute([arguments[1], arguments[0], *arguments[2:]], type_)


FUNCTIONS = {
    "regexp_extract": with_constants(_regexp_extract), "regexp_replace": with_constants(_regexp_replace),
    "split_part": with_constants(_split_part), "instr": with_constants(_locate), "locate": Function(_turned),
}
