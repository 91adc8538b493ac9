"""What can go wrong, by a die: what happens to each call of an outside system, and the kinds of fault that were injected."""

from __future__ import annotations

from collections import Counter

from tests.simulate.scheduler import Scheduler

# Redis's client repeats by itself what was not answered; ZooKeeper's does not; what is read of Kafka changes nothing.
FATES = {"redis": ("lost", "unknown", "repeated"), "zookeeper": ("lost", "unknown"), "kafka": ("lost",)}


class Network:
    """The fate of single calls while `rate` is above 0; `counts` says how many of each kind there were."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.rate = 0.0
        self.counts: Counter[str] = Counter()

    def fate(self, system: str) -> str:
        """'' (it works), 'lost' (never arrives), 'unknown' (done, the answer is lost) or 'repeated' (done twice)."""
        if not self.rate or self.scheduler.random.random() >= self.rate:
            return ""
        fate = self.scheduler.random.choice(FATES[system])
        self.count(f"{system} call {fate}")
        return fate

    def count(self, kind: str) -> None:
        """A fault of this kind has been injected."""
        self.counts[kind] += 1
