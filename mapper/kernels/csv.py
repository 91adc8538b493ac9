"""CSV (RFC 4180): finds the tuples in messages and the fields in tuples, in one pass over the bytes."""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import I64, NULL, OUT_I32, OUT_I64, OUT_I64_2D, OUT_U8, OUT_U8_2D, U8, helper, inlined, kernel
from mapper.kernels.csv_rows import (
    TEXT_AFTER_QUOTE,
    UNCLOSED_QUOTE,
    careful_fields,
    outside_quotes,
    quick_fields,
    quoted_end,
)
from mapper.kernels.wide import NONE, ONE, WIDTH, find_wide, places
from mapper.kernels.words import find, trailing_zeros

NEWLINE, RETURN, SPACE, TAB = 10, 13, 32, 9
MISSING_FIELD, EXTRA_FIELD = 12, 13  # indices of mapper.batch.REASONS


@helper
def careful_line_end(buffer, begin, end, delimiter, quote):
    """(place of the newline that ends the tuple at `begin`, or `end`; the reason why the whole tuple cannot be read, or
    0).

    A newline inside a quoted field does not end the tuple. But if such a field cannot be read, wanted or not, its quote
    may have swallowed lines that are tuples of their own. Then the whole tuple is bad, so that its letter has them.
    """
    at, reason = begin, 0
    while at < end:
        if buffer[at] == quote:
            first = at + 1
            at, _ = quoted_end(buffer, first, end, quote)
            if at >= end:
                return end, UNCLOSED_QUOTE if reason == 0 and holds_lines(buffer, first, end) else reason
            at += 1
            if at < end and buffer[at] != delimiter and reason == 0:
                reason = TEXT_AFTER_QUOTE if not is_row_end(buffer, at, end) and find(buffer, NEWLINE, first, at) < at else 0
        while at < end and buffer[at] != delimiter:
            if buffer[at] == NEWLINE:
                return at, reason
            at += 1
        at += 1
    return end, reason


@helper
def holds_lines(buffer, begin, end):
    """True if [begin, end) has a newline with more than ends of lines after it."""
    while end > begin and (buffer[end - 1] == NEWLINE or buffer[end - 1] == RETURN):
        end -= 1
    return find(buffer, NEWLINE, begin, end) < end


@helper
def is_row_end(buffer, at, end):
    """True if a row outside quotes ends before `at`, which is below `end`."""
    return buffer[at] == NEWLINE or (buffer[at] == RETURN and (at + 1 == end or buffer[at + 1] == NEWLINE))


@inlined
def quick_line_end(buffer, begin, end, delimiter, quote):
    """The place that `careful_line_end` gives, or -1 for a tuple that only `careful_line_end` can read; end + 64 <=
    len(buffer)."""
    at, inside, after_delimiter, after_quote = begin, NONE, ONE, NONE
    while at < end:
        newlines = places(buffer, NEWLINE, at, end)
        borders = newlines | places(buffer, delimiter, at, end)
        quotes = places(buffer, quote, at, end)
        if quotes | inside | after_quote:
            ends = ONE << np.uint64(end - at) if end - at < WIDTH else NONE
            follows = (newlines | ends) >> ONE  # a bit for each place where the tuple may end after a carriage return
            if end - at == WIDTH or buffer[at + WIDTH] == NEWLINE:
                follows |= ONE << np.uint64(63)
            ends |= places(buffer, RETURN, at, end) & follows
            outside, inside, after_quote, plain = outside_quotes(quotes, ends, borders, inside, after_delimiter, after_quote)
            if not plain:
                return np.int64(-1)
            newlines &= outside
        if newlines:
            return at + trailing_zeros(newlines)
        after_delimiter = borders >> np.uint64(63)
        at += WIDTH
    return np.int64(-1) if inside else end


@inlined
def is_blank(buffer, begin, end, delimiter):
    """True if [begin, end) has only spaces and tabs. A delimiter ends a field and is not a space."""
    for at in range(begin, end):  # noqa: SIM110 - numba has no all()
        if (buffer[at] != SPACE and buffer[at] != TAB) or buffer[at] == delimiter:
            return False
    return True


