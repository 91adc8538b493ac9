"""Key parts that were refused, and when each may be read again. As long as a stream is not recovered, each try costs the
reading of a whole commit, in the thread that serves all other key parts.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from mars.runtime.periods import Backoff
from mars.runtime.system import SYSTEM, Clock

MOST_S = 1.0  # a recovery takes less, and a key part must not wait for long after it

Key = tuple[int, int]  # stream id, key part


class Refused:
    """Each refusal in a row doubles the wait, from `least_s` on, until a step succeeds."""

    def __init__(self, least_s: float, clock: Clock = SYSTEM.clock) -> None:
        self._least_s, self._clock = least_s, clock
        self._waits: dict[Key, Backoff] = {}
        self._by_exchange: set[Key] = set()

    def note(self, key: Key, by_exchange: bool = False) -> None:
        """It was refused by the exchange, or its commit could not be read or made."""
        self._waits.setdefault(key, Backoff(self._least_s, MOST_S, self._clock)).begin()
        (self._by_exchange.add if by_exchange else self._by_exchange.discard)(key)

    def forget(self, key: Key) -> None:
        """It works again."""
        self._waits.pop(key, None)
        self._by_exchange.discard(key)

    def heard(self, streams: Collection[int | None]) -> bool:
        """Entries of these streams have come (None: perhaps of any): the exchange has them, and what it has refused need not
        wait any more. True if there is any."""
        back = [key for key in self._by_exchange if key[0] in streams or None in streams]
        for key in back:
            self.forget(key)
        return bool(back)

    def keep(self, keys: Collection[Key]) -> None:
        """Forget all others: another reducer owns them."""
        for key in self._waits.keys() - keys:
            self.forget(key)

    def waits(self, key: Key) -> bool:
        """Is it too soon to read it again?"""
        return key in self._waits and not self._waits[key].is_due()

    def next_in_s(self) -> float:
        """After how long the first that waits may be read; infinite if none waits."""
        return min((wait.due_in_s() for wait in self._waits.values() if not wait.is_due()), default=math.inf)
