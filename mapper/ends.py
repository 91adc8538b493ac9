"""The ends of a topic's partitions, as one worker knows them, and the partitions where it waits for tuples. Pure except
for a clock.

Each partition is at home with one worker, as long as the same workers live. That worker waits for its tuples, so the
broker sends them once and not to every worker. The others look now and then, and take what was left there for a while.
Home is only a habit: any worker may claim anything at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mars.runtime.periods import Every
from mars.runtime.system import SYSTEM, Clock

LOOK_S = 0.2  # between looks at all partitions: tuples elsewhere that are still there two looks later are taken
AWAIT_MS = 100  # for tuples, when there is nothing to claim
GATHER_MS = 60  # after some have come, for more of them
GATHER_BATCHES = 3  # gather no more than this: then a claim's own cost is small compared with that of its tuples


@dataclass
class Ends:
    """The last stable offsets up to which this worker may claim; `home` are the partitions where it waits for tuples."""

    known: dict[int, int] = field(default_factory=dict)
    home: frozenset[int] = frozenset()
    clock: Clock = SYSTEM.clock
    _looked: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._looks, self._gathering = Every(LOOK_S, self.clock), Every(GATHER_MS / 1000, self.clock)

    def are_old(self) -> bool:
        """Should the broker be asked again for all partitions before claiming?"""
        return self._looks.is_due()

    def looked(self, ends: dict[int, int], stream_id: int, worker: str, workers: Sequence[str]) -> None:
        """Takes the ends of all partitions as the broker gave them, while these workers live. A partition that is not at
        home here is known only up to its end at the previous look: the rest is for the worker who waits there."""
        self.home = home(ends, stream_id, worker, workers)
        self.known = {p: end if p in self.home else self._looked.get(p, end) for p, end in ends.items()}
        self._looked = ends
        self._looks.begin()

    def came(self, ends: dict[int, int]) -> None:
        """Takes the ends of partitions at home, after a wait for them."""
        if any(end > self.known.get(p, 0) for p, end in ends.items()):
            self._gathering.begin()
        self.known = self.known | ends

    def patience(self, batch_offsets: int) -> tuple[int, int]:
        """(the longest wait in ms, offsets of a partition to wait for). After a pause the first tuple is enough. Then
        tuples gather for a moment, up to three batches, because a claim costs about the same however few it takes."""
        if self._gathering.is_due():
            return AWAIT_MS, 1
        return round(1000 * self._gathering.due_in_s()), GATHER_BATCHES * batch_offsets


def home(partitions: Sequence[int] | dict[int, int], stream_id: int, worker: str, workers: Sequence[str]) -> frozenset[int]:
    """The partitions that are at home with `worker`; all of them if it does not find itself among the workers."""
    if worker not in workers:
        return frozenset(partitions)
    ranks = sorted(workers)
    return frozenset(p for p in partitions if ranks[(p + stream_id) % len(ranks)] == worker)
