"""Child processes that log to a file, die with their parent, and are stopped by their id alone.

Each child leads a session of its own, so Ctrl-C in the terminal reaches Mars only, which then stops them all.
A child is killed, not asked, when the parent dies without stopping it: each service here recovers from that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from api.instance.services.paths import begin, tail
from mars.errors import NotReadyError

POLL_S = 0.03
T = TypeVar("T")
_LAUNCHER = Path(__file__).with_name("launcher.py")

# On Linux a child dies with the thread that started it, so that has to be one that lives as long as we do.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="service-starter")


class Child:
    """A running command. `log` gets its stdout and stderr; `logs` are all the files that tell of it."""

    def __init__(self, name: str, command: Sequence[str], log: Path, *, more_logs: Sequence[Path] = (),
                 environment: Mapping[str, str] | None = None, way: str = "") -> None:
        """Starts the command. `way` is how the parent's death is noticed: "kernel" (Linux) or "watcher"."""
        self.name, self.began = name, time.monotonic()
        self.logs = [log, *more_logs]
        way = way or ("kernel" if sys.platform == "linux" else "watcher")
        read_fd, _ = _life_line()
        line = [sys.executable, "-I", "-S", str(_LAUNCHER), way, str(os.getpid()), str(read_fd), *command]
        log.parent.mkdir(parents=True, exist_ok=True)
        with begin(log) as output:
            self._process = _STARTER.submit(
                subprocess.Popen, line, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})}, pass_fds=[read_fd], start_new_session=True,
            ).result()

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; negative if a signal ended it."""
        return self._process.poll()

    def fault(self) -> NotReadyError | None:
        """Why the command has ended, with the log's name and last lines; None while it runs."""
        code = self.exit_code()
        return None if code is None else self._failure(f"{self.name} ended with exit code {code}")

    def check(self) -> None:
        """Raises the fault if there is one."""
        if fault := self.fault():
            raise fault

    def wait_ready(self, probe: Callable[[], T], timeout_s: float) -> T:
        """What `probe` gives once that is true; OSError counts as not yet.

        Raises NotReadyError with the log's name and last lines if the command ends first or time runs out.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(OSError):
                if found := probe():
                    return found
            self.check()
            if time.monotonic() > deadline:
                raise self._failure(f"{self.name} did not get ready in {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def stop(self, timeout_s: float = 10.0) -> None:
        """Ends the command and what it started: asks, and kills after `timeout_s`. Harmless once ended."""
        if self.exit_code() is None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        # The group's id stays taken while any member lives; when none does, there is nobody to hit.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _failure(self, title: str) -> NotReadyError:
        told = [f"{log}:\n{text}" for log in self.logs if (text := tail(log))]
        return NotReadyError(title, "\n".join(told) or f"{self.logs[0]} is empty")


@lru_cache(maxsize=1)
def _life_line() -> tuple[int, int]:
    """A pipe that nobody writes to: its reader sees its end when this process, the only writer, is gone."""
    return os.pipe()
