"""Record batches of CSV to columns in one go over the bytes: records, fields and values.

Read one after the other, records are found, then fields, then each column, and the places of all of them are written and
read again in between. Here a row's values are all that is written. What the kernel reads is told by arrays, so that it is
compiled once: which fields, of which kind, in which dictionaries.
"""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import I64, I64_2D, OUT_I32, OUT_I64, OUT_I64_2D, OUT_U8, OUT_U64_2D, U8, inlined, kernel
from mapper.kernels.csv import NEWLINE, RETURN, SPACE, TAB
from mapper.kernels.fused_rows import NO_ROOM, READ, UNUSUAL, read_row
from mapper.kernels.records import ATTRIBUTES, BASE, BASE_TIME, CORRUPT, COUNT, LAST_DELTA, MAX_TIME, next_record
from mapper.kernels.wide import find_wide

# `form`: offsets that are read, characters of the stream, which column is the event time, and how it is judged.
(FIRST, STOP, DELIMITER, QUOTE, TIME, WRITTEN_MAX, WRITTEN_TIMES, WRITTEN_BY, FUTURE_LIMIT, TIME_FIRST, TIME_END) = range(11)
# `state`: where reading goes on, and what was read. NEEDED is the length of a key for which there is no room, and its
# dictionary above 32 bits; GREATEST the batch's part in the watermark (mapper.batch.ParsedBatch.max_event_time); TUPLES
# counts those of earlier blocks.
BATCH, AT, LEFT, PREVIOUS, ROWS, ASIDE, NEEDED, GREATEST, TUPLES = range(9)
DONE = READ
NO_ASIDE_ROOM = 4  # what `read_columns` returns besides the states of a row
NEVER = 2**63 - 1


@inlined
def read_message(buffer, at, end, record_offset, written, form, fields, null_text, seed, table, heads, ends, keys, shelves,
                 values, offset, line, n, state):
    """(what became of it, rows so far) of a message of one or many lines. A message that is not READ leaves no row, but
    some of its texts may have become keys."""
    delimiter, quote, time, number = form[DELIMITER], form[QUOTE], form[TIME], 0
    ahead = min(written, NEVER - form[FUTURE_LIMIT]) + form[FUTURE_LIMIT]
    first, greatest = n, state[GREATEST]
    stop = find_wide(buffer, NEWLINE, at, end)
    if stop < end and quote >= 0 and find_wide(buffer, quote, at, end) < end:
        return UNUSUAL, n  # a quote may hold the end of a line, or move it
    while at < end:
        last = stop - 1 if stop > at and buffer[stop - 1] == RETURN else stop
        if at < last:
            if (buffer[at] == SPACE or buffer[at] == TAB) and buffer[at] != delimiter:
                return UNUSUAL, first  # it may be blank
            if n == len(offset):
                return NO_ROOM, first
            found, state[NEEDED] = read_row(buffer, at, last, fields, delimiter, quote, null_text, seed, table, heads, ends,
                                            keys, shelves, values, n)
            if found != READ:
                return found, first
            moment = values[time, n]
            if moment < form[TIME_FIRST] or moment >= form[TIME_END] or moment > ahead:
                return UNUSUAL, first
            greatest = max(greatest, min(moment, written))
            offset[n], line[n] = record_offset, number
            n += 1
        number += 1
        at = stop + 1
        stop = find_wide(buffer, NEWLINE, at, end) if at < end else end
    state[GREATEST] = greatest
    return READ, n


@inlined
def in_units(time_ms, form):
    """A record's timestamp in the stream's unit; NEVER if it has none, or none that the unit can hold."""
    if time_ms <= 0 or time_ms > form[WRITTEN_MAX]:
        return np.int64(NEVER)
    return time_ms // form[WRITTEN_BY] if form[WRITTEN_BY] > 1 else time_ms * form[WRITTEN_TIMES]


@kernel(types.int64(U8, I64_2D, I64, I64, I64, I64_2D, U8, types.uint64, OUT_I32, OUT_U64_2D, OUT_I32, OUT_U8, OUT_I64_2D,
                    OUT_I64_2D, OUT_I64, OUT_I32, OUT_I64_2D, OUT_I64))
def read_columns(buffer, batches, begins, batch_ends, form, fields, null_text, seed, table, heads, ends, keys, shelves,
                 values, offset, line, aside, state):
    """Reads rows from state[BATCH] and state[AT] on (AT below 0: from the batch's first record), each to a column of
    `values`, `offset` and `line`, from state[ROWS] on. Messages with an unusual row leave no row: place, length, offset and
    time of their values go to `aside`.

    Returns DONE, or CORRUPT, or what there was no room for; then `state` says where to go on once there is. `begins`,
    `batch_ends`: of the records of each batch, as in mapper.records.Batches, which tells of the padding that is needed.
    """
    n, left_out = state[ROWS], state[ASIDE]
    time_ms, written = np.int64(0), np.int64(NEVER)
    for i in range(state[BATCH], len(batches)):
        base, append_time = batches[i, BASE], batches[i, ATTRIBUTES] & 8
        at, left, previous = begins[i], batches[i, COUNT], np.int64(-1)
        if state[AT] >= 0:
            at, left, previous = state[AT], state[LEFT], state[PREVIOUS]
            state[AT] = -1
        while left > 0:
            after, delta, time_delta, value, length = next_record(buffer, at, batch_ends[i], previous,
                                                                  batches[i, LAST_DELTA])
            if after < 0:
                return CORRUPT
            if length >= 0 and form[FIRST] <= base + delta < form[STOP]:
                told = batches[i, MAX_TIME] if append_time else batches[i, BASE_TIME] + time_delta
                if told != time_ms:
                    time_ms, written = told, in_units(told, form)
                found, n = read_message(buffer, value, value + length, base + delta, written, form, fields, null_text, seed,
                                        table, heads, ends, keys, shelves, values, offset, line, n, state)
                if found == UNUSUAL and left_out < aside.shape[1]:
                    aside[0, left_out], aside[1, left_out] = value, length
                    aside[2, left_out], aside[3, left_out] = base + delta, told
                    left_out += 1
                elif found != READ:
                    state[BATCH], state[AT], state[LEFT], state[PREVIOUS] = i, at, left, previous
                    state[ROWS], state[ASIDE] = n, left_out
                    return NO_ASIDE_ROOM if found == UNUSUAL else found
            previous, at = delta, after
            left -= 1
        if at != batch_ends[i]:
            return CORRUPT
    state[BATCH], state[ROWS], state[ASIDE] = len(batches), n, left_out
    return DONE
