"""Named crash points, for tests: a process kills itself exactly between two steps of the protocol.

A point does nothing unless the instance was started with `fault_folder`. There, a file with the point's name kills the next
process that reaches the point, by SIGKILL. The file is renamed first, so exactly one process dies. If the file says `stop`,
the process is stopped there instead. Once somebody lets it continue, it may be a zombie.
"""

from __future__ import annotations

import os
import signal
from _thread import get_ident
from typing import Protocol

POINTS = ("mapper.claimed", "mapper.fetched", "mapper.letters_written", "mapper.spilled", "mapper.registered",
          "mapper.aggregated", "mapper.pushed", "reducer.received", "reducer.merged", "reducer.files_written",
          "reducer.committed", "reducer.trimmed", "leader.elected", "leader.generation_raised", "leader.commits_read",
          "leader.installed", "leader.attached", "leader.assigned", "publisher.claimed", "publisher.read",
          "publisher.staged", "publisher.committing", "publisher.committed")
STOP = "stop"


class Faults(Protocol):
    """What happens at a crash point, and to a process that reads or computes a range of offsets."""

    def point(self, name: str) -> None: ...
    def poison(self, stage: str, partition: int, start: int, end: int) -> None: ...


_armed: Faults | None = None


def arm(folder: str) -> None:
    """Look for orders in `folder` from now on; '' disarms."""
    arm_with(FaultFolder(folder) if folder else None)


def arm_with(faults: Faults | None) -> None:
    """Let these decide from now on, for the whole process; None disarms."""
    global _armed
    _armed = faults


def point(name: str) -> None:
    """Die here if a test has ordered it."""
    if _armed is not None:
        assert name in POINTS, name
        _armed.point(name)


def poison(stage: str, partition: int, start: int, end: int) -> None:
    """Die here, each time, if a test has poisoned an offset in [start, end)."""
    if _armed is not None:
        _armed.poison(stage, partition, start, end)


class FaultFolder:
    """Orders as files: one with a point's name, one `poison.<stage>` that says 'partition offset'."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def point(self, name: str) -> None:
        order = os.path.join(self._folder, name)
        taken = f"{order}.{os.getpid()}"
        try:
            os.rename(order, taken)
        except FileNotFoundError:
            return
        with open(taken) as file:
            is_stop = file.read() == STOP
        if is_stop:  # by this thread itself, which would else get a step further before it stands still
            signal.pthread_kill(get_ident(), signal.SIGSTOP)
        else:
            os.kill(os.getpid(), signal.SIGKILL)

    def poison(self, stage: str, partition: int, start: int, end: int) -> None:
        try:
            with open(os.path.join(self._folder, f"poison.{stage}")) as file:
                at, offset = map(int, file.read().split())
        except FileNotFoundError:
            return
        if at == partition and start <= offset < end:
            os.kill(os.getpid(), signal.SIGKILL)
