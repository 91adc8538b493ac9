"""Key parts that were refused, and when each may be read again. As long as a stream is not recovered, each try costs the
reading of a whole commit, in the thread that serves all other key parts.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field

MOST_S = 1.0

Key = tuple[int, int]  # stream id, key part


@dataclass
class Wait:
    """How long and until when; `by_exchange`: the exchange has refused it, else its commit could not be read or made."""

    seconds: float
    until: float
    by_exchange: bool


@dataclass
class Refused:
    """Each refusal in a row doubles the wait, from `least_s` on, until a step succeeds."""

    least_s: float
    _waits: dict[Key, Wait] = field(default_factory=dict)

    def note(self, key: Key, by_exchange: bool = False) -> None:
        """It was refused, or could not be loaded."""
        seconds = min(MOST_S, 2 * self._waits[key].seconds) if key in self._waits else self.least_s
        self._waits[key] = Wait(seconds, time.monotonic() + seconds, by_exchange)

    def forget(self, key: Key) -> None:
        """It works again."""
        self._waits.pop(key, None)

    def heard(self, streams: Collection[int | None]) -> bool:
        """Entries of these streams have come (None: perhaps of any): the exchange has them, and what it has refused need not
        wait any more. True if there is any."""
        back = [key for key, wait in self._waits.items() if wait.by_exchange and (key[0] in streams or None in streams)]
        for key in back:
            del self._waits[key]
        return bool(back)

    def keep(self, keys: Collection[Key]) -> None:
        """Forget all others: another reducer owns them."""
        for key in self._waits.keys() - keys:
            del self._waits[key]

    def waits(self, key: Key) -> bool:
        """Is it too soon to read it again?"""
        return key in self._waits and time.monotonic() < self._waits[key].until

    def next_at(self) -> float | None:
        """When the first that waits may be read."""
        now = time.monotonic()
        return min((wait.until for wait in self._waits.values() if wait.until > now), default=None)
