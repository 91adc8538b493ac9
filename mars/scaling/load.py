"""The load of a period, and the workers that carry it.

A worker's speed is what it does in a second in which it is busy. What it does in a second by the clock says nothing of what
it could do: while there is little to do, it waits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ROUNDING = 1e-9  # a quotient that is a whole number by so much needs no further worker


@dataclass(frozen=True)
class Stage:
    """What the workers of one kind did in a period: offsets that went in, seconds in which they were busy, summed over all
    of them; and how many of them there were."""

    kind: str
    offsets: float
    busy_s: float
    workers: int

    @property
    def speed(self) -> float | None:
        """Offsets that one worker does in a busy second; None if none was busy."""
        return self.offsets / self.busy_s if self.busy_s > 0 and self.offsets > 0 else None

    def busy_share(self, period_s: float) -> float:
        """The share of the period in which its workers were busy."""
        return self.busy_s / (period_s * self.workers) if self.workers and period_s > 0 else 0.0


def load(surplus: float, rate: float, speed: float, workers: int, period_s: float) -> float:
    """The share of the period that so many workers are busy with what waits and what comes: 1 is all of it."""
    return (surplus + rate * period_s) / (workers * speed * period_s)


def workers_for(surplus: float, rate: float, speed: float, target: float, period_s: float) -> int:
    """The least number of workers whose load is at most `target` at the end of the period."""
    return whole((surplus + rate * period_s) / (target * speed * period_s))


def workers_leaving(waiting: float, surplus: float, rate: float, speed: float, period_s: float) -> int:
    """The least number of workers that leave at most so many offsets waiting at the end of the period."""
    return whole((surplus + rate * period_s - waiting) / (speed * period_s))


def whole(workers: float) -> int:
    """As many whole workers, at least one."""
    return max(1, math.ceil(workers - ROUNDING))
