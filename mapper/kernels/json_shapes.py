"""Shapes: tuples with the same structure as earlier ones are read without being parsed again.

The separators of a tuple are the bytes between its scalars: brackets, keys, colons, commas, blanks. A text with the
separators of a tuple that was parsed, and with scalars between them, is JSON with that tuple's structure: the grammar
allows any scalar in the place of another one. So a tuple costs one comparison per separator and the check of each scalar.
Known shapes are a tree of steps, so shapes that begin alike share their beginning. A step is a separator and what follows
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from mapper.kernels import OUT_I64, OUT_I64_2D, OUT_U8, helper, inlined
from mapper.kernels.json_tokens import WRONG, read_scalar
from mapper.kernels.vectors import WIDTH, differences
from mapper.kernels.words import copy

PLACE, LENGTH, COLUMN, NEXT, OTHER = range(5)  # of a step: its text, the scalar's column, the next step, the alternative
UNWANTED, END = -1, -2  # in place of a column: the scalar is not wanted; no scalar follows and the tuple ends
STEPS, TEXT_BYTES, OTHERS_MAX, SEPARATOR_MAX = 1024, 65_536, 8, 256
USED_STEPS, USED_BYTES, FULL = range(3)
TOKENS = np.int64(256)  # tuples of more scalars have no shape


class Shapes(NamedTuple):
    """The known shapes: steps (a row each), the separators' texts (32-byte aligned), how much of both is used."""

    steps: np.ndarray
    texts: np.ndarray
    used: np.ndarray


SHAPES = types.NamedTuple((OUT_I64_2D, OUT_U8, OUT_I64), Shapes)


def no_shapes() -> Shapes:
    """The empty set of shapes."""
    return Shapes(np.empty((STEPS, 5), np.int64), np.zeros(TEXT_BYTES, np.uint8), np.zeros(3, np.int64))


@inlined
def same_text(buffer, at, texts, place, length):
    """True if buffer[at:at + length] is that text; `length` is above 0, and 32 more bytes may be read of both."""
    while length > WIDTH:
        if differences(buffer, at, texts, place):
            return False
        at, place, length = at + WIDTH, place + WIDTH, length - WIDTH
    return differences(buffer, at, texts, place) << np.uint64(64 - length) == 0


@helper
def follow(buffer, at, end, i, shapes, start, length, kind):
    """The place after the tuple at `at`, or WRONG if it has no known shape; its wanted values are written for tuple i."""
    steps, last = shapes.steps, len(buffer) - SEPARATOR_MAX - WIDTH
    step = np.int64(0) if shapes.used[USED_STEPS] else np.int64(-1)
    while step >= 0 and at <= last:
        while not same_text(buffer, at, shapes.texts, steps[step, PLACE], steps[step, LENGTH]):
            step = steps[step, OTHER]
            if step < 0:
                return np.int64(WRONG)
        at += steps[step, LENGTH]
        column = steps[step, COLUMN]
        if column == END:
            return at if at <= end else np.int64(WRONG)
        if at >= end:
            break
        at, text, size, what = read_scalar(buffer, at, end)
        if at < 0:
            break
        if column >= 0:
            start[column, i], length[column, i], kind[column, i] = text, size, what
        step = steps[step, NEXT]
    return np.int64(WRONG)


@helper
def add_step(buffer, at, size, column, shapes):
    """A new step with the separator buffer[at:at + size], joined to nothing; -1 if there is no room."""
    step, place = shapes.used[USED_STEPS], shapes.used[USED_BYTES]
    after = place + (size + WIDTH - 1) // WIDTH * WIDTH
    if step == STEPS or after > TEXT_BYTES:
        shapes.used[FULL] = 1
        return np.int64(-1)
    copy(buffer, at, size, shapes.texts, place)
    row = shapes.steps[step]
    row[PLACE], row[LENGTH], row[COLUMN], row[NEXT], row[OTHER] = place, size, column, -1, -1
    shapes.used[USED_STEPS], shapes.used[USED_BYTES] = step + 1, after
    return step


@helper
def same_bytes(buffer, at, texts, place, size):
    """True if `size` bytes of both are the same."""
    for i in range(size):  # noqa: SIM110 - numba has no all()
        if buffer[at + i] != texts[place + i]:
            return False
    return True


@helper
def learn(buffer, at, after, tokens, count, shapes):
    """Adds the shape of the parsed tuple [at, after), whose `count` scalars are rows of start, end and column."""
    steps, parent = shapes.steps, np.int64(-1)
    if shapes.used[FULL]:
        return
    step = np.int64(0) if shapes.used[USED_STEPS] else np.int64(-1)
    for k in range(count + 1):
        size = (tokens[k, 0] if k < count else after) - at
        before, others = np.int64(-1), 0
        while step >= 0 and not (
            steps[step, LENGTH] == size and same_bytes(buffer, at, shapes.texts, steps[step, PLACE], size)
        ):
            before, step, others = step, steps[step, OTHER], others + 1
        if step < 0:
            if others == OTHERS_MAX or size > SEPARATOR_MAX:
                return
            step = add_step(buffer, at, size, tokens[k, 2] if k < count else END, shapes)
            if step < 0:
                return
            if before >= 0:
                steps[before, OTHER] = step
            elif parent >= 0:
                steps[parent, NEXT] = step
        at, parent, step = tokens[k, 1], step, steps[step, NEXT]


@helper
def forget_if_full(shapes):
    """Makes room for new shapes. A stream whose shapes are always new pays for learning only until they fill the room."""
    if shapes.used[FULL]:
        shapes.used[USED_STEPS], shapes.used[USED_BYTES], shapes.used[FULL] = 0, 0, 0
