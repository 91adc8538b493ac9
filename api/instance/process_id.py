"""Who a process is: a number, and what tells it from another process that got the same number later."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

ENDED = ("Z", "X")
SAME_S = 1.0


@dataclass(frozen=True)
class Process:
    """A process that cannot be taken for another one that got its number later.

    `started` counts clock ticks from the start of the machine that `boot` names, so that setting the clock changes nothing.
    Where the system does not tell these, and in run files of older versions, `boot` is empty and `started` a time of the
    wall clock, in seconds."""

    pid: int
    started: float
    boot: str = ""

    @staticmethod
    def of(pid: int) -> Process:
        """The process that has this number now; psutil.NoSuchProcess if there is none."""
        boot = _boot()
        if boot:
            return Process(pid, _stat(pid)[1], boot)
        return Process(pid, psutil.Process(pid).create_time())

    def find(self) -> psutil.Process | None:
        """The live process, or None once it has ended (a zombie has ended)."""
        try:
            process = psutil.Process(self.pid)
            alive = self._is_alive() if self.boot else self._is_of_time(process)
        except psutil.NoSuchProcess:
            return None
        return process if alive else None

    def _is_alive(self) -> bool:
        state, started = _stat(self.pid)
        return self.boot == _boot() and started == self.started and state not in ENDED

    def _is_of_time(self, process: psutil.Process) -> bool:
        return abs(process.create_time() - self.started) < SAME_S and process.status() != psutil.STATUS_ZOMBIE


def _boot() -> str:
    """The name of this start of the machine; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _stat(pid: int) -> tuple[str, int]:
    """State, and clock ticks from the machine's start to the process's; psutil.NoSuchProcess if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        raise psutil.NoSuchProcess(pid) from None
    fields = text[text.rindex(")") + 1:].split()  # a program's name may hold spaces and parentheses
    return fields[0], int(fields[19])
