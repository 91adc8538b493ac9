"""One row of CSV to values in one go: the wanted fields are found and read before the next one is looked for.

Only plain rows are read, as nearly all are. Any other is told to be UNUSUAL, and nothing is said of what is unusual:
mapper/parse.py reads it again, from the start, by rules of its own.
"""

from __future__ import annotations

import numpy as np

from mapper.kernels import inlined
from mapper.kernels.csv_rows import is_null
from mapper.kernels.numbers import quick_integer
from mapper.kernels.texts import add_key, find_key, hash_of, head_of
from mapper.kernels.wide import NONE, ONE, WIDTH, ones, places
from mapper.kernels.words import is_ascii, is_utf8, trailing_zeros

# What becomes of a row: it is read, it is unusual, there was no room for another row, or for another key.
READ, UNUSUAL, NO_ROOM, NO_KEY_ROOM = range(4)
# A row of `fields`: the field's number in the row, the greatest integer that it may hold, and the dictionary of its texts
# (-1: it holds integers).
NUMBER, HIGHEST, DICTIONARY = range(3)
# A row of `shelves`: where a dictionary begins in `table`, `heads` and `keys`, and how much of each is its own.
TABLE_AT, TABLE_SIZE, HEADS_AT, HEADS_SIZE, KEYS_AT, KEYS_SIZE, COUNT = range(7)


@inlined
def row_borders(buffer, delimiter, quote, at, end):
    """(a bit for each field's end, a bit for each quote) in the 64 bytes at `at` of a row that ends at `end`."""
    found = places(buffer, delimiter, at, end)
    if end - at < WIDTH:
        found |= ONE << np.uint64(end - at)
    return found, places(buffer, quote, at, end) if quote >= 0 else NONE


@inlined
def code_of(buffer, at, size, seed, number, table, heads, ends, keys, shelves):
    """(READ, code) of a text in dictionary `number`, which takes it in if it is new; or (UNUSUAL or NO_KEY_ROOM, 0).

    The dictionaries lie one after the other in the same arrays, so that a kernel serves any number of them.
    """
    table_at, heads_at, keys_at = shelves[number, TABLE_AT], shelves[number, HEADS_AT], shelves[number, KEYS_AT]
    ends_at = heads_at + number  # a dictionary has one end more than it has keys
    first, second = head_of(buffer, at, size)
    value = hash_of(buffer, at, size, first, second, seed)
    code, slot = find_key(buffer, at, size, first, second, value, table, table_at, shelves[number, TABLE_SIZE] - 1, heads,
                          ends, keys, heads_at, ends_at, keys_at)
    if code < 0:
        if not (is_ascii(buffer, at, at + size) or is_utf8(buffer, at, at + size)):
            return UNUSUAL, np.int64(0)
        code = np.int32(shelves[number, COUNT])
        if (4 * (code + 1) > shelves[number, TABLE_SIZE] or code == shelves[number, HEADS_SIZE]
                or ends[ends_at + code] + size > shelves[number, KEYS_SIZE]):
            return NO_KEY_ROOM, np.int64(0)
        add_key(buffer, at, size, first, second, value, code, slot, table, heads, ends, keys, heads_at, ends_at, keys_at)
        shelves[number, COUNT] += 1
    return READ, np.int64(code)


@inlined
def read_row(buffer, begin, end, fields, delimiter, quote, null_text, seed, table, heads, ends, keys, shelves, values, n):
    """(READ, 0) with the row [begin, end) read to values[:, n], or (UNUSUAL, 0), or (NO_KEY_ROOM, the length of the text
    that found no room, and its dictionary above 32 bits). end + 64 <= len(buffer).

    A quote before the last wanted field's end makes a row unusual, whatever it means there; what lies behind is not looked
    at.
    """
    at, field, number = begin, begin, np.int64(0)
    found, quotes = row_borders(buffer, delimiter, quote, at, end)
    for k in range(len(fields)):
        skip = fields[k, NUMBER] - number
        if skip > 0:
            count = ones(found)
            while count < skip:
                if quotes or at + WIDTH > end:  # the row ends here, or before the wanted field
                    return UNUSUAL, np.int64(0)
                skip -= count
                at += WIDTH
                found, quotes = row_borders(buffer, delimiter, quote, at, end)
                count = ones(found)
            for _ in range(skip - 1):
                found &= found - ONE
            field = at + trailing_zeros(found) + 1
            found &= found - ONE
        if field > end:
            return UNUSUAL, np.int64(0)
        while found == 0:
            if quotes:
                return UNUSUAL, np.int64(0)
            at += WIDTH
            found, quotes = row_borders(buffer, delimiter, quote, at, end)
        stop = at + trailing_zeros(found)
        size = stop - field
        if quotes & ((found & (NONE - found)) - ONE) or is_null(buffer, field, size, null_text):
            return UNUSUAL, np.int64(0)
        found &= found - ONE
        dictionary = fields[k, DICTIONARY]
        if dictionary < 0:
            values[k, n], plain = quick_integer(buffer, field, size)
            if not plain or values[k, n] > fields[k, HIGHEST]:
                return UNUSUAL, np.int64(0)
        else:
            state, values[k, n] = code_of(buffer, field, size, seed, dictionary, table, heads, ends, keys, shelves)
            if state != READ:
                return state, dictionary << 32 | size
        number, field = fields[k, NUMBER] + 1, stop + 1
    return READ, np.int64(0)