@inlined
def first_newline(buffer, begin, end, near_end):
    """The first newline in [begin, end), or `end`."""
    return find(buffer, NEWLINE, begin, end) if near_end else find_wide(buffer, NEWLINE, begin, end)


@inlined
def find_tuples(buffer, message_start, message_length, delimiter, quote, needed, null_text, strict,
                message, line, start, length, kind, tuple_bad, place):
    """As `find_fields`; unless `place` (two rows) is None, it also gets start and length of each tuple."""
    n = 0
    for m in range(len(message_start)):
        at, number = message_start[m], 0
        end = at + message_length[m]
        near_end = end + WIDTH > len(buffer)
        stop = first_newline(buffer, at, end, near_end)
        quotes = stop < end and quote >= 0 and find(buffer, quote, at, end) < end
        while at < end:
            if quotes:
                stop = np.int64(-1) if near_end else quick_line_end(buffer, at, end, delimiter, quote)
                if stop < 0:
                    stop, reason = careful_line_end(buffer, at, end, delimiter, quote)
                    if reason and n < len(message):
                        tuple_bad[n] = reason
            elif number > 0:
                stop = first_newline(buffer, at, end, near_end)
            last = stop - 1 if stop > at and buffer[stop - 1] == RETURN else stop
            if not is_blank(buffer, at, last, delimiter):
                if n == len(message):
                    return -1
                message[n], line[n], found, field = m, number, np.int64(-1), at
                if not near_end:
                    found, field = quick_fields(buffer, at, last, needed, delimiter, quote, null_text, n,
                                                start, length, kind)
                if found < 0:
                    found, field = careful_fields(buffer, at, last, needed, delimiter, quote, null_text, n,
                                                  start, length, kind)
                for k in range(found, len(needed)):
                    kind[k, n] = NULL
                if strict and tuple_bad[n] == 0 and (found < len(needed) or field <= last):
                    tuple_bad[n] = MISSING_FIELD if found < len(needed) else EXTRA_FIELD
                if place is not None:  # if it is None, numba compiles none of this
                    place[0, n], place[1, n] = at, last - at
                n += 1
            number += 1
            at = stop + 1
    return n


@kernel(types.int64(U8, I64, I64, types.int64, types.int64, I64, U8, types.boolean,
                    OUT_I64, OUT_I32, OUT_I64_2D, OUT_I64_2D, OUT_U8_2D, OUT_U8))
def find_fields(buffer, message_start, message_length, delimiter, quote, needed, null_text, strict,
                message, line, start, length, kind, tuple_bad):
    """Writes for each tuple its message and line, 0 or the reason why it cannot be read at all, and for its fields with
    the numbers `needed` (ascending) their place, length and kind: row k, column i. Returns how many tuples there are, or
    -1 if they do not fit.

    Reads no further than the last needed field, unless `strict`: then missing and extra fields are a reason too. It looks
    for a quote (-1: none) only where a quote can move the end of a tuple or of a needed field.
    """
    return find_tuples(buffer, message_start, message_length, delimiter, quote, needed, null_text, strict,
                       message, line, start, length, kind, tuple_bad, None)


@kernel(types.int64(U8, I64, I64, types.int64, types.int64, I64, U8, types.boolean,
                    OUT_I64, OUT_I32, OUT_I64_2D, OUT_I64_2D, OUT_U8_2D, OUT_U8, OUT_I64_2D))
def place_fields(buffer, message_start, message_length, delimiter, quote, needed, null_text, strict,
                 message, line, start, length, kind, tuple_bad, place):
    """As `find_fields`, and `place` (two rows) gets start and length of each tuple."""
    return find_tuples(buffer, message_start, message_length, delimiter, quote, needed, null_text, strict,
                       message, line, start, length, kind, tuple_bad, place)


@kernel(types.int64(U8, I64, I64, types.int64, OUT_U8, OUT_I64))
def unescape(buffer, start, length, quote, out, out_end):
    """Copies each field to `out` with doubled quotes made one; field i ends at out_end[i]. Returns the bytes written."""
    n = 0
    for i in range(len(start)):
        at, end = start[i], start[i] + length[i]
        while at < end:
            out[n] = buffer[at]
            n += 1
            at += 2 if buffer[at] == quote else 1
        out_end[i] = n
    return n
