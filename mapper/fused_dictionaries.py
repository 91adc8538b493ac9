"""The dictionaries of all text columns of a stream in the same arrays, for a kernel that serves any number of them.

Each has a shelf in every array (mapper/kernels/fused_rows.py). As in mapper/parse_dictionary.py keys are only ever appended,
and arrays that are too small are replaced, so that what earlier batches hold of them stays as it is.
"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from mapper.kernels import texts
from mapper.kernels.fused_rows import COUNT, HEADS_AT, HEADS_SIZE, KEYS_AT, KEYS_SIZE, TABLE_AT, TABLE_SIZE
from mapper.parse_dictionary import KEY_BYTES, KEYS

FIRST_HEADS, FIRST_KEYS = 1 << 9, 1 << 14  # keys, and bytes of keys, for which there is room at first
KEY_BYTES_MAX = np.iinfo(np.int32).max  # as `ends` are int32


class Dictionaries:
    """`count` dictionaries; dictionary i has the row `shelves[i]`."""

    def __init__(self, count: int) -> None:
        self.seed = np.uint64(random.getrandbits(64))  # nobody can choose keys that collide
        self._count = count
        self.drop()

    def drop(self) -> None:
        """Starts anew, empty: codes have another meaning then."""
        self._lay([FIRST_HEADS] * self._count, [FIRST_KEYS] * self._count)

    def trim(self) -> None:
        """Drops them if one of them has grown too large; to be called between batches."""
        if any(count > KEYS or self._used(i) > KEY_BYTES for i, count in enumerate(self.shelves[:, COUNT].tolist())):
            self.drop()

    def grow(self, number: int, length: int) -> None:
        """Makes room for at least one more key of that length in one of them."""
        heads_sizes, keys_sizes = self.shelves[:, HEADS_SIZE].tolist(), self.shelves[:, KEYS_SIZE].tolist()
        used = self._used(number)
        if used + length > KEY_BYTES_MAX:
            raise OverflowError("distinct strings of one batch exceed 2 GiB")
        if used + length > keys_sizes[number]:
            keys_sizes[number] = min(2 * (used + length), KEY_BYTES_MAX)
        if self.shelves[number, COUNT] == heads_sizes[number]:
            heads_sizes[number] *= 2
        before, held = self.shelves, (self.heads, self.ends, self.keys)
        self._lay(heads_sizes, keys_sizes)
        for i, shelf in enumerate(before):
            self._take_over(i, shelf, *held)

    def arrow(self, number: int) -> pa.Array:
        """All keys so far of one of them as an Arrow string array, over the same memory."""
        count, first, at = (int(self.shelves[number, where]) for where in (COUNT, HEADS_AT, KEYS_AT))
        first += number  # a dictionary has one end more than it has keys
        if len(self._arrows[number]) != count:
            self._arrows[number] = pa.StringArray.from_buffers(
                count, pa.py_buffer(self.ends[first:first + count + 1]),
                pa.py_buffer(self.keys[at:at + self._used(number)]))
        return self._arrows[number]

    def _used(self, number: int) -> int:
        """The bytes of a dictionary's keys."""
        return int(self.ends[self.shelves[number, HEADS_AT] + number + self.shelves[number, COUNT]])

    def _lay(self, heads_sizes: list[int], keys_sizes: list[int]) -> None:
        """Fresh arrays with empty shelves of these sizes. A table is at most a quarter full."""
        self.shelves = np.zeros((self._count, COUNT + 1), np.int64)
        for at, size, sizes in ((TABLE_AT, TABLE_SIZE, [4 * heads for heads in heads_sizes]),
                                (HEADS_AT, HEADS_SIZE, heads_sizes), (KEYS_AT, KEYS_SIZE, keys_sizes)):
            self.shelves[:, size] = sizes
            self.shelves[:, at] = np.cumsum(sizes) - sizes
        self.table = np.full(4 * sum(heads_sizes), -1, np.int32)
        self.heads = np.zeros((sum(heads_sizes), 4), np.uint64)
        self.ends = np.zeros(sum(heads_sizes) + self._count, np.int32)
        self.keys = np.empty(sum(keys_sizes), np.uint8)
        self._arrows = [pa.array([], pa.string())] * self._count

    def _take_over(self, number: int, shelf: np.ndarray, heads: np.ndarray, ends: np.ndarray, keys: np.ndarray) -> None:
        """Puts the keys of a dictionary, from where they lay before, on its new shelf."""
        count, now = int(shelf[COUNT]), self.shelves[number]
        self.heads[now[HEADS_AT]:][:count] = heads[shelf[HEADS_AT]:][:count]
        self.ends[now[HEADS_AT] + number:][:count + 1] = ends[shelf[HEADS_AT] + number:][:count + 1]
        now[COUNT] = count
        used = self._used(number)
        self.keys[now[KEYS_AT]:][:used] = keys[shelf[KEYS_AT]:][:used]
        texts.index_keys(self.heads[now[HEADS_AT]:], count, self.table[now[TABLE_AT]:][:now[TABLE_SIZE]])
