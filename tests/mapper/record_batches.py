"""Record batches of Kafka, written by hand for the tests of what reads them: small, slow and plain."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import cramjam
import google_crc32c

CODECS = ("none", "gzip", "snappy", "lz4", "zstd", "xerial")


@dataclass(frozen=True)
class Record:
    """One record; `delta` is its offset less the batch's."""

    delta: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    time_delta: int = 0


def varint(value: int) -> bytes:
    """A zigzag varint."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def sized(data: bytes | None) -> bytes:
    """Bytes after their length, -1 for None."""
    return varint(-1) if data is None else varint(len(data)) + data


def record(item: Record) -> bytes:
    """A record as it lies in a batch."""
    headers = varint(len(item.headers)) + b"".join(sized(name) + sized(value) for name, value in item.headers)
    body = b"\0" + varint(item.time_delta) + varint(item.delta) + sized(item.key) + sized(item.value) + headers
    return varint(len(body)) + body


def compress(data: bytes, codec: str) -> bytes:
    """As a producer would; 'xerial' is snappy in the frames of Java's library."""
    if codec == "none":
        return data
    if codec == "snappy":
        return bytes(cramjam.snappy.compress_raw(data))
    if codec == "xerial":
        blocks = [bytes(cramjam.snappy.compress_raw(data[i:i + 100])) for i in range(0, len(data), 100)]
        head = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
        return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    return bytes(getattr(cramjam, codec).compress(data))


def batch(base: int, records: list[Record], *, codec: str = "none", last_delta: int | None = None, epoch: int = 0,
          producer: int = -1, transactional: bool = False, control: bool = False, count: int | None = None,
          base_time: int = 1000, append_time: int | None = None) -> bytes:
    """A whole record batch with a right checksum."""
    number = {"none": 0, "gzip": 1, "snappy": 2, "xerial": 2, "lz4": 3, "zstd": 4}[codec]
    attributes = number | (append_time is not None) << 3 | transactional << 4 | control << 5
    last = max((item.delta for item in records), default=0) if last_delta is None else last_delta
    most = append_time if append_time is not None else base_time
    checked = struct.pack(">hiqqqhii", attributes, last, base_time, most, producer, 0, 0,
                          len(records) if count is None else count)
    checked += compress(b"".join(map(record, records)), codec)
    head = struct.pack(">qiibI", base, len(checked) + 9, epoch, 2, google_crc32c.value(checked))
    return head + checked


def values(base: int, *items: bytes | None, **options) -> bytes:
    """A batch of values without gaps."""
    return batch(base, [Record(i, item) for i, item in enumerate(items)], **options)


def marker(base: int, producer: int, abort: bool) -> bytes:
    """The control batch that ends a transaction."""
    key = struct.pack(">hh", 0, 0 if abort else 1)
    return batch(base, [Record(0, b"\0\0\0\0\0\0", key)], producer=producer, transactional=True, control=True)
