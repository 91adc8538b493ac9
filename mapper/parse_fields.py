"""Fields: the places of each tuple's wanted fields, for every format. Splitting makes them; columns are made from
them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mapper.batch import Messages
from mapper.kernels import ESCAPED, TEXT


@dataclass
class Column:
    """One field of every tuple: buffer[start:start + length] holds what `kind` says (mapper.kernels).

    `unescape` gives the texts of ESCAPED fields, as a column of their own of the kind that the plain ones have. The arrays
    are reused by the next parse.
    """

    buffer: np.ndarray
    start: np.ndarray
    length: np.ndarray
    kind: np.ndarray
    unescape: Callable[[Column], Column]

    def __len__(self) -> int:
        return len(self.start)

    def at(self, rows: np.ndarray) -> Column:
        """Only these rows."""
        return Column(self.buffer, self.start[rows], self.length[rows], self.kind[rows], self.unescape)

    def escaped(self) -> np.ndarray:
        """The rows whose text has escapes in it."""
        return np.flatnonzero(self.kind == ESCAPED)


@dataclass
class Fields:
    """Tuples of one batch: their wanted columns by name, Kafka offset and line (fresh arrays), and the reason per tuple
    for those that cannot be read at all (None if there is none). `place` has start and length of each tuple in the
    buffer, if that was asked for."""

    columns: dict[str, Column]
    offset: np.ndarray
    line: np.ndarray
    tuple_bad: np.ndarray | None
    place: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offset)


def side_column(buffer: np.ndarray, ends: np.ndarray, unescape: Callable[[Column], Column], kind: int = TEXT) -> Column:
    """A column of plain texts of that kind that lie one after the other in `buffer`, text i ending at ends[i]."""
    start = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    return Column(buffer, start, ends - start, np.full(len(ends), kind, np.uint8), unescape)


def expected(messages: Messages, per_message: float) -> int:
    """Room for that many tuples per message, but not for more than there can be, because each tuple has at least one
    byte. The limit matters because a message with many lines says nothing about the small ones after it."""
    return min(int(len(messages) * per_message), int(messages.length.sum())) + 16


def longer(array: np.ndarray, used: int, length: int) -> np.ndarray:
    """A longer array with the same first `used` rows, and zeros after them."""
    grown = np.zeros((length, *array.shape[1:]), array.dtype)
    grown[:used] = array[:used]
    return grown


class Room:
    """Arrays that are reused from batch to batch and grow by need."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def take(self, name: str, length: int, dtype: type, rows: int = 0) -> np.ndarray:
        """An array with undefined content, at least `length` long; with rows > 0, that many rows of exactly `length`."""
        array = self._arrays.get(name)
        if array is None or array.size < length * max(rows, 1):
            array = self._arrays[name] = np.empty(max(length * max(rows, 1) * 5 // 4, 1024), dtype)
        return array[:rows * length].reshape(rows, length) if rows else array
