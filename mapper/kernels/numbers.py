"""Texts to numbers: all integers and decimals, and floating point numbers if one exact operation gives the rounded
value."""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import (
    BAD,
    I64,
    NULL,
    OUT_F64,
    OUT_I64,
    OUT_U8,
    OUT_U64,
    SPECIAL,
    TEXT,
    U8,
    helper,
    inlined,
    kernel,
)
from mapper.kernels.words import HIGHS, load64

NOT_A_NUMBER, OUT_OF_RANGE, WRONG_JSON_TYPE = 1, 2, 8  # indices of mapper.batch.REASONS
LIBRARY, NULLED = 254, 255  # states of a value besides 0 and reasons: a library must read it, or it is NULL
POWERS = np.array([float(10**i) for i in range(23)])  # all exact
ZEROS = np.uint64(0x3030303030303030)  # eight '0'
FAR = np.int64(10**12)  # any larger exponent counts as this one


@helper
def trimmed(buffer, begin, length):
    """(begin, end) of a field without the spaces and tabs around it."""
    end = begin + length
    while begin < end and (buffer[begin] == 32 or buffer[begin] == 9):
        begin += 1
    while end > begin and (buffer[end - 1] == 32 or buffer[end - 1] == 9):
        end -= 1
    return begin, end


@helper
def unread(kind):
    """The state of a field that has no text to read."""
    return NULLED if kind == NULL else kind - BAD if kind >= BAD else LIBRARY


@inlined
def are_digits(word):
    """True if all eight bytes of a word are ASCII digits."""
    return ((word + np.uint64(0x4646464646464646)) | (word - ZEROS)) & HIGHS == 0


@inlined
def eight_digits(word):
    """The number that eight digits spell; the first digit is in the lowest byte."""
    word -= ZEROS
    word = word * np.uint64(10) + (word >> np.uint64(8))  # pairs, in every other byte
    even, odd = word & np.uint64(0x000000FF000000FF), (word >> np.uint64(16)) & np.uint64(0x000000FF000000FF)
    return (even * np.uint64(100 + (10**6 << 32)) + odd * np.uint64(1 + (10**4 << 32))) >> np.uint64(32)


@inlined
def first_digits(word, count):
    """The first `count` (1 to 8) bytes of a word, with '0' in front to make eight."""
    shift = np.uint64(8 * (8 - count))
    return (word << shift) | (ZEROS & ~(~np.uint64(0) << shift))


@inlined
def quick_integer(buffer, begin, length):
    """(value, True) of a field of 1 to 16 digits and nothing else; else (anything, False)."""
    if length < 1 or length > 16 or begin + 16 > len(buffer):
        return np.int64(0), False
    if length <= 8:
        word = first_digits(load64(buffer, begin), length)
        return np.int64(eight_digits(word)), are_digits(word)
    word, last = first_digits(load64(buffer, begin), length - 8), load64(buffer, begin + length - 8)
    return np.int64(eight_digits(word) * np.uint64(10**8) + eight_digits(last)), are_digits(word) and are_digits(last)


@helper
def careful_integer(buffer, begin, length, lowest, highest):
    """(value, 0) or (0, reason) of any field."""
    at, end = trimmed(buffer, begin, length)
    negative = at < end and buffer[at] == 45
    if negative or (at < end and buffer[at] == 43):
        at += 1
    limit = np.uint64(-(lowest + 1)) + np.uint64(1) if negative else np.uint64(highest)
    value, reason = np.uint64(0), NOT_A_NUMBER if at >= end else 0
    while at < end:
        digit = np.uint64(buffer[at]) - np.uint64(48)  # for bytes below '0' this wraps to far above 9
        if digit > np.uint64(9):
            return np.int64(0), NOT_A_NUMBER
        if value > (limit - digit) // np.uint64(10) or digit > limit:
            reason, value = OUT_OF_RANGE, np.uint64(0)
        if reason == 0:
            value = value * np.uint64(10) + digit
        at += 1
    return -np.int64(value) if negative else np.int64(value), reason


@kernel(types.int64(U8, I64, I64, U8, types.int64, types.int64, OUT_I64, OUT_U8))
def read_integers(buffer, start, length, kind, lowest, highest, out, state):
    """Integers of [lowest, highest]: optional sign, ASCII digits, spaces around. Returns how many states are not 0."""
    others = 0
    for i in range(len(start)):
        if kind[i] != TEXT:
            out[i], state[i] = 0, unread(kind[i])
            others += 1
            continue
        value, plain = quick_integer(buffer, start[i], length[i])
        if plain and value <= highest:
            out[i], state[i] = value, 0
            continue
        value, reason = careful_integer(buffer, start[i], length[i], lowest, highest)
        out[i], state[i] = value, reason
        others += reason != 0
    return others


@helper
def special(buffer, at, end):
    """0 for no special, 1 for infinity or inf, 2 for nan; in letters of any case."""
    word = np.uint64(0)
    if end - at > 8:
        return 0
    for i in range(at, end):
        word = (word << np.uint64(8)) | np.uint64(buffer[i] | 32)
    if word == np.uint64(0x696E66) or word == np.uint64(0x696E66696E697479):
        return 1
    return 2 if word == np.uint64(0x6E616E) else 0


