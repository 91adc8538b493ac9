"""Kafka's record batches, version 2: where each record's value lies. No length in the bytes is trusted."""

from __future__ import annotations

import numpy as np
from numba import types

from mapper.kernels import I64, I64_2D, OUT_I64, OUT_I64_2D, U8, helper, inlined, kernel

HEADER = 61  # bytes from a batch's start to its first record
SMALLEST_RECORD = 7  # seven varints and bytes of one byte each
POSITION, SIZE, BASE, LAST_DELTA, EPOCH, CRC, ATTRIBUTES, BASE_TIME, MAX_TIME, PRODUCER, COUNT = range(11)
FIELDS = 11
CORRUPT, OLD_FORMAT = -1, -2  # what is returned in place of a count


@helper
def big32(buffer, at):
    """The big-endian int32 at `at`."""
    word = (np.uint32(buffer[at]) << np.uint32(24)) | (np.uint32(buffer[at + 1]) << np.uint32(16))
    word |= (np.uint32(buffer[at + 2]) << np.uint32(8)) | np.uint32(buffer[at + 3])
    return np.int64(np.int32(word))


@helper
def big64(buffer, at):
    """The big-endian int64 at `at`."""
    return (big32(buffer, at) << 32) | (big32(buffer, at + 4) & 0xFFFFFFFF)


@helper
def varint(buffer, at, end):
    """(value, place after it) of the zigzag varint at `at`; the place is end + 1 if it does not end before `end`."""
    value = np.uint64(0)
    shift = np.uint64(0)
    while at < end and shift < 70:
        byte = buffer[at]
        at += 1
        value |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), at
        shift += np.uint64(7)
    return np.int64(0), end + 1


@inlined
def short_varint(buffer, at, end):
    """As `varint`, quick for the one to three bytes that most take."""
    if at + 3 > end:
        return varint(buffer, at, end)
    first, second, third = np.int64(buffer[at]), np.int64(buffer[at + 1]), np.int64(buffer[at + 2])
    if first < 0x80:
        value, after = first, at + 1
    elif second < 0x80:
        value, after = (first & 0x7F) | second << 7, at + 2
    elif third < 0x80:
        value, after = (first & 0x7F) | (second & 0x7F) << 7 | third << 14, at + 3
    else:
        return varint(buffer, at, end)
    return value >> 1 ^ -(value & 1), after


@kernel(types.int64(U8, OUT_I64_2D))
def batch_headers(buffer, rows):
    """Fills a row of FIELDS for each whole batch and returns how many there are, as many rows as fit; a cut batch at
    the end is left out. CORRUPT or OLD_FORMAT if a header cannot be one, or offsets do not ascend."""
    at, count, expected = np.int64(0), 0, np.int64(0)
    while at + HEADER <= len(buffer) and count < len(rows):
        size = big32(buffer, at + 8) + 12
        if buffer[at + 16] != 2:
            return OLD_FORMAT if buffer[at + 16] < 2 else CORRUPT
        base, last_delta = big64(buffer, at), big32(buffer, at + 23)
        if size < HEADER or base < expected or last_delta < 0:
            return CORRUPT
        if at + size > len(buffer):
            break
        rows[count, POSITION], rows[count, SIZE] = at, size
        rows[count, BASE], rows[count, LAST_DELTA] = base, last_delta
        rows[count, EPOCH], rows[count, CRC] = big32(buffer, at + 12), big32(buffer, at + 17) & 0xFFFFFFFF
        rows[count, ATTRIBUTES] = (np.int64(buffer[at + 21]) << 8) | np.int64(buffer[at + 22])
        rows[count, BASE_TIME], rows[count, MAX_TIME] = big64(buffer, at + 27), big64(buffer, at + 35)
        rows[count, PRODUCER], rows[count, COUNT] = big64(buffer, at + 43), big32(buffer, at + 57)
        expected = base + last_delta + 1
        at += size
        count += 1
    return count


@inlined
def next_record(buffer, at, end, previous, last_delta):
    """(place after the record at `at`, or CORRUPT; its offset delta, its time delta, place and length of its value; a null
    value is shorter than 0). `previous` is the offset delta of the record before, `last_delta` that of the batch's last."""
    size, at = short_varint(buffer, at, end)
    if at > end or size < SMALLEST_RECORD - 1 or size > end - at:
        return np.int64(CORRUPT), at, at, at, at
    after = at + size
    time_delta, at = short_varint(buffer, at + 1, after)
    delta, at = short_varint(buffer, at, after)
    key, at = short_varint(buffer, at, after)
    if at > after or delta <= previous or delta > last_delta or key > after - at:
        return np.int64(CORRUPT), at, at, at, at
    length, at = short_varint(buffer, at + max(key, 0), after)
    if at > after or length > after - at:
        return np.int64(CORRUPT), at, at, at, at
    return after, delta, time_delta, at, length


@kernel(types.int64(U8, I64_2D, I64, I64, types.int64, types.int64, OUT_I64, OUT_I64, OUT_I64, OUT_I64))
def batch_records(buffer, rows, begins, ends, first, stop, start, length, offset, time):
    """Writes place, length, offset and time of each value of batch i, whose records lie in [begins[i], ends[i]) of the
    buffer; records outside [first, stop) and null values are left out. Returns their count, or CORRUPT."""
    n = 0
    for i in range(len(rows)):
        at, end, previous = begins[i], ends[i], np.int64(-1)
        base, base_time, append_time = rows[i, BASE], rows[i, BASE_TIME], rows[i, ATTRIBUTES] & 8
        for _ in range(rows[i, COUNT]):
            after, delta, time_delta, value, size = next_record(buffer, at, end, previous, rows[i, LAST_DELTA])
            if after < 0:
                return CORRUPT
            if size >= 0 and first <= base + delta < stop:
                start[n], length[n], offset[n] = value, size, base + delta
                time[n] = rows[i, MAX_TIME] if append_time else base_time + time_delta
                n += 1
            previous, at = delta, after
        if at != end:
            return CORRUPT
    return n


@kernel(types.int64(U8, types.int64, types.int64))
def control_type(buffer, begin, end):
    """The type in the key of a control batch's one record at [begin, end): 0 abort, 1 commit; CORRUPT if unreadable."""
    _, at = varint(buffer, begin, end)
    _, at = varint(buffer, at + 1, end)
    _, at = varint(buffer, at, end)
    key, at = varint(buffer, at, end)
    if at > end or key < 4 or key > end - at:
        return CORRUPT
    return (np.int64(buffer[at + 2]) << 8) | np.int64(buffer[at + 3])
