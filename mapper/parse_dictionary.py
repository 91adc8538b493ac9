"""Encodes strings by a dictionary that grows from batch to batch, ready for Arrow without a copy."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from mapper.kernels import texts
from mapper.parse_fields import Column, longer

KEYS, KEY_BYTES = 1 << 17, 8 << 20  # a dictionary larger than either is dropped before the next batch


class Dictionary:
    """One column's dictionary. Keys are only ever appended, so the Arrow dictionaries of earlier batches stay valid. When
    room runs out, a larger copy takes over, and the old arrays live as long as those batches."""

    def __init__(self) -> None:
        self.seed = np.uint64(random.getrandbits(64))  # nobody can choose keys that collide
        self.drop()

    def drop(self) -> None:
        """Empties the dictionary."""
        self.table = np.full(1 << 11, -1, np.int32)
        self.heads = np.zeros((1 << 9, 4), np.uint64)
        self.ends = np.zeros((1 << 9) + 1, np.int32)
        self.keys = np.empty(1 << 14, np.uint8)
        self.counts = np.zeros(2, np.int64)
        self._arrow: pa.Array | None = None

    def encode(self, column: Column, codes: np.ndarray, state: np.ndarray) -> int:
        """Writes the codes (int32) and states of a column of texts; returns how many states are not 0."""
        self.counts[1] = at = 0
        while True:
            at = texts.encode(column.buffer, column.start, column.length, column.kind, at, self.seed, self.table,
                              self.heads, self.ends, self.keys, self.counts, codes, state)
            if at == len(column):
                return int(self.counts[1])
            self._grow(int(column.length[at]))

    def arrow(self) -> pa.Array:
        """All keys so far as an Arrow string array, over the same memory."""
        count = int(self.counts[0])
        if self._arrow is None or len(self._arrow) != count:
            keys = self.keys[:self.ends[count]]
            self._arrow = pa.StringArray.from_buffers(count, pa.py_buffer(self.ends[:count + 1]), pa.py_buffer(keys))
        return self._arrow

    def trim(self) -> None:
        """Drops a dictionary that has grown too large; codes of later batches have another meaning then."""
        count = int(self.counts[0])
        if count > KEYS or self.ends[count] > KEY_BYTES:
            self.drop()

    def _grow(self, length: int) -> None:
        """Makes room for at least one more key of that length."""
        count = int(self.counts[0])
        used = int(self.ends[count])
        if used + length > len(self.keys):
            if used + length > np.iinfo(np.int32).max:
                raise OverflowError("distinct strings of one batch exceed 2 GiB")
            self.keys = longer(self.keys, used, min(2 * (used + length), np.iinfo(np.int32).max))  # `ends` are int32
        if count == len(self.heads):
            self.ends = longer(self.ends, count + 1, 2 * count + 1)
            self.heads = longer(self.heads, count, 2 * count)
        if 4 * (count + 1) > len(self.table):
            self.table = np.full(2 * len(self.table), -1, np.int32)
            texts.index_keys(self.heads, count, self.table)
