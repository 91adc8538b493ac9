"""What a reader that follows a result gets at a time."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from mars.results.places import Changes, Place

CHUNK_ROWS = 5_000


@dataclass(frozen=True)
class Chunk:
    """At most CHUNK_ROWS rows of one window, and the place after them. It ends at the same row wherever a reader
    began. Where rows change, it has rows of one key part."""

    behind: Place | Changes
    rows: int


@dataclass(frozen=True)
class Block:
    """Rows as they are shown, and the chunks that they consist of, in order. They are of many small windows, or a part of
    a large one."""

    table: pa.Table
    chunks: list[Chunk]
