"""New tuples beside a backlog: which fronts to claim before it goes on. Pure except for a clock.

A worker that has a backlog reads it in large batches. The few tuples that come new meanwhile would wait until there is a
batch of them. So after each look at the ends, the fronts of the partitions at home are claimed first, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mars.runtime.system import SYSTEM, Clock

REST = 3  # a round is followed by so many times its length without one: it takes a quarter of a worker's time at most


@dataclass
class Fronts:
    """A round has the ends of partitions whose new tuples are still to be claimed in it: `due`, by partition."""

    clock: Clock = SYSTEM.clock
    due: dict[int, int] = field(default_factory=dict)
    _seen: dict[int, int] = field(default_factory=dict)  # the ends at the last round
    _crowded: set[int] = field(default_factory=set)  # where a claim left tuples: batches come of themselves there
    _began_s: float = 0.0
    _rests_until_s: float = 0.0

    def begin(self, ends: dict[int, int]) -> None:
        """The ends of the partitions at home are known anew. If it is time, a round begins; what an earlier one has left is
        in it."""
        now_s = self.clock.monotonic_s()
        if now_s < self._rests_until_s:
            return
        self.due = {p: end for p, end in ends.items()
                    if p not in self._crowded and (p in self.due or end > self._seen.get(p, -1))}
        self._seen, self._began_s = dict(ends), now_s

    def claimed(self, partition: int, end: int) -> None:
        """A claim of a partition up to an offset was got, in a round or not."""
        if end >= self._seen.get(partition, 0):
            self._crowded.discard(partition)
        elif partition in self.due:
            self._crowded.add(partition)
        if self.due.pop(partition, None) is not None and not self.due:
            self.are_done()

    def are_done(self) -> None:
        """The round is over: there is nothing more to claim in it."""
        now_s = self.clock.monotonic_s()
        self.due = {}
        self._rests_until_s = now_s + REST * (now_s - self._began_s)
