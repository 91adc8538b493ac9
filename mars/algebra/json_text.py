"""JSON texts of lists, made column by column: what an aggregate gives that has several values. A value is written as
results have it: DECIMAL, DATE, TIMESTAMP, NaN and infinities as texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluate import call
from mars.algebra.evaluation.arrays import plain

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
CONTROL = [chr(code) for code in range(32) if chr(code) not in ESCAPES]


def values(array: pa.Array, type_: str) -> pa.Array:
    """The JSON text of each value of a dialect type; there is no NULL."""
    array = plain(array)
    if type_ == "STRING":
        return quoted(array)
    texts = _instants(array) if type_ == "TIMESTAMP" else call("cast", [array], "STRING")
    if type_ in ("BOOLEAN", "INT", "BIGINT"):
        return texts
    if type_ in ("FLOAT", "DOUBLE"):
        return pc.if_else(pc.is_finite(array), texts, quoted(texts))
    return pc.fill_null(quoted(texts), "null")  # a year that has no text


def _instants(array: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pc.replace_substring(call("cast", [array], "STRING"), " ", "T"), "Z", "")


def quoted(texts: pa.Array) -> pa.Array:
    """Texts in double quotes, with JSON's escapes."""
    if pc.any(pc.match_substring_regex(texts, "[\\x00-\\x1f\"\\\\]")).as_py():
        for character, escape in ESCAPES.items():
            texts = pc.replace_substring(texts, character, escape)
        for character in CONTROL:
            texts = pc.replace_substring(texts, character, f"\\u{ord(character):04x}")
    return pc.binary_join_element_wise('"', texts, '"', "")


def objects(members: dict[str, pa.Array]) -> pa.Array:
    """One object of each row; a member's values are JSON texts already."""
    parts: list[pa.Array | str] = []
    for number, (name, texts) in enumerate(members.items()):
        parts += [f'{"," if number else "{"}"{name}":', texts]
    return pc.binary_join_element_wise(*parts, "}", "")


def lists(offsets: np.ndarray, texts: pa.Array) -> pa.Array:
    """One array of the texts of each group, those of group i from offsets[i] on; NULL for a group without texts."""
    inside = joined(offsets, texts, ",")
    return pc.binary_join_element_wise("[", inside, "]", "")


def joined(offsets: np.ndarray, texts: pa.Array, separator: str) -> pa.Array:
    """The texts of each group, joined; NULL for a group without texts."""
    held = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), texts)
    return pc.if_else(pa.array(np.diff(offsets) > 0), pc.binary_join(held, separator), pa.scalar(None, pa.string()))


