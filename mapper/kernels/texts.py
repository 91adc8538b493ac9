"""Texts to dictionary codes and booleans."""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import I64, OUT_I32, OUT_I64, OUT_U8, TEXT, U8, helper, kernel
from mapper.kernels.numbers import unread
from mapper.kernels.words import copy, is_ascii, is_utf8, word_at

NOT_A_BOOLEAN, INVALID_UTF8 = 3, 6  # indices of mapper.batch.REASONS
MIX = np.uint64(0x9E3779B97F4A7C15)


@helper
def hash_of(buffer, begin, length, seed):
    """A hash of the bytes, a word at a time."""
    value = seed ^ (np.uint64(length) * MIX)
    at, end = begin, begin + length
    while at < end:
        value = (value ^ word_at(buffer, at, end - at)) * MIX
        value ^= value >> np.uint64(32)
        at += 8
    return value


@helper
def same(buffer, begin, keys, at, length):
    """True if `length` bytes of both buffers are the same."""
    for i in range(0, length, 8):  # noqa: SIM110 - numba has no all()
        if word_at(buffer, begin + i, length - i) != word_at(keys, at + i, length - i):
            return False
    return True


@kernel(types.int64(U8, I64, I64, U8, types.int64, types.uint64, OUT_I32, OUT_I32, OUT_U8, OUT_I64, OUT_I32, OUT_U8))
def encode(buffer, start, length, kind, first, seed, table, ends, keys, counts, codes, state):
    """Codes of texts in a growing dictionary, from tuple `first` on; returns the tuple at which room ran out, or len.

    `table` (a power of two, -1: free) is an open-addressing hash table of codes; key c is keys[ends[c]:ends[c + 1]];
    counts[0] is how many keys there are, counts[1] is raised by each state that is not 0. Keys are only ever appended.
    A text is checked to be UTF-8 when it becomes a key.
    """
    mask = np.uint64(len(table) - 1)
    for i in range(first, len(start)):
        codes[i], state[i] = 0, 0
        if kind[i] != TEXT:
            state[i] = unread(kind[i])
            counts[1] += 1
            continue
        begin, size = start[i], length[i]
        slot = np.int64(hash_of(buffer, begin, size, seed) & mask)
        code = table[slot]
        while code >= 0 and not (
            ends[code + 1] - ends[code] == size and same(buffer, begin, keys, np.int64(ends[code]), size)
        ):
            slot = (slot + 1) & np.int64(mask)
            code = table[slot]
        if code < 0:
            if not (is_ascii(buffer, begin, begin + size) or is_utf8(buffer, begin, begin + size)):
                state[i] = INVALID_UTF8
                counts[1] += 1
                continue
            code = np.int32(counts[0])
            at = np.int64(ends[code])
            if 2 * (code + 1) > len(table) or code + 2 > len(ends) or at + size > len(keys):
                return i
            copy(buffer, begin, size, keys, at)
            ends[code + 1] = at + size
            table[slot] = code
            counts[0] += 1
        codes[i] = code
    return len(start)


@kernel(types.void(OUT_I32, OUT_U8, types.int64, types.uint64, OUT_I32))
def index_keys(ends, keys, count, seed, table):
    """Puts the first `count` keys into an empty hash table."""
    mask = np.uint64(len(table) - 1)
    for code in range(count):
        slot = hash_of(keys, np.int64(ends[code]), np.int64(ends[code + 1] - ends[code]), seed) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = code


@kernel(types.int64(U8, I64, I64, U8, OUT_U8, OUT_U8))
def read_booleans(buffer, start, length, kind, out, state):
    """1 for true and 0 for false, in letters of any case and nothing else. Returns how many states are not 0."""
    others = 0
    for i in range(len(start)):
        out[i], state[i] = 0, 0
        if kind[i] != TEXT:
            state[i] = unread(kind[i])
        else:
            word = np.uint64(0)
            if length[i] == 4 or length[i] == 5:
                word = word_at(buffer, start[i], length[i]) | np.uint64(0x2020202020)
            if length[i] == 4 and word == np.uint64(0x2065757274):  # 'true' and the mask's fifth byte
                out[i] = 1
            elif not (length[i] == 5 and word == np.uint64(0x65736C6166)):
                state[i] = NOT_A_BOOLEAN
        others += state[i] != 0
    return others


@kernel(types.void(U8, I64, I64, OUT_U8))
def gather(buffer, start, length, out):
    """Copies the texts one after the other."""
    at = 0
    for i in range(len(start)):
        copy(buffer, start[i], length[i], out, at)
        at += length[i]
