"""MurmurHash3 (Appleby, x64, 128 bits) as Apache DataSketches uses it: with seed 9001, of numbers as their eight bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import canonical_bits, is_coded, numbers, read_only
from mars.kernel_cache import kernel

SEED = np.uint64(9001)
C1, C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)


def hashes(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The two words of the hash of each value, uint64[n]; undefined at a NULL. Integers, dates, times and truth values are
    hashed as int64, floats as a double with one NaN and without -0, text as UTF-8, decimals as their text."""
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.string())
    if is_coded(values):
        codes = values.indices.fill_null(0).to_numpy()
        high, low = hashes(values.dictionary)
        return (high[codes], low[codes]) if len(high) else (np.zeros(len(values), np.uint64),) * 2
    if pa.types.is_string(values.type):
        if len(values) == 0:
            return (np.zeros(0, np.uint64),) * 2
        _, offsets, data = values.buffers()
        ends = np.frombuffer(offsets, np.int32)[values.offset:values.offset + len(values) + 1]
        return hash_texts(read_only(np.frombuffer(data or b"", np.uint8)), read_only(ends))
    floating = pa.types.is_floating(values.type)
    return hash_words(canonical_bits(numbers(values)) if floating else numbers(values).astype(np.int64))


@kernel
def rotated(word: np.uint64, bits: int) -> np.uint64:
    """The word, rotated left."""
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@kernel
def mixed(word: np.uint64) -> np.uint64:
    """The finalizer of each word."""
    word = (word ^ (word >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    word = (word ^ (word >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return word ^ (word >> np.uint64(33))


@kernel
def ended(first: np.uint64, second: np.uint64, length: int) -> tuple[np.uint64, np.uint64]:
    """The hash of the state after the last bytes."""
    first, second = first ^ np.uint64(length), second ^ np.uint64(length)
    first = first + second
    second = second + first
    first, second = mixed(first), mixed(second)
    first = first + second
    return first, second + first


@kernel
def hash_words(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of int64[n], each as eight bytes."""
    high, low = np.empty(len(values), np.uint64), np.empty(len(values), np.uint64)
    for row in range(len(values)):
        first = SEED ^ (rotated(np.uint64(values[row]) * C1, 31) * C2)
        high[row], low[row] = ended(first, SEED, 8)
    return high, low


@kernel
def word_at(data: np.ndarray, start: int, end: int) -> np.uint64:
    """Up to eight bytes as a word, the first one least."""
    word = np.uint64(0)
    for at in range(min(end, start + 8) - 1, start - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(data[at])
    return word


@kernel
def hash_texts(data: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of data[ends[i]:ends[i + 1]] for each i."""
    high, low = np.empty(len(ends) - 1, np.uint64), np.empty(len(ends) - 1, np.uint64)
    for row in range(len(high)):
        first, second, at, end = SEED, SEED, ends[row], ends[row + 1]
        while at + 16 <= end:
            first ^= rotated(word_at(data, at, end) * C1, 31) * C2
            first = (rotated(first, 27) + second) * np.uint64(5) + np.uint64(0x52DCE729)
            second ^= rotated(word_at(data, at + 8, end) * C2, 33) * C1
            second = (rotated(second, 31) + first) * np.uint64(5) + np.uint64(0x38495AB5)
            at += 16
        if at + 8 < end:
            second ^= rotated(word_at(data, at + 8, end) * C2, 33) * C1
        if at < end:
            first ^= rotated(word_at(data, at, min(end, at + 8)) * C1, 31) * C2
        high[row], low[row] = ended(first, second, end - ends[row])
    return high, low


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    hashes(pa.array([1]))
    hash_words(numbers(pa.array([1])))
    hashes(pa.array(["a"]))
