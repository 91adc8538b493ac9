"""Processes of our own: started so that they cannot outlive us, told what to do and heard in JSON lines, and
ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import psutil

from api.instance.process_id import Process
from api.instance.services.errors import SetupError
from api.instance.services.paths import log_dir
from mars.errors import MarsError

ROOT = Path(__file__).resolve().parents[2]


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


def end_with_stdin(end: Callable[[], None]) -> None:
    """Call `end` in a thread of its own once stdin closes, which is when the process that started us has
    gone."""
    def wait() -> None:
        while os.read(0, 4096):
            pass
        end()
    threading.Thread(target=wait, name="parent", daemon=True).start()


def stop(process: Process, patience: float) -> None:
    """End a process that anybody may have started: ask, wait up to `patience` seconds, then kill it with all its
    children."""
    found = process.find()
    if found is None:
        return
    family = _family(found.pid)
    _quietly(found.terminate)
    deadline = time.monotonic() + patience
    while process.find() and time.monotonic() < deadline:
        time.sleep(0.05)
    _kill([found, *family])


def end(child: subprocess.Popen, patience: float) -> None:
    """End a process that we started, in the same way; harmless once it has ended."""
    if child.poll() is not None:
        return
    family = _family(child.pid)
    child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(patience)
    child.kill()
    child.wait()
    _kill(family)


def _kill(family: list[psutil.Process]) -> None:
    for member in family:
        if member.is_running() and not _is_zombie(member):
            _quietly(member.kill)
    psutil.wait_procs(family, timeout=3)


def _family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _quietly(action: Callable[[], None]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        action()
