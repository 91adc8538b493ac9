"""HyperLogLog sketches (Flajolet et al. 2007) of the values of a cell, in the terms of Apache DataSketches: a value's hash
gives a coupon, which is a slot (26 bits) and the number of leading zeros plus one (6 bits).

A cell with few different coupons keeps them all, sorted, and is exact as far as hashes are. A cell with more keeps the
greatest number of each of 2^lg_k slots. Which of the two it is depends on the values alone, and both merge by union and
maximum, so any way of merging gives the same sketch. NULL is not counted.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import numbers, read_only
from mars.algebra.murmur import hashes
from mars.algebra.partials.kind import Columns, Input, Kind, without_nulls
from mars.kernel_cache import kernel
from mars.model.partials import Partial

SLOT_BITS = 26
SLOTS = np.uint64((1 << SLOT_BITS) - 1)


def _columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("coupons", pa.list_(pa.uint32())), ("registers", pa.large_binary())]


def _update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    lg_k = size_of(partial)
    return _sketches(ids, coupons_of(*hashes(values)), ids[:0], np.empty((0, 1 << lg_k), np.uint8), given.groups, lg_k)


def _merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    lg_k = size_of(partial)
    owners = ids[pc.list_parent_indices(held[0]).to_numpy()]
    rows, registers = registers_of(held[1], lg_k)
    return _sketches(owners, numbers(held[0].flatten()).copy(), ids[rows], registers.copy(), groups, lg_k)


def size_of(partial: Partial) -> int:
    """lg_k: the logarithm of the number of slots."""
    [lg_k] = partial.options
    assert isinstance(lg_k, int), partial
    return lg_k


def most_coupons(lg_k: int) -> int:
    """How many coupons a cell keeps before it has registers, as DataSketches does."""
    return 7 if lg_k < 8 else 3 << (lg_k - 5)


def registers_of(column: pa.Array, lg_k: int) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of the rows that have registers, uint8[rows, 2^lg_k])."""
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    if not len(rows):
        return rows, np.empty((0, 1 << lg_k), np.uint8)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset:column.offset + len(column) + 1]
    return rows, np.frombuffer(data, np.uint8)[ends[0]:ends[-1]].reshape(len(rows), 1 << lg_k)


def _sketches(ids: np.ndarray, coupons: np.ndarray, dense_ids: np.ndarray, registers: np.ndarray, groups: int,
              lg_k: int) -> Columns:
    counts, kept, slabs = union(ids, coupons, dense_ids, registers, groups, lg_k, most_coupons(lg_k))
    offsets = np.zeros(groups + 1, np.int32)
    np.cumsum(np.maximum(counts, 0), out=offsets[1:])
    dense = counts < 0
    ends = np.zeros(groups + 1, np.int64)
    np.cumsum(dense * np.int64(1 << lg_k), out=ends[1:])
    valid = np.packbits(dense, bitorder="little")
    binary = pa.Array.from_buffers(pa.large_binary(), groups, [pa.py_buffer(valid), pa.py_buffer(ends), pa.py_buffer(slabs)])
    return [pa.ListArray.from_arrays(pa.array(offsets), pa.array(kept)), binary]


