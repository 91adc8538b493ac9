"""A hash of key values that is the same in every process, on every machine, for the life of a stream.

Version 1. Strings: FNV-1a over their UTF-8 bytes; integers, dates, timestamps and booleans: their value as int64; floats:
the bits of the double with one NaN and -0 = 0; decimals: both 64-bit limbs in turn; NULL: a constant. Columns are joined
with the finalizer of splitmix64 (Steele, Lea, Flood 2014). A change here moves keys to other key parts, so a query keeps
the version that it was created with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import canonical_bits, coded, codes_of, is_coded, limbs, numbers, read_only, valid_mask
from mars.kernel_cache import kernel

VERSION = 1
NULL_HASH = np.uint64(0x6E756C6C)
SEED = np.uint64(0x4D617273)


def part_of(key_columns: Sequence[pa.Array], parts: int, length: int) -> np.ndarray:
    """The key part of each row, int64[length] in [0, parts): hash(keys) mod parts. Without keys all are in part 0."""
    if not key_columns or parts == 1:
        return np.zeros(length, np.int64)
    return (hash_rows(key_columns, length) % np.uint64(parts)).astype(np.int64)


def hash_rows(key_columns: Sequence[pa.Array], length: int) -> np.ndarray:
    """uint64[length], equal for rows whose keys group together; a string is hashed once per dictionary value."""
    combined = np.full(length, SEED, np.uint64)
    for column in key_columns:
        valid = valid_mask(column)
        for words in _column_words(column):
            mix(combined, read_only(words if valid is None else np.where(valid, words, NULL_HASH)))
    return combined


def _column_words(column: pa.Array) -> list[np.ndarray]:
    if is_coded(column) or pa.types.is_string(column.type):
        column = coded(column)
        hashes = hash_strings(column.dictionary)
        codes = codes_of(column)
        return [hashes[codes] if len(hashes) else np.zeros(len(column), np.uint64)]
    if pa.types.is_decimal(column.type):
        return [np.ascontiguousarray(words).view(np.uint64) for words in limbs(column).T]
    if pa.types.is_floating(column.type):
        return [canonical_bits(numbers(column)).view(np.uint64)]
    return [numbers(column).astype(np.int64).view(np.uint64)]


@kernel
def mix(combined: np.ndarray, words: np.ndarray) -> None:
    """Joins one more word to each row's hash, in place (both uint64[n])."""
    for row in range(len(combined)):
        word = (combined[row] ^ words[row]) + np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        combined[row] = word ^ (word >> np.uint64(31))


def hash_strings(strings: pa.Array) -> np.ndarray:
    """FNV-1a of each string's bytes, uint64[n]; a NULL hashes as the empty string."""
    if len(strings) == 0:
        return np.zeros(0, np.uint64)
    _, offsets, data = strings.buffers()
    ends = np.frombuffer(offsets, np.int32)[strings.offset:strings.offset + len(strings) + 1]
    return fnv1a(read_only(np.frombuffer(data or b"", np.uint8)), read_only(ends))


@kernel
def fnv1a(data: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """64-bit FNV-1a of data[ends[i]:ends[i + 1]] for each i."""
    hashes = np.empty(len(ends) - 1, np.uint64)
    for i in range(len(hashes)):
        word = np.uint64(0xCBF29CE484222325)
        for at in range(ends[i], ends[i + 1]):
            word = (word ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        hashes[i] = word
    return hashes


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    hash_rows([pa.array(["a"])], 1)
