"""One step of the roofline, and the clocks that it is measured with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

BATCH = 100_000
BATCHES = 12


@dataclass(frozen=True)
class Step:
    """One step: CPU ms per BATCH tuples, at least and now; `what` says what the floor does."""

    name: str
    floor_ms: float
    cost_ms: float
    what: str

    @property
    def gap_ms(self) -> float:
        """What could be saved at most."""
        return self.cost_ms - self.floor_ms

    @property
    def ratio(self) -> str:
        """How many times its floor a step costs; `-` where the floor is less than the clocks tell."""
        return f"{self.cost_ms / self.floor_ms:.1f}" if self.floor_ms > 0 else "-"


class Stopwatch:
    """CPU time of this thread and of a server process, from start to stop, over many calls."""

    def __init__(self, server: int | None = None) -> None:
        self.server = psutil.Process(server) if server else None
        self.own_s = self.server_s = 0.0

    def __enter__(self) -> Stopwatch:
        self.began = time.thread_time(), self._server()
        return self

    def __exit__(self, *_: object) -> None:
        self.own_s += time.thread_time() - self.began[0]
        self.server_s += self._server() - self.began[1]

    def _server(self) -> float:
        if self.server is None:
            return 0.0
        try:  # in ns, where the system tells it; else in its ticks of 10 ms
            tasks = Path(f"/proc/{self.server.pid}/task").iterdir()
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
        except (OSError, ValueError, IndexError):
            times = self.server.cpu_times()
            return times.user + times.system


def least_ms(step: Callable[[], object], seconds: float = 0.6) -> float:
    """CPU ms of a call on this thread: the least of those that fit into `seconds`, the first one left out."""
    step()
    best, end = float("inf"), time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.thread_time()
        step()
        best = min(best, time.thread_time() - began)
    return best * 1e3
