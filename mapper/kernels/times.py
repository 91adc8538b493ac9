"""Texts to dates and instants, as Spark SQL reads them: yyyy[-m[-d]] and, after T or a space, h:m[:s[.fraction]][zone]."""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import I64, OUT_I64, OUT_U8, TEXT, U8, helper, kernel
from mapper.kernels.numbers import trimmed, unread

OUT_OF_RANGE, NOT_A_DATE, NOT_A_TIMESTAMP = 2, 4, 5  # indices of mapper.batch.REASONS
DAY_US, MINUTE_US, SECOND_US = 86_400_000_000, 60_000_000, 1_000_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
WRONG, FAR = 1, 2  # what read_date and read_clock return besides 0


@helper
def digits(buffer, at, end, most):
    """(value, place after it, how many) of up to `most` decimal digits at `at`."""
    value, begin = np.int64(0), at
    while at < end and at - begin < most and 48 <= buffer[at] <= 57:
        value = value * 10 + np.int64(buffer[at]) - 48
        at += 1
    return value, at, at - begin


@helper
def days_of(year, month, day):
    """Days from 1970-01-01 to that date of the proleptic Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@helper
def month_length(year, month):
    """Days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@helper
def read_date(buffer, at, end):
    """(0 or WRONG or FAR, days, place after the date) of yyyy[-[m]m[-[d]d]] at `at`."""
    year, at, count = digits(buffer, at, end, 6)
    month, day, width = np.int64(1), np.int64(1), 1
    if count < 4:
        return WRONG, np.int64(0), at
    if at < end and buffer[at] == 45:
        month, at, width = digits(buffer, at + 1, end, 2)
        if width and at < end and buffer[at] == 45:
            day, at, width = digits(buffer, at + 1, end, 2)
    if width == 0 or month < 1 or month > 12 or day < 1 or day > month_length(year, month):
        return WRONG, np.int64(0), at
    return FAR if year < 1 or year > 9999 else 0, days_of(year, month, day), at


@helper
def read_zone(buffer, at, end):
    """(0 or WRONG, offset in minutes) of nothing, Z, or +h[h][[:]mm] that ends at `end`."""
    if at == end or (at + 1 == end and (buffer[at] | 32) == 122):
        return 0, np.int64(0)
    negative = buffer[at] == 45
    if not negative and buffer[at] != 43:
        return WRONG, np.int64(0)
    hours, at, width = digits(buffer, at + 1, end, 2)
    minutes, more = np.int64(0), 2
    if at < end:
        minutes, at, more = digits(buffer, at + (buffer[at] == 58), end, 2)
    if width == 0 or more != 2 or at != end or minutes > 59 or hours * 60 + minutes > 18 * 60:
        return WRONG, np.int64(0)
    return 0, -(hours * 60 + minutes) if negative else hours * 60 + minutes


@helper
def read_clock(buffer, at, end):
    """(0 or WRONG, microseconds in the day, UTC) of [h]h:[m]m[:[s]s[.fraction]][zone]; digits past microseconds are cut."""
    hour, at, width = digits(buffer, at, end, 2)
    if width == 0 or hour > 23 or at >= end or buffer[at] != 58:
        return WRONG, np.int64(0)
    minute, at, width = digits(buffer, at + 1, end, 2)
    if width == 0 or minute > 59:
        return WRONG, np.int64(0)
    second, micros = np.int64(0), np.int64(0)
    if at < end and buffer[at] == 58:
        second, at, width = digits(buffer, at + 1, end, 2)
        if width == 0 or second > 59:
            return WRONG, np.int64(0)
        if at < end and buffer[at] == 46:
            micros, at, width = digits(buffer, at + 1, end, 6)
            for _ in range(width, 6):
                micros *= 10
            while at < end and 48 <= buffer[at] <= 57:
                at += 1
    if at < end and buffer[at] == 32:
        at += 1
    wrong, offset = read_zone(buffer, at, end)
    return wrong, (hour * 60 + minute - offset) * MINUTE_US + second * SECOND_US + micros


@kernel(types.int64(U8, I64, I64, U8, types.boolean, OUT_I64, OUT_U8))
def read_times(buffer, start, length, kind, only_date, out, state):
    """Instants in microseconds since the epoch (UTC if no zone is given); or, with only_date, days (then what follows T
    or a space is ignored). Years 1 to 9999. Returns how many states are not 0."""
    others = 0
    for i in range(len(start)):
        out[i] = 0
        if kind[i] != TEXT:
            state[i] = unread(kind[i])
            others += 1
            continue
        at, end = trimmed(buffer, start[i], length[i])
        wrong, days, at = read_date(buffer, at, end)
        clock = np.int64(0)
        if wrong != WRONG and at < end:
            later = buffer[at] == 32 or (buffer[at] | 32) == 116
            if not later:
                wrong = WRONG
            elif not only_date:
                wrong_clock, clock = read_clock(buffer, at + 1, end)
                wrong = WRONG if wrong_clock else wrong
        micros = days * DAY_US + clock
        if wrong == 0 and not FIRST_DAY * DAY_US <= micros < (LAST_DAY + 1) * DAY_US:
            wrong = FAR
        reason = 0
        if wrong == 0:
            out[i] = days if only_date else micros
        else:
            reason = OUT_OF_RANGE if wrong == FAR else NOT_A_DATE if only_date else NOT_A_TIMESTAMP
        state[i] = reason
        others += reason != 0
    return others
