"""Key parts that were refused, and when each may be read again. As long as a stream is not recovered, each try costs the
reading of a whole commit, in the thread that serves all other key parts.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from reducer.committing.assignment import PartId

MOST_S = 1.0


@dataclass
class Wait:
    """How long and until when; `by_exchange`: the exchange has refused it, else its commit could not be read or made."""

    seconds: float
    until: float
    by_exchange: bool


@dataclass
class Refusals:
    """Each refusal in a row doubles the wait, from `least_s` on, until a step succeeds."""

    least_s: float
    _waits: dict[PartId, Wait] = field(default_factory=dict)

    def note(self, id_: PartId, by_exchange: bool = False) -> None:
        """It was refused, or could not be loaded."""
        seconds = min(MOST_S, 2 * self._waits[id_].seconds) if id_ in self._waits else self.least_s
        self._waits[id_] = Wait(seconds, time.monotonic() + seconds, by_exchange)

    def forget(self, id_: PartId) -> None:
        """It works again."""
        self._waits.pop(id_, None)

    def heard(self, streams: Collection[int | None]) -> bool:
        """Entries of these streams have come (None: perhaps of any): the exchange has them, and what it has refused need not
        wait any more. True if there is any."""
        back = [id_ for id_, wait in self._waits.items()
                if wait.by_exchange and (id_.stream_id in streams or None in streams)]
        for id_ in back:
            del self._waits[id_]
        return bool(back)

    def keep(self, ids: Collection[PartId]) -> None:
        """Forget all others: another reducer owns them."""
        for id_ in self._waits.keys() - ids:
            del self._waits[id_]

    def waits(self, id_: PartId) -> bool:
        """Is it too soon to read it again?"""
        return id_ in self._waits and time.monotonic() < self._waits[id_].until

    def next_at(self) -> float | None:
        """When the first that waits may be read."""
        now = time.monotonic()
        return min((wait.until for wait in self._waits.values() if wait.until > now), default=None)
