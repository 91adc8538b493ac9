"""One node of a cluster: a process with all that it starts, which can be cut off and brought back.

| way | a cut | and back |
| --- | --- | --- |
| network | every packet to or from the node's processes is dropped, also between two of them | TCP sends again what it has |
| pause | all its processes stand still (SIGSTOP) | they go on as if nothing had been (SIGCONT) |

Others see the same in both: silence. What comes back is a zombie in both, which believes that its work is still its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from api.instance.services.process import Child
from benchmarks.clusters import packets

NETWORK, PAUSE = "network", "pause"
WAYS = (NETWORK, PAUSE)
JOIN = 'echo $$ > "$0" && exec "$@"'


class Node:
    """A running node. It dies with this process, cut off or not."""

    def __init__(self, name: str, way: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        """Raises OSError if this machine does not have the way."""
        self.name = name
        self.group = packets.Group(f"mars-{os.getpid()}-{name}") if way == NETWORK else None
        self.stopped: list[psutil.Process] = []
        line = ["sh", "-c", JOIN, str(self.group.members), *command] if self.group else list(command)
        self.child = Child(name, line, log, environment=environment)

    def tree(self) -> list[psutil.Process]:
        """Its processes now, the first one first."""
        root = psutil.Process(self.child.pid)
        return [root, *root.children(recursive=True)]

    def cut(self) -> None:
        """Cut it off."""
        if self.group:
            self.group.cut()
            return
        for process in self.tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)
                self.stopped.append(process)

    def heal(self) -> None:
        """Bring it back; harmless if it is not away."""
        if self.group:
            self.group.heal()
        for process in self.stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
        self.stopped.clear()

    def stop(self) -> None:
        """End all of it."""
        self.heal()
        family = [] if self.child.exit_code() is not None else self.tree()
        self.child.stop(timeout_s=2.0)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, timeout=3.0)
        if self.group:
            self.group.remove()
