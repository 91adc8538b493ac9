"""Kafka record batches (format v2) straight from rows of equal length: vectorised, one copy a row."""

from __future__ import annotations

import struct
from collections.abc import Callable

import cramjam
import google_crc32c
import numpy as np

# base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base time, max time, producer
# id, its # epoch, base sequence, record count
HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_AT, CRC_FROM = 17, 21
TIMES_AT = 27
LENGTH_FROM = 12
NO_PRODUCER = -1
# (bytes of the varint of an offset delta, the first delta that needs more)
RUNS = ((1, 1 << 6), (2, 1 << 13), (3, 1 << 20))


def encode(rows: np.ndarray, now_ms: int, codec: str = "none") -> bytes:
    """One record batch with a message for each row of `rows` (bytes), without keys and headers. `codec` is one of
    CODECS."""
    number, compress = CODECS[codec]
    records = compress(b"".join(_records(rows)))
    count = len(rows)
    head = (0, HEADER.size - LENGTH_FROM + len(records), -1, 2)
    tail = (number, count - 1, now_ms, now_ms, NO_PRODUCER, -1, -1, count)
    checked = HEADER.pack(*head, 0, *tail)[CRC_FROM:] + records
    return HEADER.pack(*head, google_crc32c.value(checked), *tail)[:CRC_FROM] + checked


def _lz4(data: bytes) -> bytes:
    """A frame of blocks that do not refer to each other: Java's clients read no others."""
    frame = cramjam.lz4.Compressor(block_linked=False)
    frame.compress(data)
    return bytes(frame.finish())


# name: (number in the attributes, compression), as producers have them by default
CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "none": (0, bytes), "lz4": (3, _lz4), "zstd": (4, lambda data: bytes(cramjam.zstd.compress(data, 3)))}


class Template:
    """A record batch whose rows can be written over in place, byte columns at a time, and sealed again."""

    def __init__(self, rows: np.ndarray) -> None:
        self.buffer = np.frombuffer(bytearray(encode(rows, 0)), np.uint8)
        self.runs, at, first = [], HEADER.size, 0
        for width, end in RUNS:
            count = min(len(rows), end) - first
            if count <= 0:
                break
            before, stride = _layout(rows.shape[1], width)
            run = self.buffer[at:at + count * stride].reshape(count, stride)
            self.runs.append((first, run[:, before:before + rows.shape[1]]))
            at, first = at + count * stride, first + count

    def write(self, column: int, values: np.ndarray) -> None:
        """Put `values`, one row of bytes for each row, at this byte of the rows."""
        for first, run in self.runs:
            run[:, column:column + values.shape[1]] = values[first:first + len(run)]

    def sealed(self, now_ms: int) -> bytes:
        """The batch as it is now, with a time and the checksum that belongs to it."""
        self.buffer[TIMES_AT:TIMES_AT + 16] = np.array([now_ms, now_ms], ">i8").view(np.uint8)
        crc = google_crc32c.value(self.buffer[CRC_FROM:].tobytes())
        self.buffer[CRC_AT:CRC_FROM] = np.array([crc], ">u4").view(np.uint8)
        return self.buffer.tobytes()


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
    for width, end in RUNS:
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


def _layout(size: int, width: int) -> tuple[int, int]:
    """(bytes before the value, bytes of a record) for values of `size` bytes and offset deltas of `width` bytes."""
    body = 2 + width + len(varint(-1)) + len(varint(size)) + size + 1
    whole = len(varint(body)) + body
    return whole - size - 1, whole
