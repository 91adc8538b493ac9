"""What waits between a mapper's fetching thread and its computing thread: small batches first, each kind in order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mapper.batch import CountedBatch, Messages, ParsedBatch
from mapper.records import Records
from mars.adapters.view import StreamView
from mars.model.claims import Claim
from mars.model.plan import QueryPlan
from mars.runtime.system import SYSTEM, Runtime

PLACES = 1  # batches that may wait: one is ready when the current one is computed. Another would only take memory
SMALL_MAX = 4  # small batches that may wait beside them: they are new tuples, and the next large one is fetched meanwhile


@dataclass
class Fetched:
    """A claim whose tuples are here: as records or messages, or, if the local file was found, parsed or counted. `log`:
    see Range. `small`: it is computed in no time, so it goes before large ones."""

    view: StreamView
    claim: Claim
    plans: dict[str, QueryPlan]
    content: Records | Messages | ParsedBatch | CountedBatch | None
    log: tuple[int, int] | None = None
    letters_kept: bool = True
    small: bool = False


class Handoff:
    """At most PLACES batches that wait beside the one that is computed, and up to SMALL_MAX small ones, which are taken
    first. Those of a kind are taken in the order in which they were put.

    The fetching thread reserves a place before it claims, and then either puts a batch or releases the place. The
    computing thread takes a batch, which frees its place, and says when it is done. A small batch frees its place as soon
    as it is put, unless SMALL_MAX wait; so the place is free for a large one, which takes longer to fetch. The computing
    thread is idle while each batch that was put is done: not from `put` on, even before it has taken the batch.
    """

    def __init__(self, runtime: Runtime = SYSTEM) -> None:
        self._changed = runtime.condition()
        self._waiting: deque[Fetched] = deque()
        self._small: deque[Fetched] = deque()
        self._free = PLACES
        self._undone = 0

    # -- the fetching thread --------------------------------------------------------------------------------------

    def reserve(self, timeout_s: float) -> bool:
        """Take a place as soon as one is free; False if none is within that time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._free, timeout_s):
                return False
            self._free -= 1
            return True

    def release(self) -> None:
        """Give back a reserved place that was not used."""
        with self._changed:
            self._free += 1

    def put(self, fetched: Fetched) -> None:
        """Put a batch into a reserved place."""
        with self._changed:
            if fetched.small and len(self._small) < SMALL_MAX:
                self._small.append(fetched)
                self._free += 1
            else:
                self._waiting.append(fetched)
            self._undone += 1
            self._changed.notify_all()

    def is_idle(self) -> bool:
        """Has the computing thread nothing to do?"""
        return not self._undone

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until it has nothing to do; False if it still has after that time."""
        with self._changed:
            return bool(self._changed.wait_for(self.is_idle, timeout_s))

    def take_back(self) -> list[Fetched]:
        """All batches that wait: the computing thread does not get them any more."""
        with self._changed:
            waiting = [*self._small, *self._waiting]
            self._free += len(self._waiting)
            self._undone -= len(waiting)
            self._small.clear()
            self._waiting.clear()
            self._changed.notify_all()
            return waiting

    # -- the computing thread -------------------------------------------------------------------------------------

    def take(self, timeout_s: float) -> Fetched | None:
        """The next batch, as soon as there is one; None if there is none within that time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._small or self._waiting, timeout_s):
                return None
            if self._small:
                return self._small.popleft()
            self._free += 1
            self._changed.notify_all()
            return self._waiting.popleft()

    def done(self) -> None:
        """What was taken last is computed."""
        with self._changed:
            self._undone -= 1
            self._changed.notify_all()
