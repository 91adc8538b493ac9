"""What is done now and then, and what is tried again less and less often."""

from __future__ import annotations

import math

from mars.runtime.system import SYSTEM, Clock


class Every:
    """Something that is due at first, and again `period_s` after each `begin`. Not thread-safe."""

    def __init__(self, period_s: float, clock: Clock = SYSTEM.clock) -> None:
        self.period_s = period_s
        self._clock = clock
        self._due_s = -math.inf

    def is_due(self) -> bool:
        """Is the period over?"""
        return self._clock.monotonic_s() >= self._due_s

    def due_in_s(self) -> float:
        """Seconds until it is due; 0 or less if it is."""
        return self._due_s - self._clock.monotonic_s()

    def begin(self) -> float:
        """It is done: a period begins. Its seconds, for whoever sleeps them."""
        self._due_s = self._clock.monotonic_s() + self.period_s
        return self.period_s

    def end(self) -> None:
        """It is due at once."""
        self._due_s = -math.inf


class Backoff(Every):
    """What has failed and is tried again: each `begin` is a period twice as long as the last one, from `first_s` to
    `most_s`, until `reset`."""

    def __init__(self, first_s: float, most_s: float, clock: Clock = SYSTEM.clock) -> None:
        super().__init__(first_s, clock)
        self._first_s, self._most_s, self._next_s = first_s, most_s, first_s

    def begin(self) -> float:
        """It has failed: the next period begins. Its seconds."""
        self.period_s = self._next_s
        self._next_s = min(self._most_s, 2 * self.period_s)
        return super().begin()

    def reset(self) -> None:
        """It has worked: it is due at once, and the next period is the first one."""
        self._next_s = self._first_s
        self.end()
