"""A cache that is bounded by bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ByteLru(Generic[K, V]):
    """The values that were used last, as long as they are at most `bytes_max` by `size` together; so one that is larger
    alone is not kept at all. `size` of a value never changes. Not thread-safe."""

    def __init__(self, bytes_max: int, size: Callable[[V], int]) -> None:
        self.bytes_max = bytes_max
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()
        self._bytes = 0

    def __iter__(self) -> Iterator[K]:
        """The keys, the one that was used longest ago first."""
        return iter(self._values)

    def peek(self, key: K) -> V | None:
        """The value, None if it is not kept. This is no use of it."""
        return self._values.get(key)

    def get(self, key: K) -> V | None:
        """The value, which is now the one used last; None if it is not kept."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep a value in place of the one that the key has; then let go of those used longest ago, as many as must be."""
        self.pop(key)
        self._values[key] = value
        self._bytes += self._size(value)
        while self._bytes > self.bytes_max:
            self.pop(next(iter(self._values)))

    def pop(self, key: K) -> V | None:
        """Let go of a value, None if it is not kept."""
        value = self._values.pop(key, None)
        if value is not None:
            self._bytes -= self._size(value)
        return value