@helper
def decimal_shape(buffer, at, end):
    """(digits' begin, digits' end, place of the point or digits' end, exponent) of [digits][.digits][e[sign]digits];
    begin is -1 if the text has no such shape."""
    begin, point, digits = at, np.int64(-1), 0
    while at < end:
        if buffer[at] == 46 and point < 0:
            point = at
        elif 48 <= buffer[at] <= 57:
            digits += 1
        else:
            break
        at += 1
    stop, exponent = at, np.int64(0)
    if digits == 0:
        return np.int64(-1), stop, stop, exponent
    if at < end and (buffer[at] | 32) == 101:
        at += 1
        negative = at < end and buffer[at] == 45
        if negative or (at < end and buffer[at] == 43):
            at += 1
        if at == end:
            return np.int64(-1), stop, stop, exponent
        while at < end and 48 <= buffer[at] <= 57:
            exponent = min(exponent * 10 + np.int64(buffer[at]) - 48, FAR)
            at += 1
        if negative:
            exponent = -exponent
    if at < end:
        return np.int64(-1), stop, stop, exponent
    return begin, stop, point if point >= 0 else stop, exponent


@helper
def short_double(buffer, begin, end, point, exponent, most, furthest):
    """(value, True) if digits and power of ten are so small that one rounded operation is the correct answer."""
    mantissa = np.uint64(0)
    for at in range(begin, end):
        if at != point:
            if mantissa > most:
                return 0.0, False
            mantissa = mantissa * np.uint64(10) + np.uint64(buffer[at] - 48)
    if point < end:
        exponent -= end - point - 1
    if mantissa > most or exponent > furthest or exponent < -furthest:
        return 0.0, False
    if exponent < 0:
        return np.float64(mantissa) / POWERS[-exponent], True
    return np.float64(mantissa) * POWERS[exponent], True


@kernel(types.int64(U8, I64, I64, U8, types.int64, types.int64, OUT_F64, OUT_U8))
def read_doubles(buffer, start, length, kind, mantissa_bits, furthest, out, state):
    """Floating point numbers, nan, inf and infinity. A well-formed number that is not exact in one operation gets the
    state LIBRARY. With mantissa_bits 24 and furthest 10 the value is right for single precision, with 53 and 22 for
    double. A field of kind SPECIAL may hold only nan and the infinities. Returns how many states are not 0."""
    others = 0
    most = np.uint64(1) << np.uint64(mantissa_bits)
    for i in range(len(start)):
        out[i] = 0.0
        if kind[i] != TEXT and kind[i] != SPECIAL:
            state[i] = unread(kind[i])
            others += 1
            continue
        at, end = trimmed(buffer, start[i], length[i])
        negative = at < end and buffer[at] == 45
        if negative or (at < end and buffer[at] == 43):
            at += 1
        word = special(buffer, at, end)
        value, reason = 0.0, 0
        if word:
            value = np.inf if word == 1 else np.nan
        elif kind[i] == SPECIAL:
            reason = WRONG_JSON_TYPE
        else:
            begin, stop, point, exponent = decimal_shape(buffer, at, end)
            if begin < 0:
                reason = NOT_A_NUMBER
            else:
                value, exact = short_double(buffer, begin, stop, point, exponent, most, furthest)
                reason = 0 if exact else LIBRARY
        out[i] = -value if negative else value
        state[i] = reason
        others += reason != 0
    return others


@helper
def times_ten(low, high, digit):
    """The 128-bit low, high times 10 plus a digit."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    first = (low & mask) * np.uint64(10) + np.uint64(digit)
    second = (low >> half) * np.uint64(10) + (first >> half)
    return (second << half) | (first & mask), high * np.uint64(10) + (second >> half)


@helper
def scaled(buffer, begin, end, point, exponent, precision, scale):
    """(low, high, fits) of the digits times 10**scale, rounded half up; fits means at most `precision` digits."""
    low, high = np.uint64(0), np.uint64(0)
    weight = exponent + (point - begin) - 1  # of the digit at hand, as a power of ten
    started, up = False, False
    for at in range(begin, end):
        if at == point:
            continue
        digit = buffer[at] - 48
        if digit and not started:
            started = True
            if weight >= precision - scale:
                return low, high, False
        if weight >= -scale:
            low, high = times_ten(low, high, digit)
        elif weight == -scale - 1:
            up = digit >= 5
        weight -= 1
    while started and weight >= -scale:
        low, high = times_ten(low, high, 0)
        weight -= 1
    if up:
        low += np.uint64(1)
        high += np.uint64(low == np.uint64(0))
    return low, high, True


@kernel(types.int64(U8, I64, I64, U8, types.int64, types.int64, OUT_U64, OUT_U64, OUT_U8))
def read_decimals(buffer, start, length, kind, precision, scale, limit, out, state):
    """DECIMAL(precision, scale) as Arrow's decimal128: two words a value in `out`, rounded half up. `limit` is
    10**precision in two words. Returns how many states are not 0."""
    others = 0
    for i in range(len(start)):
        out[2 * i] = out[2 * i + 1] = 0
        if kind[i] != TEXT:
            state[i] = unread(kind[i])
            others += 1
            continue
        at, end = trimmed(buffer, start[i], length[i])
        negative = at < end and buffer[at] == 45
        if negative or (at < end and buffer[at] == 43):
            at += 1
        begin, stop, point, exponent = decimal_shape(buffer, at, end)
        reason = NOT_A_NUMBER
        if begin >= 0:
            low, high, fits = scaled(buffer, begin, stop, point, exponent, precision, scale)
            fits = fits and (high < limit[1] or (high == limit[1] and low < limit[0]))
            reason = 0 if fits else OUT_OF_RANGE
            if fits and negative:
                low, high = ~low + np.uint64(1), ~high
                high += np.uint64(low == np.uint64(0))
            if fits:
                out[2 * i], out[2 * i + 1] = low, high
        state[i] = reason
        others += reason != 0
    return others
