"""When the next commit of a key part is due: soon, but commits may use only a share of a core. Pure but for its clocks."""

from __future__ import annotations

from dataclasses import dataclass

from mars.runtime.system import SYSTEM, Clock

COMMIT_SHARE = 0.15  # of a core for commits: the rest is for merging
PAUSE_MIN_S = 0.035  # a commit costs some files and a transaction, however little it holds
CLOSING_SHARE = 0.5  # of the pause, for closed windows: readers wait for them


@dataclass
class Pace:
    """What commits have cost, and the pause that follows: `interval_s` at most, unless they compute for longer.

    `is_behind` says that more than one answer of the log waited to be merged when it was last asked; whoever asks sets it.
    """

    interval_s: float
    clock: Clock = SYSTEM.clock
    is_behind: bool = False
    _committed_at: float = 0.0
    _pause_s: float = 0.0
    _took_s: float = 0.0
    _began: tuple[float, float] = (0.0, 0.0)

    def due_in_s(self, closing: bool) -> float:
        """After how long the next commit is due, if there is anything to commit. Closed windows wait half as long."""
        least_s = min(PAUSE_MIN_S, self.interval_s)
        # One that waited for a disk delays the next one only while more than one answer of the log is to be merged.
        pause_s = max(least_s, self._pause_s, self._took_s if self.is_behind else 0.0) * (CLOSING_SHARE if closing else 1)
        return self._committed_at + pause_s - self.clock.monotonic_s()

    def begin(self) -> None:
        """A commit begins."""
        self._began = self.clock.monotonic_s(), self.clock.thread_cpu_s()

    def end(self) -> None:
        """It is the truth."""
        (began, cpu_s), self._committed_at = self._began, self.clock.monotonic_s()
        self._took_s, self.is_behind = self._committed_at - began, True
        cpu_s = self.clock.thread_cpu_s() - cpu_s
        # Commits may use a seventh of a core; and where they compute for long, at least as much time is left for merging.
        self._pause_s = max(cpu_s, min(cpu_s / COMMIT_SHARE, self.interval_s))
