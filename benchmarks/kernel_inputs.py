"""What the kernels are measured on: the paper's tuples as lines, messages and record batches, and a parser of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.generator import SCHEMA, Generator
from benchmarks.record_batches import encode
from mapper.batch import Messages
from mapper.parse import Parser
from mars.model.plan import Stream, StreamColumn

PACKED = 100  # lines a message
WANTED = ("timestamp", "type", "sip")


def tuples(count: int, seed: int = 1) -> np.ndarray:
    """Rows of LINE_BYTES bytes, 50,000 to the second of event time."""
    return Generator(1_700_000_000, 50_000, seed).lines(count)


def quoted(rows: np.ndarray) -> list[bytes]:
    """Lines of the same tuples with every field in quotes."""
    return [b'"' + row.tobytes().replace(b",", b'","') + b'"' for row in rows]


def plain(rows: np.ndarray) -> list[bytes]:
    """The lines as they are."""
    return [row.tobytes() for row in rows]


def packed(rows: np.ndarray, form: Callable[[np.ndarray], list[bytes]] = plain) -> list[bytes]:
    """PACKED lines a message."""
    lines = form(rows)
    return [b"\n".join(lines[first:first + PACKED]) for first in range(0, len(lines), PACKED)]


def records_of(rows: np.ndarray, batch: int = 6000) -> bytes:
    """Record batches of about 1 MB, as one Fetch response holds them."""
    out = []
    for first in range(0, len(rows), batch):
        data = encode(rows[first:first + batch], 0)
        out.append(first.to_bytes(8, "big") + data[8:])
    return b"".join(out)


def csv_parser() -> Parser:
    """A parser of the paper's tuples."""
    columns = tuple(StreamColumn(*column.split()) for column in SCHEMA.split(", "))
    return Parser(Stream("s", 1, "t", "", columns, "CSV", "timestamp", "s"), WANTED)


def messages_of(items: list[bytes]) -> Messages:
    """Messages with these values, one after the other."""
    length = np.array([len(item) for item in items], np.int64)
    return Messages(np.frombuffer(b"".join(items), np.uint8), np.cumsum(length) - length, length,
                    np.arange(len(items)), np.zeros(len(items), np.int64))
