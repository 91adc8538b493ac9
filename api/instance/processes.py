"""Processes of our own: who they are, how they are started so that they cannot outlive us, told what to do and heard in
JSON lines, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from api.instance.services.errors import SetupError
from api.instance.services.paths import log_dir
from mars.errors import MarsError

ROOT = Path(__file__).resolve().parents[2]
ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
SAME_S = 1.0


@dataclass(frozen=True)
class Process:
    """A process that cannot be taken for another one that got its number later.

    `started` counts clock ticks from the start of the machine that `boot` names, so that setting the clock changes nothing.
    Where the system does not tell these, `boot` is empty and `started` a time of the wall clock, in seconds."""

    pid: int
    started: float
    boot: str = ""

    @staticmethod
    def of(pid: int) -> Process:
        """The process that has this number now; psutil.NoSuchProcess if there is none."""
        boot = _boot()
        return Process(pid, _ticks(pid), boot) if boot else Process(pid, psutil.Process(pid).create_time())

    def find(self) -> psutil.Process | None:
        """The live process, or None once it has ended (a zombie has ended)."""
        try:
            process = psutil.Process(self.pid)
            is_same = (_boot(), _ticks(self.pid)) == (self.boot, self.started) if self.boot else \
                abs(process.create_time() - self.started) < SAME_S
            return process if is_same and process.status() not in ENDED else None
        except psutil.NoSuchProcess:
            return None


def spawn(module: str, data: Path, log: str) -> subprocess.Popen:
    """Run one of our modules in a session of its own, with pipes on stdin and stdout and its errors in a log
    file.

    The module is to end when its stdin does (`end_with_stdin`), so it cannot outlive this process; it
    inherits no other descriptor. It runs in the data folder, so that no package of the caller's folder hides
    one of ours."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with open(log_dir(data) / f"{log}.log", "ab") as errors:
        return subprocess.Popen([sys.executable, "-P", "-m", module], cwd=data, start_new_session=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                env={**os.environ, "PYTHONPATH": path})


def pipes(process: subprocess.Popen) -> tuple[IO[bytes], IO[bytes]]:
    """The stdin and stdout of a process of `spawn`."""
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def tell(stream: IO[bytes], message: dict) -> None:
    """Send one message as a JSON line; a reader that has gone is no error, its end is noticed elsewhere."""
    try:
        stream.write(json.dumps(message).encode() + b"\n")
        stream.flush()
    except (BrokenPipeError, ValueError):
        pass


def hear(stream: IO[bytes]) -> Iterator[dict]:
    """The messages of the other side, until it closes."""
    for line in stream:
        yield json.loads(line)


def event(error: MarsError) -> dict:
    """A message that says why the other side cannot go on."""
    return {"error": {"title": error.title, "detail": error.detail, "hint": error.hint},
            "setup": isinstance(error, SetupError)}


def error(message: dict) -> MarsError:
    """The error of a message that `event` made."""
    return (SetupError if message["setup"] else MarsError)(**message["error"])


def take_stdout() -> IO[bytes]:
    """Keep stdout for `tell` alone: whatever a library prints goes to stderr from now on."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stream


def end_with_stdin() -> None:
    """End this process at once when stdin closes, which is when the process that started us has gone."""
    def wait() -> None:
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def stop(process: Process, patience_s: float) -> None:
    """End a process that anybody may have started: ask, wait up to `patience_s`, then kill it with all its children.
    Harmless once it has ended."""
    found = process.find()
    if found is None:
        return
    family = [found]
    with contextlib.suppress(psutil.NoSuchProcess):
        family += found.children(recursive=True)
        found.terminate()
    deadline = time.monotonic() + patience_s
    while process.find() and time.monotonic() < deadline:
        time.sleep(0.05)
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            if member.status() not in ENDED:
                member.kill()
    psutil.wait_procs(family, timeout=3)


def _boot() -> str:
    """The name of this start of the machine; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _ticks(pid: int) -> int:
    """Clock ticks from the machine's start to the process's; psutil.NoSuchProcess if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        raise psutil.NoSuchProcess(pid) from None
    return int(text[text.rindex(")") + 1:].split()[19])  # a program's name may hold spaces and parentheses
