"""Clocks that jump, by the hook in Mars's processes: the exchange's and the workers' (N22).

Event times lie a day back, so a jump changes no tuple's being future.
"""

from __future__ import annotations

from tests.nemesis.faults import Fault


class _Clock(Fault):
    number = "N22"
    hold_s = (2.0, 8.0)
    clock = ""

    def inflict(self) -> None:
        self.instance.switch(self.clock, str(self.rng.choice((-3_600, -60, -5, 5, 60, 3_600))))

    def heal(self) -> None:
        self.instance.switch(self.clock)


class RedisClockJumps(_Clock):
    clock = "redis_clock_s"


class WorkersClockJumps(_Clock):
    clock = "workers_clock_s"
