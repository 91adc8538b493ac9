"""JSON (RFC 8259): checks every tuple to its end, and gives the places and kinds of the wanted values.

A tuple is read by its shape (mapper.kernels.json_shapes) if it has a known one; otherwise it is parsed here, and its
shape is known from then on. The result is the same either way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from mapper.kernels import I64, NESTED, NULL, OUT_I32, OUT_I64, OUT_I64_2D, OUT_U8, OUT_U8_2D, U8, helper, inlined, kernel
from mapper.kernels.json_shapes import SHAPES, TOKENS, UNWANTED, follow, forget_if_full, learn
from mapper.kernels.json_texts import plain_string
from mapper.kernels.json_tokens import QUOTE, WRONG, read_scalar, skip_space, string_end
from mapper.kernels.texts import same
from mapper.kernels.words import find

NOT_JSON, NOT_AN_OBJECT = 9, 10  # indices of mapper.batch.REASONS
DEPTH = 512  # deeper nesting is refused
COMMA, COLON, OPEN, OPEN_LIST, CLOSE_LIST = 44, 58, 123, 91, 93
NEWLINE = 10


class Tree(NamedTuple):
    """The wanted paths as nodes. Node 0 is the tuple; the children of a node are adjacent.

    `first` and `children` tell where a node's children begin and how many there are; its key is
    keys[key_end[i - 1]:key_end[i]]; `column` is -1 for a node that is only on the way; `under[node, column]`: the column
    lies at or below the node.
    """

    first: np.ndarray
    children: np.ndarray
    keys: np.ndarray
    key_end: np.ndarray
    column: np.ndarray
    under: np.ndarray


class Work(NamedTuple):
    """The state of the parser: per node, the child to try next and the number of the tuple in which it was seen; a row
    per open container (first byte, node, column that wants its text or -1, where it began); a row per scalar (start, end,
    column); room for one key's text."""

    hints: np.ndarray
    seen: np.ndarray
    stack: np.ndarray
    tokens: np.ndarray
    scratch: np.ndarray


TREE = types.NamedTuple((OUT_I64, OUT_I64, OUT_U8, OUT_I64, OUT_I64, OUT_U8_2D), Tree)
WORK = types.NamedTuple((OUT_I64, OUT_I64, OUT_I64_2D, OUT_I64_2D, OUT_U8), Work)


