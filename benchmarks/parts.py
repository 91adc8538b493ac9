"""CPU seconds and peak memory of a running Mars, by part."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterable
from typing import IO

import psutil

from api.cli.commands.status import workers
from api.instance.runfile import Run
from mars.config import Config

SAMPLE_S = 0.25


def processes(run: Run, config: Config) -> dict[str, list[psutil.Process]]:
    """The processes of each part. The driver is the server with Spark's JVM, without the workers that it
    started."""
    parts = {name: [psutil.Process(found.pid)] for name, found in run.processes.items() if name != "server"}
    parts |= {kind: [psutil.Process(worker["pid"]) for worker in found]
              for kind, found in workers(run, config).items() if found}
    server = psutil.Process(run.processes["server"].pid)
    taken = {process.pid for part in parts.values() for process in part}
    parts["driver"] = [server, *(child for child in server.children(recursive=True) if child.pid not in taken)]
    return parts


class Meter:
    """Measures from entering to leaving: `cpu_s` and `peak_bytes` by part. A process that ends meanwhile (Spark ends
    Python workers that are idle for a minute) counts with what it had used when it was last seen."""

    def __init__(self, parts: dict[str, list[psutil.Process]]) -> None:
        self.parts = parts
        self.cpu_s: dict[str, float] = {}
        self.peak_bytes = dict.fromkeys(parts, 0)
        self.seen_s: dict[int, float] = {}
        self.leaving = threading.Event()
        self.thread = threading.Thread(target=self._sample, name="meter", daemon=True)

    def __enter__(self) -> Meter:
        self.before = self._cpu()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leaving.set()
        self.thread.join()
        self.cpu_s = {name: after - self.before[name] for name, after in self._cpu().items()}

    def _cpu(self) -> dict[str, float]:
        return {name: sum(self._cpu_s(part)) for name, part in self.parts.items()}

    def _cpu_s(self, part: Iterable[psutil.Process]) -> Iterable[float]:
        for process in part:
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                self.seen_s[process.pid] = times.user + times.system
            yield self.seen_s.get(process.pid, 0.0)

    def _sample(self) -> None:
        while not self.leaving.wait(SAMPLE_S):
            self._cpu()
            for name, part in self.parts.items():
                self.peak_bytes[name] = max(self.peak_bytes[name], sum(map(held_bytes, part)))


def held_bytes(process: psutil.Process) -> int:
    """Resident memory, 0 of a process that has ended."""
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def output(process: subprocess.Popen[str]) -> IO[str]:
    """What a process says, which was started with a pipe for it."""
    assert process.stdout is not None, process.args
    return process.stdout
