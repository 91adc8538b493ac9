"""Integers numbered as they come, block by block: windows, integer keys, and cells. All of it lasts for one batch."""

from __future__ import annotations

import random

import numpy as np

from mapper.kernels import fused_cells as kernels

FIRST_ROOM = 1 << 10
DIRECT_BITS = 17  # codes of so many bits have a table with a place for each: it fits into a core's own cache


class Numbers:
    """Numbers of integers: known[n] is the one with number n."""

    def __init__(self) -> None:
        self._seed = np.uint64(random.getrandbits(64))  # nobody can choose values that collide
        self._make(FIRST_ROOM)

    def __len__(self) -> int:
        return int(self._count[0])

    @property
    def known(self) -> np.ndarray:
        """The integers, by number."""
        return self._known[:len(self)]

    def clear(self) -> None:
        """Forgets all."""
        self._make(FIRST_ROOM) if len(self._known) > FIRST_ROOM else self._table.fill(-1)
        self._count[0] = 0

    def number(self, values: np.ndarray, size: int, numbers: np.ndarray) -> None:
        """Writes the number of each value; with a size above 1 of the greatest multiple of it that is not above the
        value."""
        at = 0
        while at < len(values):
            at = kernels.number_integers(values, at, len(values), size, self._seed, self._table, self._known, self._count,
                                         numbers)
            if at < len(values):
                self._lengthen()

    def _make(self, room: int) -> None:
        self._known, self._count = np.empty(room, np.int64), np.zeros(1, np.int64)
        self._table = np.full(4 * room, -1, np.int32)

    def _lengthen(self) -> None:
        held = self.known
        self._make(2 * len(self._known))
        self._known[:len(held)], self._count[0] = held, len(held)
        kernels.index_codes(self._known, len(held), self._seed, False, self._table)


class Cells:
    """Cells by one code each, of at most `bits` bits: known[n] is the code of cell n, tuples[n] its tuples, and
    folded[f, n] its value of fold f."""

    def __init__(self, folds: list[int]) -> None:
        self._seed = np.uint64(random.getrandbits(64))
        self._folds = folds
        self.clear(0)

    def __len__(self) -> int:
        return int(self._count[0])

    @property
    def known(self) -> np.ndarray:
        """The codes, by number of the cell."""
        return self._known[:len(self)]

    @property
    def tuples(self) -> np.ndarray:
        """The number of tuples of each cell."""
        return self._tuples[:len(self)]

    @property
    def folded(self) -> np.ndarray:
        """The folded values, a row for each fold."""
        return self._folded[:, :len(self)]

    def clear(self, bits: int) -> None:
        """Forgets all cells."""
        self._known = self._tuples = np.empty(0, np.int64)
        self._folded, self._count = np.empty((len(self._folds), 0), np.int64), np.zeros(1, np.int64)
        self._make(FIRST_ROOM, bits)

    def recode(self, codes: np.ndarray, bits: int) -> None:
        """Gives each cell another code, of at most so many bits."""
        self.known[:] = codes
        self._index(bits)

    def count(self, codes: np.ndarray, values: list[np.ndarray]) -> None:
        """Counts a tuple for each code; `values` are the columns that are folded."""
        at, cells = 0, np.empty(len(codes), np.int32)
        while at < len(codes):
            at = kernels.count_codes(codes, at, len(codes), self._seed, self._direct, self._table, self._known, self._tuples,
                                     self._count, cells)
            if at < len(codes):
                self._make(2 * len(self._known), self._bits)
        for how, column, out in zip(self._folds, values, self._folded, strict=True):
            kernels.fold(column, cells, len(codes), how, out)

    def _make(self, room: int, bits: int) -> None:
        """Room for so many cells."""
        held, n = (self._known, self._tuples, self._folded), len(self)
        self._known, self._tuples = np.empty(room, np.int64), np.empty(room, np.int64)
        self._folded = np.empty((len(self._folds), room), np.int64)
        for new, old in zip((self._known, self._tuples, self._folded), held, strict=True):
            new[..., :n] = old[..., :n]
        for how, row in zip(self._folds, self._folded, strict=True):
            row[n:] = NOTHING[how]
        self._index(bits)

    def _index(self, bits: int) -> None:
        """Makes the table anew."""
        self._bits, self._direct = bits, bits <= DIRECT_BITS
        self._table = np.full(1 << bits if self._direct else 4 * len(self._known), -1, np.int32)
        kernels.index_codes(self._known, len(self), self._seed, self._direct, self._table)


NOTHING = {kernels.SUM: 0, kernels.LEAST: 2**63 - 1, kernels.GREATEST: -2**63}  # what a fold begins with
