"""Key parts that were refused, and when each may be read again. As long as a stream is not recovered, each try costs the
reading of a whole commit, in the thread that serves all other key parts.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from mars.runtime.periods import Backoff
from mars.runtime.system import SYSTEM, Clock
from reducer.committing.assignment import PartId

MOST_S = 1.0  # a recovery takes less, and a key part must not wait for long after it


class Refusals:
    """Each refusal in a row doubles the wait, from `least_s` on, until a step succeeds."""

    def __init__(self, least_s: float, clock: Clock = SYSTEM.clock) -> None:
        self._least_s, self._clock = least_s, clock
        self._waits: dict[PartId, Backoff] = {}
        self._by_exchange: set[PartId] = set()

    def note(self, id_: PartId, by_exchange: bool = False) -> None:
        """It was refused by the exchange, or its commit could not be read or made."""
        self._waits.setdefault(id_, Backoff(self._least_s, MOST_S, self._clock)).begin()
        (self._by_exchange.add if by_exchange else self._by_exchange.discard)(id_)

    def forget(self, id_: PartId) -> None:
        """It works again."""
        self._waits.pop(id_, None)
        self._by_exchange.discard(id_)

    def heard(self, streams: Collection[int | None]) -> bool:
        """Entries of these streams have come (None: perhaps of any): the exchange has them, and what it has refused need not
        wait any more. True if there is any."""
        back = [id_ for id_ in self._by_exchange if id_.stream_id in streams or None in streams]
        for id_ in back:
            self.forget(id_)
        return bool(back)

    def keep(self, ids: Collection[PartId]) -> None:
        """Forget all others: another reducer owns them."""
        for id_ in self._waits.keys() - ids:
            self.forget(id_)

    def waits(self, id_: PartId) -> bool:
        """Is it too soon to read it again?"""
        return id_ in self._waits and not self._waits[id_].is_due()

    def next_in_s(self) -> float:
        """After how long the first that waits may be read; infinite if none waits."""
        return min((wait.due_in_s() for wait in self._waits.values() if not wait.is_due()), default=math.inf)
