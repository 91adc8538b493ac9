"""Record batches as the broker sends them to plain records: pure, checked, and with no object per record.

Wire: 'Record Batch' of the Kafka protocol guide; transactions: KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cramjam
import google_crc32c
import numpy as np

from mapper.batch import Messages
from mapper.kernels import records as layout
from mapper.records import PADDING, Batches, CorruptRecords, Records, padded

CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
XERIAL = b"\x82SNAPPY\x00"
TRANSACTIONAL, CONTROL = 16, 32
FOREVER = 2**63 - 1


@dataclass
class Decoded:
    """The visible records of some record batches: every offset in [start, next_offset) has been looked at.

    `epochs` has the runs of batches of one leader epoch in log order: first offset, offset after the last, leader epoch.
    """

    records: Records
    next_offset: int
    epochs: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def messages(self) -> Messages:
        """Where the values lie. Raises CorruptRecords."""
        return self.records.messages()

    def epoch_before(self, offset: int) -> tuple[int, int] | None:
        """The leader epoch of the last batch that starts before `offset`, and the offset, at most this one, up to which the
        log is surely of it; None if there is no batch here."""
        return next(((epoch, min(end, offset)) for first, end, epoch in reversed(self.epochs) if first < offset), None)


def decode(records: bytes | memoryview, start: int, end: int = FOREVER,
           aborted: Iterable[tuple[int, int]] = ()) -> Decoded:
    """The records with offset in [start, end) that read-committed consumers see, checked and decompressed.

    `records` must be what one Fetch at an offset <= start answered, from its first byte on, and `aborted` that same
    answer's aborted transactions (producer id, first offset): both are told relative to the fetch. A batch cut at
    the end is ignored; batches at or past `end` are not looked at. Raises CorruptRecords.
    """
    buffer = np.frombuffer(records, np.uint8)
    batches = _batches(buffer, end)
    if not len(batches):
        return Decoded(Records((), start, end), start)
    last = batches[-1]
    next_offset = max(start, int(last[layout.BASE] + last[layout.LAST_DELTA]) + 1)
    wanted = _visible(buffer, batches, sorted(aborted, key=lambda pair: pair[1]))
    wanted &= (batches[:, layout.BASE] + batches[:, layout.LAST_DELTA] >= start) & (batches[:, layout.COUNT] > 0)
    _check_sums(buffer, batches)
    rows = batches[wanted]
    parts = _decompressed(buffer, rows) if (rows[:, layout.ATTRIBUTES] & 7).any() else _as_they_lie(buffer, rows)
    for part in parts:
        _check_counts(part)
    return Decoded(Records(parts, start, end), next_offset, _epochs(batches))


def _epochs(batches: np.ndarray) -> list[tuple[int, int, int]]:
    """(first offset, offset after the last, leader epoch) of each run of batches of one leader epoch."""
    epochs = batches[:, layout.EPOCH]
    changes = np.flatnonzero(epochs[1:] != epochs[:-1])
    firsts, lasts = np.append(0, changes + 1), np.append(changes, len(batches) - 1)
    ends = batches[lasts, layout.BASE] + batches[lasts, layout.LAST_DELTA] + 1
    return list(zip(batches[firsts, layout.BASE].tolist(), ends.tolist(), epochs[firsts].tolist(), strict=True))


def _batches(buffer: np.ndarray, end: int) -> np.ndarray:
    """The headers of the whole batches that start before `end`, one row of layout.FIELDS each."""
    rows = np.empty((len(buffer) // layout.HEADER, layout.FIELDS), np.int64)
    count = layout.batch_headers(buffer, rows)
    if count == layout.OLD_FORMAT:
        raise CorruptRecords("message format 0 or 1 (of Kafka before 0.11) is not read")
    if count < 0:
        raise CorruptRecords("a header that cannot be one")
    rows = rows[:count]
    return rows[:np.searchsorted(rows[:, layout.BASE], end)]


def _check_sums(buffer: np.ndarray, batches: np.ndarray) -> None:
    """Compares the CRC-32C of every batch, over the bytes where they lie."""
    for position, size, expected, base in batches[:, [layout.POSITION, layout.SIZE, layout.CRC, layout.BASE]].tolist():
        if google_crc32c.value(buffer[position + 21:position + size]) != expected:
            raise CorruptRecords("wrong CRC-32C", base)


def _check_counts(part: Batches) -> None:
    """No batch tells of more records than its bytes can hold: room is made for as many as are told."""
    lies = np.flatnonzero(part.rows[:, layout.COUNT] * layout.SMALLEST_RECORD > part.end - part.begin)
    if len(lies):
        raise CorruptRecords("more records told than its bytes can hold", int(part.rows[lies[0], layout.BASE]))


def _visible(buffer: np.ndarray, batches: np.ndarray, aborted: list[tuple[int, int]]) -> np.ndarray:
    """True for each batch that is neither a control batch nor of an aborted transaction.

    A producer's batches are aborted from its transaction's first offset to its abort marker; the same producer may
    begin and abort again, so the markers must be followed in order.
    """
    visible = batches[:, layout.ATTRIBUTES] & CONTROL == 0
    if not aborted:
        return visible
    waiting, current = list(reversed(aborted)), set()
    transactional = np.flatnonzero(batches[:, layout.ATTRIBUTES] & TRANSACTIONAL)
    for i in transactional.tolist():
        row = batches[i]
        while waiting and waiting[-1][1] <= row[layout.BASE] + row[layout.LAST_DELTA]:
            current.add(waiting.pop()[0])
        producer = int(row[layout.PRODUCER])
        if visible[i]:
            visible[i] = producer not in current
        elif _is_abort(buffer, row):
            current.discard(producer)
    return visible


def _is_abort(buffer: np.ndarray, row: np.ndarray) -> bool:
    """True if this control batch is an abort marker. One that was emptied is none: the log cleaner keeps it for the sake of
    its producer's last number alone."""
    if row[layout.COUNT] == 0:
        return False
    _check_sums(buffer, row[np.newaxis])
    begin, end = int(row[layout.POSITION]) + layout.HEADER, int(row[layout.POSITION] + row[layout.SIZE])
    kind = layout.control_type(buffer, begin, end)
    if kind < 0:
        raise CorruptRecords("a control record that cannot be read", int(row[layout.BASE]))
    return kind == 0


