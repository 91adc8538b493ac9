"""High load between two periods: seconds in a row in which workers had no time left, or work that waits too long."""

from __future__ import annotations

from dataclasses import dataclass

from mars.scaling.load import Stage


@dataclass
class Alarm:
    """`look` once a second. It is True after `samples` in a row with a busy share above `busy_max`, or with more waiting
    than the workers do in `wait_max_s`."""

    busy_max: float = 0.95
    wait_max_s: float = 3.0
    samples: int = 3
    row: int = 0

    def look(self, second: Stage, surplus: float, speed: float | None) -> bool:
        """What the first stage did in the last second, and what waits for it now."""
        wait_s = surplus / (speed * max(1, second.workers)) if speed else 0.0
        is_high = second.busy_share(1.0) > self.busy_max or wait_s > self.wait_max_s
        self.row = self.row + 1 if is_high else 0
        return self.row >= self.samples
