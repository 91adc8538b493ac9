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
# Redis's client repeats by itself what was not answered; ZooKeeper's does not; what is read of Kafka changes nothing; files
# that do not answer are the disk's.
FATES = {"redis": (SLOW, LOST, UNKNOWN, REPEATED, LATE, ECHOED), "zookeeper": (SLOW, LOST, UNKNOWN), "kafka": (SLOW, LOST),
         "files": (SLOW,)}
LATE_S, REST_S = 1.0, 0.3
CHANGES, READS, BACKFILLS = 0.15, 0.1, 0.05  # so many seeds are of these kinds
# What may strike at a crash point, between two steps that touch two systems.
STRIKES = ("kill", "pause", "cut", "empty Redis", "roll Redis back")


@dataclass(frozen=True)
class Mix:
    """A seed's faults: how often calls fail and which way, how long slow ones take, how slow ZooKeeper's notices and crash
    points are, what strikes at crash points, which of the driver's actions happen (`weights` by their names), how many
    queries there are at most, how many times as long as others the run is, and which systems' calls fail."""

    rate: float
    fates: dict[str, tuple[str, ...]]
    slow_s: float
    lag: float
    notice_s: float
    slow: float
    struck: float
    strikes: tuple[str, ...]
    weights: dict[str, float]
    disordered: bool
    queries_max: int
    length: int = 1
    systems: tuple[str, ...] = tuple(FATES)

    @property
    def rolls_back(self) -> bool:
        """Does Redis go back to earlier states?"""
        return bool(self.weights.get("lose_redis")) or (self.struck > 0 and "roll Redis back" in self.strikes)

    @staticmethod
    def draw(random: Random, actions: Iterable[tuple[str, float]]) -> Mix:
        """The mixture of this seed."""
        kind = random.random()
        for share, drawn in ((CHANGES, Mix.changes), (READS, Mix.reads), (BACKFILLS, Mix.backfills)):
            kind -= share
            if kind < 0:
                return drawn(random)
        some = lambda of: tuple(one for one in of if random.random() < 0.5) or (random.choice(of),)  # noqa: E731
        return Mix(
            rate=random.choice((0.0, 0.0, 0.01, 0.03, 0.1)),
            fates={system: some(kinds) for system, kinds in FATES.items()},
            slow_s=random.choice((0.3, 0.3, 0.3, 1.0, 3.0)),
            lag=random.choice((0.0, 0.2, 0.6)),
            notice_s=random.choice((0.0, 0.0, 0.1, 0.6, 1.5)),
            slow=random.choice((0.0, 0.05, 0.15, 0.4)),
            struck=random.choice((0.0, 0.0, 0.02, 0.08)),
            strikes=some(STRIKES),
            weights={name: weight * random.choice((0.0, 0.0, 1.0, 4.0)) for name, weight in actions},
            disordered=random.random() < 0.4,
            queries_max=random.choice((3, 3, 8)))

    @staticmethod
    def changes(random: Random) -> Mix:
        """Much changes while ZooKeeper is slow, and nothing else fails: queries come and go, and key parts move, for a long
        time. Whoever acts on what it read a while ago shows here."""
        return Mix(
            rate=0.05, fates=dict.fromkeys(FATES, (SLOW,)), systems=("zookeeper",), slow_s=random.choice((0.9, 0.9, 2.0)),
            lag=random.choice((0.0, 0.6)), notice_s=random.choice((0.6, 1.5)), slow=random.choice((0.0, 0.05)), struck=0.0,
            strikes=STRIKES, weights={"kill": 5, "stop": random.choice((0, 0, 3)), "scale": random.choice((0, 4)),
                                      "query": 10, "change_query": 8},
            disordered=False, queries_max=8, length=5)

    @staticmethod
    def reads(random: Random) -> Mix:
        """Many read the same at once, each at a pace of its own, while commits come and files are lost. Whoever takes what
        another one left for something else shows here."""
        return Mix(
            rate=random.choice((0.0, 0.1)), fates=dict.fromkeys(FATES, (SLOW,)), systems=("zookeeper", "files"), slow_s=0.3,
            lag=0.0, notice_s=random.choice((0.0, 0.1)), slow=random.choice((0.1, 0.4)), struck=0.0, strikes=STRIKES,
            weights={"read": 60, "damage": random.choice((0, 4)), "kill": random.choice((0, 3)), "cut_api": 1},
            disordered=False, queries_max=1, length=3)

    @staticmethod
    def backfills(random: Random) -> Mix:
        """Some queries have much to catch up with while others read what has just come, and are paused and resumed. Whoever
        gets no claims beside others shows here."""
        return Mix(
            rate=0.0, fates=FATES, slow_s=0.0, lag=0.0, notice_s=0.0, slow=0.0, struck=0.0, strikes=STRIKES,
            weights={"pile": 30, "query": 8, "change_query": 12, "kill": random.choice((0, 2))}, disordered=False,
            queries_max=random.choice((2, 4)), length=3)


class Network:
    """The fate of single calls while `rate` is above 0; `counts` says how many of each kind there were."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.rate = 0.0
        self.fates = FATES
        self.slow_s = 0.3
        self.rests = 0.0  # how often a thread of an API does
        self.systems: tuple[str, ...] = tuple(FATES)
        self.counts: Counter[str] = Counter()

    def fate(self, system: str) -> str:
        """'' (it works) or one of FATES; a slow call has taken its time when this returns."""
        if not self.rate or system not in self.systems or self.scheduler.die() >= self.rate:
            return ""
        fate = self.scheduler.random.choice(self.fates[system])
        self.count(f"{system} call {fate}")
        if fate == SLOW:
            self.scheduler.sleep(self.scheduler.die() * self.slow_s)
            return ""
        return fate

    def rest(self) -> None:
        """A thread that answers requests loses the processor, sometimes for a while."""
        if self.rests and self.scheduler.die() < self.rests:
            self.count("reader rests")
            self.scheduler.sleep(self.scheduler.die() * REST_S)

    def late(self, call: Callable[[], object]) -> None:
        """Let this happen after a while."""
        self.scheduler.after(self.scheduler.die() * LATE_S, lambda: self.scheduler.spawn("late call", "network", call))

    def count(self, kind: str) -> None:
        """A fault of this kind has been injected."""
        self.counts[kind] += 1
