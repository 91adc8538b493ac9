"""A cache in which a value that several threads want at once is made once, for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from mars.runtime.byte_lru import ByteLru
from mars.runtime.system import SYSTEM, Event, Runtime

LOOK_S = 10.0  # a wait wants an end; this one then begins again
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Making(Generic[V]):
    """A value that a thread is making: None until it is there, and for ever if that fails."""

    def __init__(self, ended: Event) -> None:
        self.ended = ended
        self.value: V | None = None


class Shared(Generic[K, V]):
    """Values by all that they depend on, so that any two values of a key are equal. Those used last are kept, at most
    `bytes_max` together by `size`. Thread-safe."""

    def __init__(self, bytes_max: int, size: Callable[[V], int], runtime: Runtime = SYSTEM) -> None:
        self._kept: ByteLru[K, V] = ByteLru(bytes_max, size)
        self._making: dict[K, _Making[V]] = {}
        self._lock, self._event = runtime.lock(), runtime.event

    def get(self, key: K, make: Callable[[], V], is_good: Callable[[V], bool] = lambda value: True) -> V:
        """The value that is kept, as long as it is good; or the one that another thread is making; or a new one. An error
        is for the thread that meets it: each one that waited for that value makes its own."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and is_good(kept):
                return kept
            theirs = self._making.get(key)
            if theirs is None:
                mine = self._making[key] = _Making(self._event())
        if theirs is None:
            return self._make(key, mine, make)
        while not theirs.ended.wait(LOOK_S):
            pass
        return make() if theirs.value is None else theirs.value

    def _make(self, key: K, mine: _Making[V], make: Callable[[], V]) -> V:
        try:
            mine.value = value = make()
            return value
        finally:
            with self._lock:
                del self._making[key]
                if mine.value is not None:
                    self._kept.put(key, mine.value)
            mine.ended.set()
