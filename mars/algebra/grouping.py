"""Rows to dense group numbers: equal keys and equal pane get one number, in order of first appearance.

Every key column becomes codes in a known range, the codes are mixed to one int64 per row (mixed radix), and that is
numbered by a direct table when the range is small, else by open addressing with linear probing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import canonical_bits, coded, codes_of, is_coded, limbs, numbers, valid_mask
from mars.kernel_cache import kernel

SMALL_RANGE = 1 << 12
SMALL_TABLE = 1 << 16
LARGEST_CODE = 1 << 62
SEED = np.uint64(int.from_bytes(os.urandom(8)))  # of this process: nobody can choose keys that collide


@dataclass(frozen=True)
class Groups:
    """`ids` int32[n] in [0, count); `first_row` int64[count], ascending: the first row of each group."""

    ids: np.ndarray
    first_row: np.ndarray

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.first_row)


def group(key_columns: Sequence[pa.Array], panes: np.ndarray) -> Groups:
    """Groups of rows that agree in all keys and in `panes` (int64[n]).

    NULL is a key of its own, all NaN are one key, -0 is 0; strings are equal by their bytes, also under two codes.
    """
    return numbered(chain([_int_codes(panes)], (part for column in key_columns for part in key_codes(column))))


def numbered(parts: Iterable[tuple[np.ndarray, int]]) -> Groups:
    """Groups of rows that agree in all parts: (codes int64[n], range), the codes from 0 on and below the range."""
    combined, cardinality = np.zeros(0, np.int64), 0
    for codes, size in parts:
        if not cardinality:
            combined, cardinality = codes, size
            continue
        if cardinality * size > LARGEST_CODE:
            ids, first_row = number_by_hash(combined)
            combined, cardinality = ids.astype(np.int64), len(first_row)
        combined = combined * size + codes
        cardinality *= size
    if cardinality <= max(SMALL_TABLE, 2 * len(combined)):
        return Groups(*number_by_table(combined, cardinality))
    return Groups(*number_by_hash(combined))


def key_codes(column: pa.Array) -> Iterator[tuple[np.ndarray, int]]:
    """(codes int64[n], range) of a key column, two of them for a decimal; code 0 is NULL."""
    valid = valid_mask(column)
    for codes, size in _value_codes(column):
        yield (codes + 1 if valid is None else np.where(valid, codes + 1, 0)), size + 1


def _value_codes(column: pa.Array) -> Iterator[tuple[np.ndarray, int]]:
    if is_coded(column) or pa.types.is_string(column.type):
        yield _string_codes(coded(column))
    elif pa.types.is_decimal(column.type):
        for words in limbs(column).T:
            yield _int_codes(np.ascontiguousarray(words))
    elif pa.types.is_floating(column.type):
        yield _int_codes(canonical_bits(numbers(column)))
    else:
        yield _int_codes(numbers(column).astype(np.int64))


def _string_codes(column: pa.DictionaryArray) -> tuple[np.ndarray, int]:
    codes = codes_of(column).astype(np.int64)
    distinct = column.dictionary.dictionary_encode()
    if len(distinct.dictionary) < len(column.dictionary):
        codes = distinct.indices.fill_null(0).to_numpy().astype(np.int64)[codes]
    return codes, max(len(distinct.dictionary), 1)


def _int_codes(values: np.ndarray) -> tuple[np.ndarray, int]:
    if len(values) == 0:
        return values, 1
    low, high = int(values.min()), int(values.max())
    if high - low < SMALL_RANGE:
        return values - low, high - low + 1
    ids, first_row = number_by_hash(np.array(values))
    return ids.astype(np.int64), len(first_row)


@kernel
def number_by_table(codes: np.ndarray, cardinality: int) -> tuple[np.ndarray, np.ndarray]:
    """(ids int32[n], first_row int64[groups]) of int64 codes in [0, cardinality), by a table of that size."""
    table = np.full(cardinality, -1, np.int32)
    ids = np.empty(len(codes), np.int32)
    first_row = np.empty(min(cardinality, len(codes)), np.int64)
    count = 0
    for row in range(len(codes)):
        found = table[codes[row]]
        if found < 0:
            found = count
            table[codes[row]] = count
            first_row[count] = row
            count += 1
        ids[row] = found
    return ids, first_row[:count].copy()


def number_by_hash(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ids int32[n], first_row int64[groups]) of any int64 codes, by a hash table that is at most half full."""
    return number_with_seed(codes, SEED)  # an argument, because a global would be frozen into the cached kernel


@kernel
def slot_of(table: np.ndarray, codes: np.ndarray, first_row: np.ndarray, code: int, seed: np.uint64) -> np.int64:
    """The slot that holds `code`, or the free one where it belongs. `table` has a power-of-two size and free slots."""
    mask = len(table) - 1
    word = np.uint64(code) ^ seed  # the rest is the finalizer of splitmix64
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    slot = np.int64(word ^ (word >> np.uint64(31))) & mask
    while table[slot] >= 0 and codes[first_row[table[slot]]] != code:
        slot = (slot + 1) & mask
    return slot


@kernel
def number_with_seed(codes: np.ndarray, seed: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """As `number_by_hash`; no answer depends on the seed."""
    table = np.full(1024, -1, np.int32)
    ids = np.empty(len(codes), np.int32)
    first_row = np.empty(len(codes), np.int64)
    count = 0
    for row in range(len(codes)):
        if row > 0 and codes[row] == codes[row - 1]:
            ids[row] = ids[row - 1]  # tuples mostly come in the order of their panes
            continue
        if 2 * count >= len(table):
            table = np.full(4 * len(table), -1, np.int32)
            for earlier in range(count):
                table[slot_of(table, codes, first_row, codes[first_row[earlier]], seed)] = earlier
        slot = slot_of(table, codes, first_row, codes[row], seed)
        if table[slot] < 0:
            table[slot] = count
            first_row[count] = row
            count += 1
        ids[row] = table[slot]
    return ids, first_row[:count].copy()


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    codes = np.array([2, 1, 2], np.int64)
    number_by_table(codes, 3)
    number_by_hash(codes)
