"""Kafka record batches (format v2) straight from rows of equal length: vectorised, one copy a row."""

from __future__ import annotations

import struct

import google_crc32c
import numpy as np

# base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base time, max time, producer
# id, its # epoch, base sequence, record count
HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_FROM = 21
LENGTH_FROM = 12
NO_PRODUCER = -1


def encode(rows: np.ndarray, now_ms: int) -> bytes:
    """One uncompressed record batch with a message for each row of `rows` (bytes), without keys and
    headers."""
    records = b"".join(_records(rows))
    count = len(rows)
    head = (0, HEADER.size - LENGTH_FROM + len(records), -1, 2)
    tail = (0, count - 1, now_ms, now_ms, NO_PRODUCER, -1, -1, count)
    checked = HEADER.pack(*head, 0, *tail)[CRC_FROM:] + records
    return HEADER.pack(*head, google_crc32c.value(checked), *tail)[:CRC_FROM] + checked


def varint(value: int) -> bytes:
    """A signed integer as Kafka writes it: zigzag, seven bits a byte."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _records(rows: np.ndarray) -> list[memoryview]:
    """The records, in runs whose offset deltas have varints of one length, so that a run is one array of
    bytes."""
    runs = []
    start = 0
    for width, end in ((1, 1 << 6), (2, 1 << 13), (3, 1 << 20)):
        part = rows[start:end]
        if len(part):
            runs.append(_run(part, start, width))
        start = end
    return runs


def _run(rows: np.ndarray, first: int, width: int) -> memoryview:
    count, size = rows.shape
    before = b"\0\0"                       # attributes, time delta
    after = varint(-1) + varint(size)      # no key, the value's length
    body = len(before) + width + len(after) + size + 1
    prefix = varint(body) + before
    out = np.zeros((count, len(prefix) + body - len(before)), np.uint8)
    out[:, :len(prefix)] = np.frombuffer(prefix, np.uint8)
    zigzag = (first + np.arange(count)) << 1
    for byte in range(width):
        more = 0x80 if byte < width - 1 else 0
        out[:, len(prefix) + byte] = zigzag >> (7 * byte) & 0x7F | more
    value = len(prefix) + width + len(after)
    out[:, value - len(after):value] = np.frombuffer(after, np.uint8)
    out[:, value:value + size] = rows
    return out.data.cast("B")
