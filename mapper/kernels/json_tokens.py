"""The tokens of JSON (RFC 8259): where strings, numbers and literals end, whether they are well-formed.

A place WRONG means that the token is not JSON. The caller checks whether texts are UTF-8.
"""

from __future__ import annotations

import numpy as np

from mapper.kernels import ESCAPED, FRACTION, LITERAL, NULL, NUMBER, TEXT, helper, inlined
from mapper.kernels.vectors import WIDTH, non_digits, string_stops
from mapper.kernels.words import trailing_zeros, word_at

QUOTE, BACKSLASH, MINUS, POINT, ZERO = 34, 92, 45, 46, 48
WRONG = -1
TRUE, NULL_WORD, FALSE = (np.uint64(int.from_bytes(word, "little")) for word in (b"true", b"null", b"false"))
FOUR_BYTES = np.uint64(2**32 - 1)


@inlined
def skip_space(buffer, at, end):
    """The next place that is not JSON whitespace."""
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


@inlined
def string_end(buffer, at, end):
    """(place of the closing quote or WRONG, whether there are escapes) of the string whose content starts at `at`."""
    escaped = False
    while at < end:
        if at + WIDTH <= len(buffer):
            stops = string_stops(buffer, at)
            if stops == 0:
                at += WIDTH
                continue
            at += trailing_zeros(stops)
            if at >= end:
                break
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


@inlined
def digits_end(buffer, at, end):
    """The place after the digits at `at`."""
    while at + WIDTH <= len(buffer):
        stops = non_digits(buffer, at)
        if stops:
            return min(at + trailing_zeros(stops), end)
        at += WIDTH
    while at < end and 48 <= buffer[at] <= 57:
        at += 1
    return min(at, end)


@inlined
def number_end(buffer, at, end):
    """(place after the number at `at` or WRONG, whether it has a fraction or an exponent)."""
    begin = at + 1 if buffer[at] == MINUS else at
    at = digits_end(buffer, begin, end)
    if at == begin or (buffer[begin] == ZERO and at > begin + 1):
        return np.int64(WRONG), False
    if at == end or (buffer[at] != POINT and (buffer[at] | 32) != 101):
        return at, False
    if buffer[at] == POINT:
        begin = at + 1
        at = digits_end(buffer, begin, end)
        if at == begin:
            return np.int64(WRONG), False
    if at < end and (buffer[at] | 32) == 101:
        begin = at + 1
        if begin < end and (buffer[begin] == 43 or buffer[begin] == MINUS):
            begin += 1
        at = digits_end(buffer, begin, end)
        if at == begin:
            return np.int64(WRONG), False
    return at, True


@inlined
def literal_end(buffer, at, end):
    """The place after true, false or null at `at`, or WRONG."""
    word = word_at(buffer, at, min(end - at, 5))
    if word & FOUR_BYTES == TRUE or word & FOUR_BYTES == NULL_WORD:
        return at + 4
    return at + 5 if word == FALSE else np.int64(WRONG)


@inlined
def read_scalar(buffer, at, end):
    """(place after the string, number or literal at `at` or WRONG, where its text starts, its length, its kind)."""
    first = buffer[at]
    if first == QUOTE:
        close, escaped = string_end(buffer, at + 1, end)
        return close + 1 if close >= 0 else close, at + 1, close - at - 1, ESCAPED if escaped else TEXT
    if first == MINUS or 48 <= first <= 57:
        after, fraction = number_end(buffer, at, end)
        return after, at, after - at, FRACTION if fraction else NUMBER
    after = literal_end(buffer, at, end)
    return after, at, after - at, NULL if first == 110 else LITERAL
