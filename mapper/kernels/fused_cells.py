"""Blocks of values to cells that grow from block to block: numbers of windows, keys and cells, counts and folded values.

What is numbered is told apart by one int64, and first come has number 0.
"""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import I32, I64, OUT_I32, OUT_I64, inlined, kernel
from mapper.kernels.texts import MIX
from mapper.kernels.words import folded

SUM, LEAST, GREATEST = range(3)


@inlined
def find_number(code, seed, table, codes):
    """(number or -1, slot): that of a code in an open-addressing hash table of numbers, or the free slot where it belongs.
    The table has free slots, and a power of two of them; codes[i] is the code with number i."""
    mask = np.int64(len(table) - 1)
    slot = np.int64(folded(np.uint64(code) ^ seed, MIX)) & mask
    number = table[slot]
    while number >= 0 and codes[number] != code:
        slot = (slot + 1) & mask
        number = table[slot]
    return number, slot


@kernel(types.int64(I64, types.int64, types.int64, types.int64, types.uint64, OUT_I32, OUT_I64, OUT_I64, OUT_I64))
def number_integers(values, first, end, size, seed, table, known, count, numbers):
    """Writes numbers[i] of the greatest multiple of `size` that is not above values[i], for i in [first, end); known[n] is
    the one with number n, of which there are count[0]. Returns where room for another one ran out, or `end`."""
    low = high = number = np.int64(0)
    for i in range(first, end):
        value = values[i]
        if value < low or value >= high:  # most are as the one before, and a division is slow
            start = value // size * size if size > 1 else value
            found, slot = find_number(start, seed, table, known)
            if found < 0:
                if count[0] == len(known):
                    return i
                found = np.int32(count[0])
                table[slot], known[found] = found, start
                count[0] += 1
            number, low, high = np.int64(found), start, start + size
        numbers[i] = number
    return end


@kernel(types.int64(I64, types.int64, types.int64, types.uint64, types.boolean, OUT_I32, OUT_I64, OUT_I64, OUT_I64, OUT_I32))
def count_codes(codes, first, end, seed, direct, table, known, tuples, count, cells):
    """Writes to cells[i] the number of codes[i], for i in [first, end), and adds 1 to tuples[] of it; known[n] is the code
    with number n, of which there are count[0]. `direct`: the table has a place for each code, and no hash is needed.
    Returns where room for another one ran out, or `end`."""
    for i in range(first, end):
        code = codes[i]
        if direct:
            slot = code
            cell = table[slot]
        else:
            cell, slot = find_number(code, seed, table, known)
        if cell < 0:
            if count[0] == len(known):
                return i
            cell = np.int32(count[0])
            table[slot], known[cell], tuples[cell] = cell, code, 0
            count[0] += 1
        tuples[cell] += 1
        cells[i] = cell
    return end


@kernel(types.void(I64, types.int64, types.uint64, types.boolean, OUT_I32))
def index_codes(known, count, seed, direct, table):
    """Enters the first `count` codes into an empty table."""
    for number in range(count):
        slot = known[number]
        if not direct:
            _, slot = find_number(known[number], seed, table, known)
        table[slot] = number


@kernel(types.void(I64, I32, types.int64, types.int64, OUT_I64))
def fold(values, cells, rows, how, out):
    """Folds values[i] into out[cells[i]] for the first `rows`. Sums wrap."""
    for i in range(rows):
        cell = cells[i]
        if how == SUM:
            out[cell] += values[i]
        elif how == LEAST:
            out[cell] = min(out[cell], values[i])
        else:
            out[cell] = max(out[cell], values[i])
