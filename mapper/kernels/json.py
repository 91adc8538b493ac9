"""JSON (RFC 8259): every tuple is checked to its end, and the wanted values are told by place and kind.

The wanted paths are a tree of nodes, told by arrays: `child_first` and `child_count` per node (children lie side by
side, node 0 is the tuple), `key_end` (key of node i: keys[key_end[i - 1]:key_end[i]]), `node_column` (-1: only on the
way), and `under[node, column]`: the column lies at or below the node.
"""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import (
    BAD,
    ESCAPED,
    FRACTION,
    I64,
    LITERAL,
    NESTED,
    NULL,
    NUMBER,
    OUT_I32,
    OUT_I64,
    OUT_I64_2D,
    OUT_U8,
    OUT_U8_2D,
    TEXT,
    U8,
    helper,
    kernel,
)
from mapper.kernels.texts import same
from mapper.kernels.words import HIGHS, ONES, find, load64, trailing_zeros, zero_bytes

NOT_JSON, NOT_AN_OBJECT = 9, 10  # indices of mapper.batch.REASONS
DEPTH = 512  # deeper nesting is not read
QUOTE, BACKSLASH, COMMA, COLON, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST = 34, 92, 44, 58, 123, 125, 91, 93
NEWLINE = 10
WRONG = -1  # in place of a place: not JSON
U8_2D = types.Array(types.uint8, 2, "C", readonly=True)


@helper
def skip_space(buffer, at, end):
    """The next place that holds no JSON whitespace."""
    while at < end and (buffer[at] == 32 or 9 <= buffer[at] <= 10 or buffer[at] == 13):
        at += 1
    return at


@helper
def hex_value(buffer, at, end):
    """The number of four hexadecimal digits at `at`, or WRONG."""
    value = np.int64(0)
    if at + 4 > end:
        return np.int64(WRONG)
    for i in range(at, at + 4):
        digit = np.int64(buffer[i])
        if 48 <= digit <= 57:
            digit -= 48
        elif 97 <= (digit | 32) <= 102:
            digit = (digit | 32) - 87
        else:
            return np.int64(WRONG)
        value = value * 16 + digit
    return value


@helper
def escape_end(buffer, at, end):
    """The place after the escape whose backslash is at `at`, or WRONG."""
    if at + 1 >= end:
        return np.int64(WRONG)
    letter = buffer[at + 1]
    if letter == 117:
        return at + 6 if hex_value(buffer, at + 2, end) >= 0 else np.int64(WRONG)
    known = letter == 34 or letter == 92 or letter == 47 or letter == 98 or letter == 102 or letter == 110
    return at + 2 if known or letter == 114 or letter == 116 else np.int64(WRONG)


@helper
def string_end(buffer, at, end):
    """(place of the closing quote or WRONG, whether there are escapes) of the string whose content starts at `at`."""
    escaped = False
    while at < end:
        if at + 8 <= end:
            word = load64(buffer, at)
            control = (word - np.uint64(32) * ONES) & ~word & HIGHS
            found = control | zero_bytes(word ^ np.uint64(QUOTE) * ONES) | zero_bytes(word ^ np.uint64(BACKSLASH) * ONES)
            if found == 0:
                at += 8
                continue
            at += trailing_zeros(found) >> 3
        if buffer[at] == QUOTE:
            return at, escaped
        if buffer[at] < 32:
            break
        if buffer[at] == BACKSLASH:
            escaped = True
            at = escape_end(buffer, at, end)
            if at < 0:
                break
        else:
            at += 1
    return np.int64(WRONG), escaped


@helper
def skip_digits(buffer, at, end):
    """The place after the digits at `at`."""
    while at < end and 48 <= buffer[at] <= 57:
        at += 1
    return at


@helper
def number_end(buffer, at, end):
    """(place after the number at `at` or WRONG, whether it has a fraction or an exponent)."""
    begin = at + 1 if buffer[at] == 45 else at
    at = skip_digits(buffer, begin, end)
    if at == begin or (buffer[begin] == 48 and at > begin + 1):
        return np.int64(WRONG), False
    fraction = False
    if at < end and buffer[at] == 46:
        fraction, begin = True, at + 1
        at = skip_digits(buffer, begin, end)
        if at == begin:
            return np.int64(WRONG), False
    if at < end and (buffer[at] | 32) == 101:
        fraction, begin = True, at + 1
        if begin < end and (buffer[begin] == 43 or buffer[begin] == 45):
            begin += 1
        at = skip_digits(buffer, begin, end)
        if at == begin:
            return np.int64(WRONG), False
    return at, fraction


