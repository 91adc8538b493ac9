"""Rows in the order of small numbers, and the first row of each different one, without a sort. Over whole arrays; pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mars.algebra.grouping import numbered
from mars.kernel_cache import kernel

BITS_PER_ROW = 256  # so many bits of a table for each row are cheaper than hashing the rows


def first_of_each(codes: Sequence[tuple[np.ndarray, int]], ids: np.ndarray, count: int) -> np.ndarray:
    """int64, ascending: the first row of each different (number, value). `ids` int32[n] are numbers in [0, count), `codes`
    are those of the values (grouping.key_codes)."""
    if len(codes) == 1:
        [(values, size)] = codes
        if count * size <= BITS_PER_ROW * max(len(ids), 64):
            return first_seen(ids, values, size, np.zeros(count * size // 64 + 1, np.uint64))
    return numbered([(ids.astype(np.int64), max(count, 1)), *codes]).first_row


@kernel
def first_seen(ids: np.ndarray, codes: np.ndarray, size: int, seen: np.ndarray) -> np.ndarray:
    """As `first_of_each`, for codes in [0, size). `seen` uint64 has a bit, not set, for each pair that there may be."""
    rows, count = np.empty(len(ids), np.int64), 0
    for row in range(len(ids)):
        place = np.int64(ids[row]) * size + codes[row]
        word, bit = place >> 6, np.uint64(1) << np.uint64(place & 63)
        if seen[word] & bit == np.uint64(0):
            seen[word] |= bit
            rows[count] = row
            count += 1
    return rows[:count].copy()


@kernel
def by_number(numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows int64[n], starts int64[count + 1]): the rows with number i, ascending, are rows[starts[i]:starts[i + 1]]."""
    starts = np.zeros(count + 1, np.int64)
    for row in range(len(numbers)):
        starts[numbers[row] + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    place, rows = starts[:-1].copy(), np.empty(len(numbers), np.int64)
    for row in range(len(numbers)):
        number = numbers[row]
        rows[place[number]] = row
        place[number] += 1
    return rows, starts


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    ids, codes = np.zeros(1, np.int32), np.zeros(1, np.int64)
    first_seen(ids, codes, 1, np.zeros(1, np.uint64))
    by_number(ids, 1)
    by_number(codes, 1)
