"""Finds the wanted fields of one CSV row. There are two forms: a quick one for most rows, and a careful one for any row.

Both give the same answer. The quick form reads 64 bytes at a time, and gives up at a quote that neither opens nor closes
a whole field.
"""

from __future__ import annotations

import numpy as np

from mapper.kernels import BAD, ESCAPED, NULL, TEXT, helper, inlined
from mapper.kernels.wide import ALL, NONE, ONE, WIDTH, ones, parity, places
from mapper.kernels.words import find, find_near, trailing_zeros

UNCLOSED_QUOTE, TEXT_AFTER_QUOTE = 11, 14  # indices of mapper.batch.REASONS


@helper
def quoted_end(buffer, at, end, quote):
    """(place of the closing quote or `end`, whether there are doubled quotes before it) for the content that starts at
    `at`."""
    doubled = False
    while True:
        at = find(buffer, quote, at, end)
        if at + 1 >= end or buffer[at + 1] != quote:
            return at, doubled
        doubled = True
        at += 2


@inlined
def is_null(buffer, begin, length, null_text):
    """True for an unquoted field that is empty or the stream's NULL text."""
    if length != len(null_text):
        return length == 0
    for i in range(length):  # noqa: SIM110 - numba has no all()
        if buffer[begin + i] != null_text[i]:
            return False
    return True


@inlined
def outside_quotes(quotes, ends, delimiters, inside, after_delimiter, after_quote):
    """(bits outside quoted fields, inside, after_quote for the next 64 bytes, whether all is plain) for 64 bytes with at
    least a quote in or before them.

    `inside` is ALL if the bytes before end inside quotes; `after_delimiter` and `after_quote` are 1 if their last one is
    a delimiter (or the row starts here) or a closing quote; `ends` has a bit at the row's end. A quote is plain if it
    opens at a field's start or closes at a field's end.
    """
    within = parity(quotes) ^ inside
    opens, closes = quotes & within, quotes & ~within
    outside = delimiters & ~within
    wrong = opens & ~((outside << ONE) | after_delimiter)
    wrong |= ((closes << ONE) | after_quote) & ~(outside | ends)
    wrong |= within & ends
    return ~within, (ALL if within >> np.uint64(63) else NONE), closes >> np.uint64(63), wrong == 0


@inlined
def borders(buffer, delimiter, quote, at, end, inside, after_delimiter, after_quote):
    """(a bit for each field's end in the 64 bytes at `at` of a row that ends at `end`, then inside, after_delimiter,
    after_quote and plain as in `outside_quotes`)."""
    found = places(buffer, delimiter, at, end)
    quotes = places(buffer, quote, at, end) if quote >= 0 else NONE
    ends = ONE << np.uint64(end - at) if end - at < WIDTH else NONE
    plain = True
    if quotes | inside | after_quote:
        outside, inside, after_quote, plain = outside_quotes(quotes, ends, found, inside, after_delimiter, after_quote)
        found &= outside
    return found | ends, inside, found >> np.uint64(63), after_quote, plain


@inlined
def quick_fields(buffer, begin, end, needed, delimiter, quote, null_text, i, start, length, kind):
    """As `careful_fields`, or (-1, begin) for a row that only `careful_fields` can read; end + 64 <= len(buffer)."""
    at, field, number, k = begin, begin, np.int64(0), np.int64(0)
    found, inside, comma, closed, plain = borders(buffer, delimiter, quote, at, end, NONE, ONE, NONE)
    while plain and k < len(needed) and field <= end:
        skip = needed[k] - number
        if skip > 0:
            count = ones(found)
            while count < skip and at + WIDTH <= end:
                skip -= count
                at += WIDTH
                found, inside, comma, closed, well = borders(buffer, delimiter, quote, at, end, inside, comma, closed)
                plain &= well
                count = ones(found)
            if count < skip or not plain:
                break
            for _ in range(skip - 1):
                found &= found - ONE
            number, field = needed[k], at + trailing_zeros(found) + 1
            found &= found - ONE
            if field > end:
                break
        while found == 0 and plain:
            at += WIDTH
            found, inside, comma, closed, plain = borders(buffer, delimiter, quote, at, end, inside, comma, closed)
        if not plain:
            break
        stop = at + trailing_zeros(found)
        found &= found - ONE
        if field < stop and buffer[field] == quote:
            start[k, i], length[k, i], kind[k, i] = field + 1, stop - field - 2, TEXT
        else:
            start[k, i], length[k, i] = field, stop - field
            kind[k, i] = NULL if is_null(buffer, field, stop - field, null_text) else TEXT
        number, field = number + 1, stop + 1
        k += 1
    return (k, field) if plain else (np.int64(-1), begin)


@helper
def careful_fields(buffer, begin, end, needed, delimiter, quote, null_text, i, start, length, kind):
    """Writes place, length and kind of the fields with the numbers `needed` (ascending) of the row [begin, end): row i,
    one after the other. Returns (how many of them the row has, the start of the field after the last of them; past `end`
    if there is none)."""
    at, number, k = begin, np.int64(0), np.int64(0)
    while at <= end and k < len(needed):
        first = at
        if at < end and buffer[at] == quote:
            close, doubled = quoted_end(buffer, first + 1, end, quote)
            at = min(close + 1, end)
            while at < end and buffer[at] != delimiter:
                at += 1
            if number == needed[k]:
                start[k, i], length[k, i] = first + 1, close - first - 1
                kind[k, i] = ESCAPED if doubled else TEXT
                if close >= end:
                    kind[k, i] = BAD + UNCLOSED_QUOTE
                elif at > close + 1:
                    kind[k, i] = BAD + TEXT_AFTER_QUOTE
                k += 1
        else:
            at = find_near(buffer, delimiter, at, end)
            if number == needed[k]:
                start[k, i], length[k, i] = first, at - first
                kind[k, i] = NULL if is_null(buffer, first, at - first, null_text) else TEXT
                k += 1
        number += 1
        at += 1
    return k, at