def work_for(tree: Tree, key_bytes_max: int, work: Work | None = None) -> Work:
    """Room to parse with. It keeps what was known before."""
    if work is not None and len(work.scratch) >= key_bytes_max:
        return work
    return Work(tree.first.copy(), np.zeros(len(tree.first), np.int64), np.empty((DEPTH, 4), np.int64),
                np.empty((TOKENS + 1, 3), np.int64), np.empty(max(key_bytes_max, 1024) * 5 // 4, np.uint8))


@inlined
def find_child(buffer, begin, end, node, tree, hints):
    """The child of `node` whose key is [begin, end), or -1. Tries the child after the last one found first."""
    first = tree.first[node]
    behind = first + tree.children[node]
    child = hints[node]
    for _ in range(tree.children[node]):
        if child == behind:
            child = first
        at = tree.key_end[child - 1]
        if tree.key_end[child] - at == end - begin and same(buffer, begin, tree.keys, at, end - begin):
            hints[node] = child + 1
            return child
        child += 1
    return np.int64(-1)


@inlined
def read_key(buffer, at, end, node, tree, work):
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
        length = plain_string(buffer, begin, close, work.scratch, 0)
        child = find_child(work.scratch, 0, length, node, tree, work.hints)
    elif node >= 0:
        child = find_child(buffer, begin, close, node, tree, work.hints)
    at = skip_space(buffer, close + 1, end)
    if at >= end or buffer[at] != COLON:
        return np.int64(WRONG), child
    return at + 1, child


@inlined
def enter(i, node, tree, work, stamp, kind):
    """Called for a key that names `node`. If the key came before in this tuple, only the new value counts. True if that
    replaced a value; then the tuple gives no shape."""
    if tree.children[node] == 0:
        return False
    repeated = work.seen[node] == stamp
    if repeated:
        for column in range(len(kind)):
            if tree.under[node, column]:
                kind[column, i] = NULL
    work.seen[node] = stamp
    return repeated


@inlined
def close_containers(buffer, at, end, i, depth, stack, start, length, kind):
    """(place after the comma that goes on or after the last bracket, or WRONG; how many containers are open; whether one
    was wanted) behind a value that ended at `at`; the texts of wanted containers are written."""
    wanted = False
    while depth > 0:
        at = skip_space(buffer, at, end)
        if at >= end:
            return np.int64(WRONG), depth, wanted
        if buffer[at] == COMMA:
            return at + 1, depth, wanted
        if buffer[at] != stack[depth - 1, 0] + 2:  # the closing bracket's code
            return np.int64(WRONG), depth, wanted
        at, depth = at + 1, depth - 1
        column, begin = stack[depth, 2], stack[depth, 3]
        if column >= 0:
            start[column, i], length[column, i], kind[column, i] = begin, at - begin, NESTED
            wanted = True
    return at, depth, wanted


@helper
def read_value(buffer, at, end, i, node, tree, work, stamp, start, length, kind):
    """(place after the value at `at` or WRONG, how many scalars are noted in work.tokens or -1 if it gives no shape);
    wanted values below `node` are written for tuple i, whose number is `stamp`."""
    depth, stack, tokens, count, shapeless = np.int64(0), work.stack, work.tokens, np.int64(0), False
    while True:
        at = skip_space(buffer, at, end)
        if at >= end:
            return np.int64(WRONG), count
        column = tree.column[node] if node >= 0 else np.int64(UNWANTED)
        first = buffer[at]
        if first | 32 == OPEN:  # and OPEN_LIST: they differ by that bit
            if depth == DEPTH:
                return np.int64(WRONG), count
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = first, node, column, at
            depth += 1
            at = skip_space(buffer, at + 1, end)
            closed = at < end and buffer[at] == first + 2
        else:
            after, text, size, what = read_scalar(buffer, at, end)
            if after < 0:
                return np.int64(WRONG), count
            if column >= 0:
                start[column, i], length[column, i], kind[column, i] = text, size, what
            tokens[count, 0], tokens[count, 1], tokens[count, 2] = at, after, column
            count = min(count + 1, TOKENS)
            at, closed = after, True
        if closed:
            at, depth, wanted = close_containers(buffer, at, end, i, depth, stack, start, length, kind)
            shapeless |= wanted
            if at < 0 or depth == 0:
                return at, np.int64(-1) if shapeless or count == TOKENS else count
        node = np.int64(-1)
        if stack[depth - 1, 0] == OPEN:
            at, node = read_key(buffer, at, end, stack[depth - 1, 1], tree, work)
            if at < 0:
                return at, count
            if node >= 0:
                shapeless |= enter(i, node, tree, work, stamp, kind)


@helper
def read_tuple(buffer, at, end, i, tree, shapes, work, stamp, start, length, kind):
    """The place after the tuple at `at`, or WRONG; its wanted values are written for tuple i, NULL for missing ones."""
    for column in range(len(kind)):
        kind[column, i] = NULL
    is_object = at < end and buffer[at] == OPEN
    if is_object:
        after = follow(buffer, at, end, i, shapes, start, length, kind)
        if after >= 0:
            return after  # otherwise the keys up to the difference are read again, into the same places
    root = np.int64(0) if is_object else np.int64(-1)
    after, scalars = read_value(buffer, at, end, i, root, tree, work, stamp, start, length, kind)
    if is_object and after >= 0 and scalars >= 0:
        learn(buffer, at, after, work.tokens, scalars, shapes)
    return after


@inlined
def read_all(buffer, message_start, message_length, tree, shapes, work, start, length, kind, message, line, tuple_bad,
             place):
    """As `read_messages`; unless `place` (two rows) is None, it also gets start and length of each tuple."""
    n, stamp = 0, np.int64(0)
    forget_if_full(shapes)
    for node in range(len(work.seen)):
        work.seen[node] = 0
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
            message[n], line[n], tuple_bad[n] = m, number, 0
            is_object, begin = at < end and buffer[at] == OPEN, at
            stamp += 1
            at = read_tuple(buffer, at, end, n, tree, shapes, work, stamp, start, length, kind)
            after, good = at, at >= 0
            stop = after
            if is_list:
                at = skip_space(buffer, at, end) if good else end
                good = at < end and (buffer[at] == COMMA or buffer[at] == CLOSE_LIST)
                is_list = good and buffer[at] == COMMA
                good = good and (is_list or skip_space(buffer, at + 1, end) == end)
                if not good:
                    n, number = first, 0  # the message as a whole is not JSON: one bad tuple
                    message[n], line[n], tuple_bad[n] = m, 0, 0
                    begin, stop = message_start[m], end
                at = skip_space(buffer, at + 1, end) if is_list else end
                number += 1
            else:
                while good and at < end and buffer[at] != NEWLINE:
                    good = skip_space(buffer, at, at + 1) > at
                    at += 1
                at = after if good else find(buffer, NEWLINE, begin, end)
                stop = at
                while at < end and skip_space(buffer, at, at + 1) > at:
                    number += buffer[at] == NEWLINE
                    at += 1
            if not good or not is_object:
                tuple_bad[n] = NOT_AN_OBJECT if good else NOT_JSON
                for c in range(len(kind)):
                    kind[c, n] = NULL
            if place is not None:  # if it is None, numba compiles none of this
                place[0, n], place[1, n] = begin, stop - begin
            n += 1
    return n


@kernel(types.int64(U8, I64, I64, TREE, SHAPES, WORK, OUT_I64_2D, OUT_I64_2D, OUT_U8_2D, OUT_I64, OUT_I32, OUT_U8))
def read_messages(buffer, message_start, message_length, tree, shapes, work, start, length, kind, message, line, tuple_bad):
    """Writes place, length and kind of each wanted value (row: column) of each tuple, its message, its line, and the
    reason if it cannot be read at all. Returns the number of tuples, or -1 if they do not fit."""
    return read_all(buffer, message_start, message_length, tree, shapes, work, start, length, kind, message, line, tuple_bad,
                    None)


@kernel(types.int64(U8, I64, I64, TREE, SHAPES, WORK, OUT_I64_2D, OUT_I64_2D, OUT_U8_2D, OUT_I64, OUT_I32, OUT_U8,
                    OUT_I64_2D))
def place_messages(buffer, message_start, message_length, tree, shapes, work, start, length, kind, message, line, tuple_bad,
                   place):
    """As `read_messages`, and `place` (two rows) gets start and length of each tuple."""
    return read_all(buffer, message_start, message_length, tree, shapes, work, start, length, kind, message, line, tuple_bad,
                    place)
