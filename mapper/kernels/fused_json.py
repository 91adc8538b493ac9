"""One JSON message to values in one go: the places of a tuple's wanted values are found, and read while they are at hand.

As for CSV, only what is plain is read. Of whole tuples the same is checked as in mapper/kernels/json.py, by the same code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from mapper.kernels import ESCAPED, NULL, NUMBER, OUT_I64, OUT_I64_2D, OUT_U8_2D, inlined
from mapper.kernels.fused_rows import (
    DICTIONARY,
    FIELD,
    GREATEST,
    HIGHEST,
    NEEDED,
    NO_ROOM,
    READ,
    TIME,
    UNUSUAL,
    code_of,
    is_plain_time,
)
from mapper.kernels.json import NEWLINE, OPEN, TREE, WORK, read_tuple
from mapper.kernels.json_shapes import SHAPES, follow
from mapper.kernels.json_tokens import skip_space
from mapper.kernels.numbers import quick_integer


class Json(NamedTuple):
    """What reads tuples: as in mapper/kernels/json.py, with room for the places of one tuple's values, and the number of
    the last tuple in `stamp`. Messages that are longer than `longest` are unusual: keys find no room in `work`."""

    tree: tuple
    shapes: tuple
    work: tuple
    start: np.ndarray
    length: np.ndarray
    kind: np.ndarray
    stamp: np.ndarray
    longest: int


JSON = types.NamedTuple((TREE, SHAPES, WORK, OUT_I64_2D, OUT_I64_2D, OUT_U8_2D, OUT_I64, types.int64), Json)


@inlined
def read_values(buffer, json, fields, seed, table, heads, ends, keys, shelves, values, n):
    """(READ, 0) with the values whose places are known in values[:, n]; else as mapper.kernels.fused_rows.read_row."""
    for k in range(len(fields)):
        place, dictionary = fields[k, FIELD], fields[k, DICTIONARY]
        at, size, what = json.start[place, 0], json.length[place, 0], json.kind[place, 0]
        if dictionary < 0:
            if what != NUMBER:
                return UNUSUAL, np.int64(0)
            values[k, n], plain = quick_integer(buffer, at, size)
            if not plain or values[k, n] > fields[k, HIGHEST]:
                return UNUSUAL, np.int64(0)
        else:
            if what in (NULL, ESCAPED):
                return UNUSUAL, np.int64(0)
            state, values[k, n] = code_of(buffer, at, size, seed, dictionary, table, heads, ends, keys, shelves)
            if state != READ:
                return state, dictionary << 32 | size
    return READ, np.int64(0)


@inlined
def next_tuple(buffer, at, end, number):
    """(where the tuple after the one that ends at `at` begins, its line), or (-1, 0) if the line goes on otherwise."""
    while at < end and buffer[at] != NEWLINE:
        if skip_space(buffer, at, at + 1) == at:
            return np.int64(-1), np.int64(0)
        at += 1
    while at < end and skip_space(buffer, at, at + 1) > at:
        number += buffer[at] == NEWLINE
        at += 1
    return at, number


@inlined
def read_json_message(buffer, at, end, record_offset, written, form, json, fields, seed, table, heads, ends, keys, shelves,
                      values, offset, line, n, state):
    """As mapper.kernels.fused.read_message. A list of objects is unusual."""
    first, greatest, number = n, state[GREATEST], np.int64(0)
    if end - at > json.longest:
        return UNUSUAL, first
    at = skip_space(buffer, at, end)
    while at < end:
        if buffer[at] != OPEN:
            return UNUSUAL, first
        if n == len(offset):
            return NO_ROOM, first
        json.stamp[0] += 1
        for place in range(len(json.kind)):
            json.kind[place, 0] = NULL
        after = follow(buffer, at, end, 0, json.shapes, json.start, json.length, json.kind)
        if after < 0:  # a call takes as long as much of what it would do
            after = read_tuple(buffer, at, end, 0, json.tree, json.shapes, json.work, json.stamp[0], json.start, json.length,
                               json.kind)
        if after < 0:
            return UNUSUAL, first
        found, state[NEEDED] = read_values(buffer, json, fields, seed, table, heads, ends, keys, shelves, values, n)
        if found != READ:
            return found, first
        moment = values[form[TIME], n]
        if not is_plain_time(moment, written, form):
            return UNUSUAL, first
        greatest = max(greatest, min(moment, written))
        offset[n], line[n] = record_offset, number
        n += 1
        at, number = next_tuple(buffer, after, end, number)
        if at < 0:
            return UNUSUAL, first
    state[GREATEST] = greatest
    return READ, n
