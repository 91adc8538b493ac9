"""Texts to dictionary codes and booleans."""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import I64, OUT_I32, OUT_I64, OUT_U8, OUT_U64_2D, TEXT, U8, helper, inlined, kernel
from mapper.kernels.numbers import unread
from mapper.kernels.words import copy, folded, is_ascii, is_utf8, load64, word_at

NOT_A_BOOLEAN, INVALID_UTF8 = 3, 6  # indices of mapper.batch.REASONS
MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def low_bytes(count):
    """A word whose lowest `count` bytes are all ones; below 0 is as 0, above 8 as 8."""
    return ~np.uint64(0) if count >= 8 else (np.uint64(1) << np.uint64(8 * max(count, 0))) - np.uint64(1)


@inlined
def head_of(buffer, begin, length):
    """The first 16 bytes of a text as two words, with zeros after its end."""
    if begin + 16 <= len(buffer):
        return load64(buffer, begin) & low_bytes(length), load64(buffer, begin + 8) & low_bytes(length - 8)
    first = word_at(buffer, begin, length) if length > 0 else np.uint64(0)
    return first, word_at(buffer, begin + 8, length - 8) if length > 8 else np.uint64(0)


@inlined
def hash_of(buffer, begin, length, first, second, seed):
    """A hash of the text whose head is first, second; only who knows the seed can make two that collide."""
    value = folded(first ^ seed, second ^ (seed >> np.uint64(7)) ^ (np.uint64(length) * MIX))
    for at in range(16, length, 8):
        value = folded(value ^ seed, word_at(buffer, begin + at, length - at) ^ MIX)
    return value


@helper
def same(buffer, begin, keys, at, length):
    """True if `length` bytes of both buffers are the same."""
    for i in range(0, length, 8):  # noqa: SIM110 - numba has no all()
        if word_at(buffer, begin + i, length - i) != word_at(keys, at + i, length - i):
            return False
    return True


@inlined
def find_key(buffer, at, size, first, second, value, table, table_at, mask, heads, ends, keys, head_at, end_at, key_at):
    """(code, slot) of the text buffer[at:at + size] whose head is first, second and whose hash is `value`; code -1 and the
    free slot where it belongs if it is no key yet. The dictionary begins at `table_at` in the table, and so on."""
    slot = np.int64(value) & mask
    code = table[table_at + slot]
    while code >= 0 and not (heads[head_at + code, 0] == first and heads[head_at + code, 1] == second
                             and heads[head_at + code, 2] == np.uint64(size)
                             and (size <= 16 or same(buffer, at + 16, keys, key_at + ends[end_at + code] + 16, size - 16))):
        slot = (slot + 1) & mask
        code = table[table_at + slot]
    return code, table_at + slot


@inlined
def add_key(buffer, at, size, first, second, value, code, slot, table, heads, ends, keys, head_at, end_at, key_at):
    """Makes a text, of which `find_key` gave the free slot, the key of that code; the caller has seen that there is room."""
    copy(buffer, at, size, keys, key_at + np.int64(ends[end_at + code]))
    row = head_at + code
    heads[row, 0], heads[row, 1], heads[row, 2], heads[row, 3] = first, second, np.uint64(size), value
    ends[end_at + code + 1] = ends[end_at + code] + size
    table[slot] = code


@kernel(types.int64(U8, I64, I64, U8, types.int64, types.uint64, OUT_I32, OUT_U64_2D, OUT_I32, OUT_U8, OUT_I64,
                    OUT_I32, OUT_U8))
def encode(buffer, start, length, kind, begin, seed, table, heads, ends, keys, counts, codes, state):
    """Codes of texts in a growing dictionary, from tuple `begin` on; returns the tuple at which room ran out, or len.

    `table` (a power of two, -1: free) is an open-addressing hash table of codes, at most a quarter full; heads[c] is key
    c's first 16 bytes, length and hash, and the key is keys[ends[c]:ends[c + 1]]. counts[0] is how many keys there are,
    counts[1] is raised by each state that is not 0. Keys are only ever appended. A text is checked to be UTF-8 when it
    becomes a key.
    """
    mask = np.int64(len(table) - 1)
    for i in range(begin, len(start)):
        codes[i], state[i] = 0, 0
        if kind[i] != TEXT:
            state[i] = unread(kind[i])
            counts[1] += 1
            continue
        at, size = start[i], length[i]
        first, second = head_of(buffer, at, size)
        value = hash_of(buffer, at, size, first, second, seed)
        code, slot = find_key(buffer, at, size, first, second, value, table, 0, mask, heads, ends, keys, 0, 0, 0)
        if code < 0:
            if not (is_ascii(buffer, at, at + size) or is_utf8(buffer, at, at + size)):
                state[i] = INVALID_UTF8
                counts[1] += 1
                continue
            code = np.int32(counts[0])
            if 4 * (code + 1) > len(table) or code == len(heads) or ends[code] + size > len(keys):
                return i
            add_key(buffer, at, size, first, second, value, code, slot, table, heads, ends, keys, 0, 0, 0)
            counts[0] += 1
        codes[i] = code
    return len(start)


@kernel(types.void(OUT_U64_2D, types.int64, OUT_I32))
def index_keys(heads, count, table):
    """Puts the first `count` keys into an empty hash table."""
    mask = np.int64(len(table) - 1)
    for code in range(count):
        slot = np.int64(heads[code, 3]) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
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