@helper
def literal_end(buffer, at, end):
    """The place after true, false or null at `at`, or WRONG."""
    if at + 4 > end:
        return np.int64(WRONG)
    word = (
        np.int64(buffer[at]) << 24
        | np.int64(buffer[at + 1]) << 16
        | np.int64(buffer[at + 2]) << 8
        | np.int64(buffer[at + 3])
    )
    if word == 0x74727565 or word == 0x6E756C6C:
        return at + 4
    return at + 5 if word == 0x66616C73 and at + 5 <= end and buffer[at + 4] == 101 else np.int64(WRONG)


@helper
def put_utf8(code, out, n):
    """Appends a code point, a lone surrogate too (whose three bytes are no UTF-8); returns the place after it."""
    if code < 0x80:
        out[n] = code
        return n + 1
    if code < 0x800:
        out[n], out[n + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return n + 2
    if code < 0x10000:
        out[n], out[n + 1], out[n + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return n + 3
    out[n], out[n + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    out[n + 2], out[n + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return n + 4


@helper
def plain_string(buffer, at, end, out, n):
    """Appends the text of the checked string content [at, end) to `out`; returns the place after it."""
    while at < end:
        if buffer[at] != BACKSLASH:
            out[n] = buffer[at]
            n, at = n + 1, at + 1
            continue
        letter = buffer[at + 1]
        if letter != 117:
            out[n] = (8 if letter == 98 else 12 if letter == 102 else 10 if letter == 110 else 13 if letter == 114
                      else 9 if letter == 116 else letter)
            n, at = n + 1, at + 2
            continue
        code = hex_value(buffer, at + 2, end)
        at += 6
        if 0xD800 <= code < 0xDC00 and at + 6 <= end and buffer[at] == BACKSLASH and buffer[at + 1] == 117:
            low = hex_value(buffer, at + 2, end)
            if 0xDC00 <= low < 0xE000:
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                at += 6
        n = put_utf8(code, out, n)
    return n


@kernel(types.void(U8, I64, I64, OUT_U8, OUT_I64))
def unescape(buffer, start, length, out, out_end):
    """Copies the text of each (checked) string to `out`; string i ends at out_end[i]."""
    n = 0
    for i in range(len(start)):
        n = plain_string(buffer, start[i], start[i] + length[i], out, n)
        out_end[i] = n


@helper
def find_child(buffer, begin, end, node, child_first, child_count, keys, key_end, hints):
    """The child of `node` whose key is [begin, end), or -1; tries first what follows the child found last."""
    first = child_first[node]
    behind = first + child_count[node]
    child = hints[node]
    for _ in range(child_count[node]):
        if child == behind:
            child = first
        at = key_end[child - 1]
        if key_end[child] - at == end - begin and same(buffer, begin, keys, at, end - begin):
            hints[node] = child + 1
            return child
        child += 1
    return np.int64(-1)


@helper
def read_key(buffer, at, end, node, child_first, child_count, keys, key_end, hints, scratch):
    """(place after the colon or WRONG, child of `node` that the key names or -1) of the key at `at`."""
    at = skip_space(buffer, at, end)
    if at >= end or buffer[at] != QUOTE:
        return np.int64(WRONG), np.int64(-1)
    begin = at + 1
    close, escaped = string_end(buffer, begin, end)
    if close < 0:
        return np.int64(WRONG), np.int64(-1)
    child = np.int64(-1)
    if node >= 0 and escaped:
        length = plain_string(buffer, begin, close, scratch, 0)
        child = find_child(scratch, 0, length, node, child_first, child_count, keys, key_end, hints)
    elif node >= 0:
        child = find_child(buffer, begin, close, node, child_first, child_count, keys, key_end, hints)
    at = skip_space(buffer, close + 1, end)
    if at >= end or buffer[at] != COLON:
        return np.int64(WRONG), child
    return at + 1, child


@helper
def read_scalar(buffer, at, end):
    """(place after the string, number or literal at `at` or WRONG, where its text starts, its length, its kind)."""
    first = buffer[at]
    if first == QUOTE:
        close, escaped = string_end(buffer, at + 1, end)
        return close + 1 if close >= 0 else close, at + 1, close - at - 1, ESCAPED if escaped else TEXT
    if first == 45 or 48 <= first <= 57:
        after, fraction = number_end(buffer, at, end)
        return after, at, after - at, FRACTION if fraction else NUMBER
    after = literal_end(buffer, at, end)
    return after, at, after - at, NULL if first == 110 else LITERAL


@helper
def read_value(buffer, at, end, i, node, child_first, child_count, keys, key_end, node_column, under, hints, seen, stamp,
               stack, scratch, start, length, kind):
    """The place after the value at `at`, or WRONG; wanted values below `node` are written for tuple i.

    A key that occurs twice in one object makes the columns at and below it bad. `stack` has a row per open container:
    its first byte, its node, the column that wants its text (or -1), where it began.
    """
    depth = 0
    while True:
        at = skip_space(buffer, at, end)
        if at >= end:
            return np.int64(WRONG)
        column = node_column[node] if node >= 0 else np.int64(-1)
        finished = True
        if buffer[at] == OPEN or buffer[at] == OPEN_LIST:
            if depth == DEPTH:
                return np.int64(WRONG)
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = buffer[at], node, column, at
            depth += 1
            after = skip_space(buffer, at + 1, end)
            finished = after < end and buffer[after] == buffer[at] + 2  # the closing bracket's code
            node = node if buffer[at] == OPEN else np.int64(-1)
            at = after if finished else at + 1
        else:
            after, text, size, what = read_scalar(buffer, at, end)
            if after < 0:
                return np.int64(WRONG)
            if column >= 0:
                start[column, i], length[column, i], kind[column, i] = text, size, what
            at = after
        while finished:
            if depth == 0:
                return at
            at = skip_space(buffer, at, end)
            if at >= end:
                return np.int64(WRONG)
            if buffer[at] == COMMA:
                node = stack[depth - 1, 1] if stack[depth - 1, 0] == OPEN else np.int64(-1)
                finished = False
            elif buffer[at] == stack[depth - 1, 0] + 2:
                depth -= 1
                column, begin = stack[depth, 2], stack[depth, 3]
                if column >= 0:
                    start[column, i], length[column, i], kind[column, i] = begin, at + 1 - begin, NESTED
            else:
                return np.int64(WRONG)
            at += 1
        if stack[depth - 1, 0] == OPEN:
            at, node = read_key(buffer, at, end, node, child_first, child_count, keys, key_end, hints, scratch)
            if at < 0:
                return np.int64(WRONG)
            if node >= 0 and seen[node] == stamp:
                for c in range(len(kind)):
                    if under[node, c]:
                        kind[c, i] = BAD + NOT_JSON
                node = np.int64(-1)
            elif node >= 0:
                seen[node] = stamp


@kernel(types.int64(U8, I64, I64, I64, I64, U8, I64, I64, U8_2D, OUT_I64, OUT_I64, OUT_I64_2D, OUT_U8,
                    OUT_I64_2D, OUT_I64_2D, OUT_U8_2D, OUT_I64, OUT_I32, OUT_U8))
def read_messages(buffer, message_start, message_length, child_first, child_count, keys, key_end, node_column, under,
                  hints, seen, stack, scratch, start, length, kind, message, line, tuple_bad):
    """Writes place, length and kind of each wanted value (row: column) of each tuple, its message, line, and reason if
    it does not read at all. Returns the number of tuples, or -1 if they do not fit."""
    n, stamp = 0, np.int64(0)
    for m in range(len(message_start)):
        at, number = message_start[m], 0
        end = at + message_length[m]
        at = skip_space(buffer, at, end)
        is_list, first = at < end and buffer[at] == OPEN_LIST, n
        if is_list:
            at = skip_space(buffer, at + 1, end)
            if at < end and buffer[at] == CLOSE_LIST and skip_space(buffer, at + 1, end) == end:
                continue
        while at < end or is_list:
            if n == len(message):
                return -1
            for c in range(len(kind)):
                kind[c, n] = NULL
            message[n], line[n], tuple_bad[n] = m, number, 0
            is_object = at < end and buffer[at] == OPEN
            begin, stamp = at, stamp + 1
            root = np.int64(0) if is_object else np.int64(-1)
            at = read_value(buffer, at, end, n, root, child_first, child_count, keys, key_end, node_column, under, hints,
                            seen, stamp, stack, scratch, start, length, kind)
            after, good = at, at >= 0
            if is_list:
                at = skip_space(buffer, at, end) if good else end
                good = at < end and (buffer[at] == COMMA or buffer[at] == CLOSE_LIST)
                is_list = good and buffer[at] == COMMA
                good = good and (is_list or skip_space(buffer, at + 1, end) == end)
                if not good:
                    n, number = first, 0  # the message as a whole is not JSON: one bad tuple
                    message[n], line[n], tuple_bad[n] = m, 0, 0
                at = skip_space(buffer, at + 1, end) if is_list else end
                number += 1
            else:
                while good and at < end and buffer[at] != NEWLINE:
                    good = skip_space(buffer, at, at + 1) > at
                    at += 1
                at = after if good else find(buffer, NEWLINE, begin, end)
                while at < end and skip_space(buffer, at, at + 1) > at:
                    number += buffer[at] == NEWLINE
                    at += 1
            if not good or not is_object:
                tuple_bad[n] = NOT_AN_OBJECT if good else NOT_JSON
                for c in range(len(kind)):
                    kind[c, n] = NULL
            n += 1
    return n
