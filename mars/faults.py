"""Named crash points, for tests: a process kills itself exactly between two steps of the protocol.

A point does nothing unless the instance was started with `fault_folder`. There, a file with the point's name makes the
next process that reaches the point end by SIGKILL; the file is renamed first, so that exactly one process dies. If the file
says `stop`, the process is stopped there instead, until somebody lets it go on: then it may be a zombie.
"""

from __future__ import annotations

import os
import signal
import threading

POINTS = ("mapper.claimed", "mapper.fetched", "mapper.letters_written", "mapper.spilled", "mapper.registered",
          "mapper.aggregated", "mapper.pushed", "reducer.received", "reducer.merged", "reducer.files_written",
          "reducer.committed", "reducer.trimmed", "leader.elected", "leader.generation_raised", "leader.commits_read",
          "leader.installed", "leader.attached", "leader.assigned", "publisher.claimed", "publisher.read",
          "publisher.staged", "publisher.committing", "publisher.committed")
STOP = "stop"

_folder = ""


def arm(folder: str) -> None:
    """Look for orders in `folder` from now on; '' disarms."""
    global _folder
    _folder = folder


def point(name: str) -> None:
    """Die here if a test has ordered it."""
    if not _folder:
        return
    assert name in POINTS, name
    order = os.path.join(_folder, name)
    taken = f"{order}.{os.getpid()}"
    try:
        os.rename(order, taken)
    except FileNotFoundError:
        return
    with open(taken) as file:
        is_stop = file.read() == STOP
    if is_stop:  # by this thread itself, which would else get a step further before it stands still
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def poison(stage: str, partition: int, start: int, end: int) -> None:
    """Die here, each time, if a test has poisoned an offset in [start, end): a file named like the stage says
    'partition offset'."""
    if not _folder:
        return
    try:
        with open(os.path.join(_folder, f"poison.{stage}")) as file:
            at, offset = map(int, file.read().split())
    except FileNotFoundError:
        return
    if at == partition and start <= offset < end:
        os.kill(os.getpid(), signal.SIGKILL)
