"""A clock that a test sets."""

from __future__ import annotations


class ManualClock:
    """Stands for mars.runtime.system.Clock: time goes by when the test, or whoever sleeps, lets it. `now_s` is monotonic
    time, and since `epoch_s` that of the wall; `cpu_s` is what the thread has used, `slept` are the sleeps."""

    def __init__(self, now_s: float = 1_000.0, epoch_s: float = 0.0) -> None:
        self.now_s, self.epoch_s, self.cpu_s = now_s, epoch_s, 0.0
        self.slept: list[float] = []

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_ms(self) -> int:
        return int((self.epoch_s + self.now_s) * 1000)

    def thread_cpu_s(self) -> float:
        return self.cpu_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
