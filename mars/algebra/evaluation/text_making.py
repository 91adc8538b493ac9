"""Texts made of texts: padded, joined, turned, spelled otherwise, and their digests. What Arrow cannot do by itself is
done once for each distinct text."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import STRING
from mars.algebra.evaluation.function import Function, Value, arrays
from mars.algebra.evaluation.text import empty, with_constants
from mars.algebra.evaluation.to_text import by_distinct

SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _concat_ws(arguments: list[Value], type_: str) -> pa.Array:
    """NULLs are left out; NULL only for a separator that is NULL."""
    separator, first, *others = arrays(arguments)
    # Arrow loses a row of NULLs alone.
    texts = [pc.coalesce(first, pc.if_else(pc.is_null(pc.coalesce(first, *others)), "", first)), *others]
    return pc.binary_join_element_wise(*texts, separator, null_handling="skip")


def _padded(at_start: bool) -> Function:
    def compute(column: pa.Array, length: int, pad: str = " ") -> pa.Array:
        if length <= 0:
            return empty(column)
        cut = pc.utf8_slice_codeunits(column, 0, length)
        missing = np.maximum(length - pc.utf8_length(cut).fill_null(length).to_numpy(), 0)
        if not pad or not missing.any():
            return cut
        lengths, rows = np.unique(missing, return_inverse=True)
        pads = pa.array([(pad * (int(size) // len(pad) + 1))[:int(size)] for size in lengths]).take(pa.array(rows))
        return pc.binary_join_element_wise(*((pads, cut) if at_start else (cut, pads)), "")
    return with_constants(compute)


def _repeat(column: pa.Array, times: int) -> pa.Array:
    return pc.binary_repeat(column, max(times, 0))


def _initcap(arguments: list[Value], type_: str) -> pa.Array:
    return by_distinct(arguments[0], lambda text: " ".join(w[:1].title() + w[1:] for w in text.lower().split(" ")), STRING)


def _translate(column: pa.Array, letters: str, by: str) -> pa.Array:
    """Each of the letters by the one in its place, or by nothing; of equal letters the first counts."""
    table: dict[int, str | None] = {}
    for place, letter in enumerate(letters):
        table.setdefault(ord(letter), by[place] if place < len(by) else None)
    return by_distinct(column, lambda text: text.translate(table), STRING)


def _digest(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


def _digested(name: str) -> Function:
    return Function(lambda arguments, type_: by_distinct(arguments[0], _digest(name), STRING))


def _sha2(column: pa.Array, bits: int) -> pa.Array:
    return by_distinct(column, _digest(SHA2[bits]), STRING) if bits in SHA2 else pa.nulls(len(column), STRING)


def _crc32(arguments: list[Value], type_: str) -> pa.Array:
    return by_distinct(arguments[0], lambda text: zlib.crc32(text.encode()), pa.int64())


FUNCTIONS = {
    "concat_ws": Function(_concat_ws, by_value=False), "lpad": _padded(True), "rpad": _padded(False),
    "repeat": with_constants(_repeat), "initcap": Function(_initcap), "translate": with_constants(_translate),
    "reverse": Function(lambda arguments, type_: pc.utf8_reverse(arguments[0])),
    "md5": _digested("md5"), "sha1": _digested("sha1"), "sha2": with_constants(_sha2), "crc32": Function(_crc32),
}