@kernel
def coupons_of(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """uint32[n] from both words of hashes."""
    coupons = np.empty(len(high), np.uint32)
    for row in range(len(high)):
        zeros, word = 0, low[row]
        while zeros < 62 and word < np.uint64(1) << np.uint64(63):
            word <<= np.uint64(1)
            zeros += 1
        coupons[row] = np.uint32(np.uint64(zeros + 1) << np.uint64(SLOT_BITS) | (high[row] & SLOTS))
    return coupons


@kernel
def union(ids: np.ndarray, coupons: np.ndarray, dense_ids: np.ndarray, registers: np.ndarray, groups: int, lg_k: int,
          most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(number of coupons int64[groups], -1 for a group with registers; coupons, group after group, ascending; registers
    uint8[groups that have some, 2^lg_k]), from coupons and registers of the groups in `ids` and `dense_ids`."""
    starts, slab = np.zeros(groups + 1, np.int64), np.full(groups, -1, np.int64)
    for row in range(len(ids)):
        starts[ids[row] + 1] += 1
    for group in range(groups):
        starts[group + 1] += starts[group]
    place, sorted_coupons = starts[:-1].copy(), np.empty_like(coupons)
    for row in range(len(ids)):
        sorted_coupons[place[ids[row]]] = coupons[row]
        place[ids[row]] += 1
    for row in range(len(dense_ids)):
        slab[dense_ids[row]] = 0
    counts, kept, dense = np.zeros(groups, np.int64), 0, 0
    for group in range(groups):  # which groups have registers, and the coupons of the others
        start, end = starts[group], starts[group + 1]
        first = kept
        if slab[group] < 0:
            kept = distinct(sorted_coupons, start, end, kept, most)
        if slab[group] == 0 or kept - first > most:
            kept, slab[group], counts[group] = first, dense, -1
            dense += 1
        else:
            counts[group] = kept - first
    return counts, sorted_coupons[:kept].copy(), filled(ids, coupons, dense_ids, registers, slab, dense, lg_k)


@kernel
def filled(ids: np.ndarray, coupons: np.ndarray, dense_ids: np.ndarray, registers: np.ndarray, slab: np.ndarray, dense: int,
           lg_k: int) -> np.ndarray:
    """The registers of the groups that have a place in `slab`."""
    size = 1 << lg_k
    made = np.zeros((dense, size), np.uint8)
    for row in range(len(ids)):
        if slab[ids[row]] >= 0:
            at, number = coupons[row] & np.uint32(size - 1), np.uint8(coupons[row] >> np.uint32(SLOT_BITS))
            if made[slab[ids[row]], at] < number:
                made[slab[ids[row]], at] = number
    for row in range(len(dense_ids)):
        own = made[slab[dense_ids[row]]]
        for at in range(size):
            own[at] = max(own[at], registers[row, at])
    return made


@kernel
def distinct(coupons: np.ndarray, start: int, end: int, kept: int, most: int) -> int:
    """Writes the different ones of coupons[start:end] to coupons[kept:], ascending, and gives the end of what is written; if
    they are more than `most`, an end beyond that many."""
    table = np.zeros(4 * most + 64, np.uint32) if end - start > 2 * most else np.zeros(0, np.uint32)
    if len(table):  # many rows: do not sort what need not be kept
        found = 0
        for row in range(start, end):
            slot = int(np.int64(coupons[row] * np.uint32(0x9E3779B1)) % len(table))
            while table[slot] != 0 and table[slot] != coupons[row]:
                slot = (slot + 1) % len(table)
            if table[slot] == 0:
                table[slot] = coupons[row]
                found += 1
                if found > most:
                    return kept + found
        end = start
        for slot in range(len(table)):
            if table[slot] != 0:
                coupons[end] = table[slot]
                end += 1
    coupons[start:end].sort()
    first = kept
    for row in range(start, end):
        if kept == first or coupons[kept - 1] != coupons[row]:
            coupons[kept] = coupons[row]
            kept += 1
    return kept


@kernel
def estimates(registers: np.ndarray) -> np.ndarray:
    """The number of different values that stands behind each row of registers: the improved raw estimator of Ertl ("New
    cardinality estimation algorithms for HyperLogLog sketches", arXiv:1702.01284, algorithm 6). It needs no corrections, and
    only operations that IEEE 754 rounds."""
    found, size = np.empty(len(registers)), registers.shape[1]
    for row in range(len(registers)):
        filled_with = np.zeros(64, np.int64)
        for at in range(size):
            filled_with[registers[row, at]] += 1
        total = size * tau(1.0 - filled_with[63] / size)
        for number in range(62, 0, -1):
            total = 0.5 * (total + filled_with[number])
        total += size * sigma(filled_with[0] / size)
        found[row] = 0.7213475204444817 * size * size / total  # 1 / (2 ln 2)
    return found


@kernel
def sigma(share: float) -> float:
    """x + the sum of x^(2^k) 2^(k - 1), k from 1 on."""
    if share == 1.0:
        return np.inf
    total, factor, before = share, 1.0, -1.0
    while total != before:
        before = total
        share *= share
        total += share * factor
        factor += factor
    return total


@kernel
def tau(share: float) -> float:
    """(1 - x - the sum of (1 - x^(2^-k))^2 2^-k, k from 1 on) / 3."""
    if share == 0.0 or share == 1.0:
        return 0.0
    total, factor, before = 1.0 - share, 1.0, -1.0
    while total != before:
        before = total
        share = np.sqrt(share)
        factor *= 0.5
        total -= (1.0 - share) * (1.0 - share) * factor
    return total / 3.0


def warm() -> None:
    """Compiles the kernels of this module for fresh arrays and for Arrow's read-only ones, or loads them."""
    ids, few = np.zeros(1, np.int32), np.zeros((1, 16), np.uint8)
    union(ids, coupons_of(*hashes(pa.array([1]))), ids, few, 1, 4, 8)
    estimates(read_only(few))


KINDS = {"hll": Kind(_columns, _update, _merge)}