def _as_they_lie(buffer: np.ndarray, rows: np.ndarray) -> tuple[Batches, ...]:
    """Uncompressed batches in the response's own bytes. Where it ends too soon after the last of them, that one is copied:
    each of them is longer than the padding, so that it is never more than one."""
    begin, end = rows[:, layout.POSITION] + layout.HEADER, rows[:, layout.POSITION] + rows[:, layout.SIZE]
    kept = len(rows) - bool(len(rows) and end[-1] + PADDING > len(buffer))
    parts = [Batches(buffer, rows[:kept], begin[:kept], end[:kept])] if kept else []
    if kept < len(rows):
        tail = padded([buffer[begin[kept]:end[kept]]])
        parts.append(Batches(tail, rows[kept:], begin[kept:] - begin[kept], end[kept:] - begin[kept]))
    return tuple(parts)


def _decompressed(buffer: np.ndarray, rows: np.ndarray) -> tuple[Batches, ...]:
    """The records of all batches in one buffer of their own."""
    parts = []
    for row in rows:
        begin, end = int(row[layout.POSITION]) + layout.HEADER, int(row[layout.POSITION] + row[layout.SIZE])
        parts.append(_plain(buffer[begin:end], int(row[layout.ATTRIBUTES]) & 7, int(row[layout.BASE])))
    lengths = np.array([len(part) for part in parts], np.int64)
    ends = np.cumsum(lengths)
    return (Batches(padded(parts), rows, ends - lengths, ends),)


def _plain(data: np.ndarray, codec: int, base: int) -> np.ndarray:
    """The bytes that a producer compressed by that codec."""
    if codec == 0:
        return data
    try:
        if codec == 2:
            return _snappy(data)
        return np.frombuffer(getattr(cramjam, CODECS[codec]).decompress(data), np.uint8)
    except (cramjam.DecompressionError, KeyError, ValueError) as error:
        raise CorruptRecords(f"codec {CODECS.get(codec, codec)}: {error}", base) from error


def _bytes_of(buffer: Any) -> np.ndarray:
    """uint8 over a buffer of cramjam, whose hints do not say that it is one."""
    return np.frombuffer(buffer, np.uint8)


def _snappy(data: np.ndarray) -> np.ndarray:
    """Snappy as Java's producers write it (xerial framing: blocks with their lengths) or as one plain block."""
    if data[:8].tobytes() != XERIAL:
        return _bytes_of(cramjam.snappy.decompress_raw(data.data))
    parts, at = [np.empty(0, np.uint8)], 16
    while at < len(data):
        size = int.from_bytes(data[at:at + 4].tobytes(), "big")
        if at + 4 + size > len(data):
            raise ValueError("a block longer than its batch")
        parts.append(_bytes_of(cramjam.snappy.decompress_raw(data[at + 4:at + 4 + size].data)))
        at += 4 + size
    return np.concatenate(parts)
