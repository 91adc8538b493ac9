"""What can go wrong, by a die: each seed draws its own mixture, so that it has much of one thing and none of another.

One mixture for all would hide what needs much of one kind (a restart ends what a slow call would have shown), so every
kind is off in about half of the runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from tests.simulate.scheduler import Scheduler

# What may happen to a call: it takes long; it never arrives; it is done and the answer is lost; the client repeats it at
# once; it is done long after the client gave it up; it is done, and a copy of it arrives after later calls.
SLOW, LOST, UNKNOWN, REPEATED, LATE, ECHOED = "slow", "lost", "unknown", "repeated", "late", "echoed"
# Redis's client repeats by itself what was not answered; ZooKeeper's does not; what is read of Kafka changes nothing.
FATES = {"redis": (SLOW, LOST, UNKNOWN, REPEATED, LATE, ECHOED), "zookeeper": (SLOW, LOST, UNKNOWN), "kafka": (SLOW, LOST)}
LATE_S, SLOW_S = 1.0, 0.3
# What may strike at a crash point, between two steps that touch two systems.
STRIKES = ("kill", "pause", "cut", "empty Redis", "roll Redis back")


@dataclass(frozen=True)
class Mix:
    """A seed's faults: how often calls fail and which way, how slow ZooKeeper's notices and crash points are, what strikes
    at crash points, and which of the driver's actions happen (`weights` by their names)."""

    rate: float
    fates: dict[str, tuple[str, ...]]
    lag: float
    notice_s: float
    slow: float
    struck: float
    strikes: tuple[str, ...]
    weights: dict[str, float]
    disordered: bool

    @property
    def rolls_back(self) -> bool:
        """Does Redis go back to earlier states?"""
        return bool(self.weights.get("lose_redis")) or (self.struck > 0 and "roll Redis back" in self.strikes)

    @staticmethod
    def draw(random: Random, actions: Iterable[tuple[str, float]]) -> Mix:
        """The mixture of this seed."""
        some = lambda of: tuple(one for one in of if random.random() < 0.5) or (random.choice(of),)  # noqa: E731
        return Mix(
            rate=random.choice((0.0, 0.0, 0.01, 0.03, 0.1)),
            fates={system: some(kinds) for system, kinds in FATES.items()},
            lag=random.choice((0.0, 0.2, 0.6)),
            notice_s=random.choice((0.0, 0.0, 0.1, 0.6)),
            slow=random.choice((0.0, 0.05, 0.15, 0.4)),
            struck=random.choice((0.0, 0.0, 0.02, 0.08)),
            strikes=some(STRIKES),
            weights={name: weight * random.choice((0.0, 0.0, 1.0, 4.0)) for name, weight in actions},
            disordered=random.random() < 0.4)


class Network:
    """The fate of single calls while `rate` is above 0; `counts` says how many of each kind there were."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.rate = 0.0
        self.fates = FATES
        self.counts: Counter[str] = Counter()

    def fate(self, system: str) -> str:
        """'' (it works) or one of FATES; a slow call has taken its time when this returns."""
        if not self.rate or self.scheduler.die() >= self.rate:
            return ""
        fate = self.scheduler.random.choice(self.fates[system])
        self.count(f"{system} call {fate}")
        if fate == SLOW:
            self.scheduler.sleep(self.scheduler.die() * SLOW_S)
            return ""
        return fate

    def late(self, call: Callable[[], object]) -> None:
        """Let this happen after a while."""
        self.scheduler.after(self.scheduler.die() * LATE_S, lambda: self.scheduler.spawn("late call", "network", call))

    def count(self, kind: str) -> None:
        """A fault of this kind has been injected."""
        self.counts[kind] += 1
