"""CSV (RFC 4180): where tuples lie in messages, and where their fields lie."""

from __future__ import annotations

from numba import types

from mapper.kernels import BAD, ESCAPED, I64, NULL, OUT_I32, OUT_I64, OUT_I64_2D, OUT_U8, OUT_U8_2D, TEXT, U8, helper, kernel
from mapper.kernels.words import find, find_near

NEWLINE, RETURN, SPACE, TAB = 10, 13, 32, 9
UNCLOSED_QUOTE, MISSING_FIELD, EXTRA_FIELD, TEXT_AFTER_QUOTE = 11, 12, 13, 14  # indices of mapper.batch.REASONS


@helper
def quoted_end(buffer, at, end, quote):
    """(place of the closing quote or `end`, whether doubled quotes lie before it) for the content that starts at `at`."""
    doubled = False
    while True:
        at = find(buffer, quote, at, end)
        if at + 1 >= end or buffer[at + 1] != quote:
            return at, doubled
        doubled = True
        at += 2


@helper
def line_end(buffer, begin, end, delimiter, quote):
    """The place of the newline that ends the tuple at `begin`, or `end`; one inside a quoted field ends nothing."""
    at = begin
    while at < end:
        if buffer[at] == quote:
            at, _ = quoted_end(buffer, at + 1, end, quote)
            at = min(at + 1, end)
        while at < end and buffer[at] != delimiter:
            if buffer[at] == NEWLINE:
                return at
            at += 1
        at += 1
    return end


@helper
def is_blank(buffer, begin, end, delimiter):
    """True if nothing but spaces and tabs lies in [begin, end); a delimiter is a field's end, not a space."""
    for at in range(begin, end):  # noqa: SIM110 - numba has no all()
        if (buffer[at] != SPACE and buffer[at] != TAB) or buffer[at] == delimiter:
            return False
    return True


@kernel(types.int64(U8, I64, I64, types.int64, types.int64, OUT_I64, OUT_I64, OUT_I64, OUT_I32))
def split_lines(buffer, message_start, message_length, delimiter, quote, start, length, message, line):
    """Writes place, length, message and line of each tuple; returns their count, or -1 if they do not fit.

    A quote (-1: none) is looked for only in messages of several lines: elsewhere it cannot move a tuple's end.
    """
    n = 0
    for m in range(len(message_start)):
        at, number = message_start[m], 0
        end = at + message_length[m]
        stop = find(buffer, NEWLINE, at, end)
        quotes = stop < end and quote >= 0 and find(buffer, quote, at, end) < end
        while at < end:
            if quotes:
                stop = line_end(buffer, at, end, delimiter, quote)
            elif number > 0:
                stop = find(buffer, NEWLINE, at, end)
            last = stop - 1 if stop > at and buffer[stop - 1] == RETURN else stop
            if not is_blank(buffer, at, last, delimiter):
                if n == len(start):
                    return -1
                start[n], length[n], message[n], line[n] = at, last - at, m, number
                n += 1
            number += 1
            at = stop + 1
    return n


@helper
def is_null(buffer, begin, length, null_text):
    """True for an unquoted field that is empty or the stream's NULL text."""
    if length != len(null_text):
        return length == 0
    for i in range(length):  # noqa: SIM110 - numba has no all()
        if buffer[begin + i] != null_text[i]:
            return False
    return True


@kernel(types.int64(U8, OUT_I64, OUT_I64, types.int64, I64, types.int64, types.int64, U8, types.boolean,
                    OUT_I64_2D, OUT_I64_2D, OUT_U8_2D, OUT_U8))
def find_fields(buffer, tuple_start, tuple_length, count, needed, delimiter, quote, null_text, strict,
                start, length, kind, tuple_bad):
    """Place, length and kind of the fields with the numbers `needed` (ascending) of `count` tuples: row k, column i.

    Stops after the last needed field, unless `strict`: then tuple_bad tells of missing and extra fields (it is
    written to only then). Returns how many it wrote a reason for.
    """
    bad = 0
    last = len(needed) - 1
    for i in range(count):
        at, number, k = tuple_start[i], 0, 0
        end = at + tuple_length[i]
        while at <= end and k <= last:
            begin = at
            if at < end and buffer[at] == quote:
                close, doubled = quoted_end(buffer, begin + 1, end, quote)
                at = min(close + 1, end)
                while at < end and buffer[at] != delimiter:
                    at += 1
                if number == needed[k]:
                    start[k, i], length[k, i] = begin + 1, close - begin - 1
                    kind[k, i] = ESCAPED if doubled else TEXT
                    if close >= end:
                        kind[k, i] = BAD + UNCLOSED_QUOTE
                    elif at > close + 1:
                        kind[k, i] = BAD + TEXT_AFTER_QUOTE
                    k += 1
            else:
                at = find_near(buffer, delimiter, at, end)
                if number == needed[k]:
                    start[k, i], length[k, i] = begin, at - begin
                    kind[k, i] = NULL if is_null(buffer, begin, at - begin, null_text) else TEXT
                    k += 1
            number += 1
            at += 1
        if strict and (k <= last or at <= end):
            tuple_bad[i] = MISSING_FIELD if k <= last else EXTRA_FIELD
            bad += 1
        while k <= last:
            kind[k, i] = NULL
            k += 1
    return bad


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
