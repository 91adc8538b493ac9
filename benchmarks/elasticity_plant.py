"""A cluster in figures, second by second: what comes, waits and is done, and how many workers work at it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.elasticity_curves import Rates
from mars.scaling.load import Stage

KINDS = ("mappers", "reducers")
SPEEDS = {"mappers": 10_000.0, "reducers": 25_000.0}  # offsets that a worker does in a busy second
LEAST, MOST = {"mappers": 1, "reducers": 1}, {"mappers": 24, "reducers": 12}
START_S = 5  # until a worker that is wanted works
GOAL_S = 5.0  # latency: how long an offset may wait


@dataclass
class Line:
    """The workers of one kind, and what waits for them."""

    kind: str
    working: int
    coming: list[int] = field(default_factory=list)  # the seconds at which workers will work that are about to come
    waiting: float = 0.0
    done: float = 0.0
    busy_s: float = 0.0

    def want(self, count: int, now: int) -> None:
        """So many workers from now on: whoever is not wanted ends at once, and others come START_S later."""
        if count < self.working + len(self.coming):
            kept = max(0, count - self.working)
            self.coming, self.working = self.coming[:kept], min(self.working, count)
        self.coming += [now + START_S] * (count - self.working - len(self.coming))

    def second(self, arrived: float, now: int) -> float:
        """Let a second go by; what was done in it."""
        while self.coming and self.coming[0] <= now:
            self.coming.pop(0)
            self.working += 1
        speed = SPEEDS[self.kind]
        self.waiting += arrived
        self.done = min(self.waiting, self.working * speed)
        self.waiting -= self.done
        self.busy_s = self.done / speed
        return self.done

    @property
    def wait_s(self) -> float:
        """How long what comes now will wait."""
        return self.waiting / (max(self.working, 1) * SPEEDS[self.kind])


class Plant:
    """Mappers, and reducers after them. What the figures of a run are made of is noted for each second."""

    def __init__(self, seconds: int, counts: dict[str, int]) -> None:
        self.lines = {kind: Line(kind, counts[kind]) for kind in KINDS}
        self.now, self.changes = 0, 0
        self.waits, self.workers = np.zeros(seconds), np.zeros(seconds)

    def second(self, arrived: float) -> None:
        """A second goes by."""
        for line in self.lines.values():
            arrived = line.second(arrived, self.now)
        self.waits[self.now] = sum(line.wait_s for line in self.lines.values())
        self.workers[self.now] = sum(line.working + len(line.coming) for line in self.lines.values())
        self.now += 1

    def want(self, counts: dict[str, int]) -> None:
        """Other numbers of workers, as one change."""
        if counts != self.wanted:
            self.changes += 1
            for kind, line in self.lines.items():
                line.want(counts[kind], self.now)

    @property
    def wanted(self) -> dict[str, int]:
        """The numbers that are wanted now."""
        return {kind: line.working + len(line.coming) for kind, line in self.lines.items()}

    def stages(self) -> tuple[Stage, ...]:
        """What the workers did in the last second."""
        return tuple(Stage(line.kind, line.done, line.busy_s, line.working) for line in self.lines.values())


@dataclass(frozen=True)
class Figures:
    """Of a run: worker-seconds, the share of the time in which nothing waited longer than the goal, the mean and the 95th
    percentile of waits, and the changes."""

    worker_s: float
    within: float
    mean_s: float
    p95_s: float
    changes: int


def figures(plant: Plant, first: int, changes_before: int) -> Figures:
    """The figures from the second `first` on."""
    waits = plant.waits[first:]
    return Figures(float(plant.workers[first:].sum()), float(np.mean(waits <= GOAL_S)), float(waits.mean()),
                   float(np.percentile(waits, 95)), plant.changes - changes_before)


def fixed_for(rates: Rates, rate: float) -> dict[str, int]:
    """As many workers as do this rate."""
    return {kind: max(1, int(np.ceil(rate / SPEEDS[kind]))) for kind in KINDS}
