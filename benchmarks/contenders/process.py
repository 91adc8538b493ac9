"""A contender's program as the harness holds it: made ready, started, given jobs, read, ended."""

from __future__ import annotations

import sys
import time
from importlib import resources
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

import benchmarks
from api.services import jars, java
from api.services.process import Child
from benchmarks import environments
from benchmarks.contenders.program import Program, Setup
from benchmarks.contenders.protocol import Job
from mars.config import Config
from mars.errors import MarsError

START_S = 120.0
POLL_S = 0.02
RESULTS = pa.schema([("timestamp", pa.int64()), ("sip", pa.string()), ("type", pa.string()), ("count", pa.int64())])


class ProcessContender:
    """Runs one program. The process dies with ours."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.name, self.title, self.guarantee = program.name, program.title, program.guarantee
        self.tuples_max = program.tuples_max
        self.child: Child | None = None

    def prepare(self, config: Config) -> None:
        """Fetch what it needs, once for this user. Raises SetupError with the reason if it cannot be had."""
        pinned = self._pinned()
        jars.fetch(config, pinned, self.title)
        self.java_home = java.find(config).home
        self.jars = tuple(jar.file for jar in pinned)
        self.python = environments.fetch(self.name, _list(self.program.packages)) if self.program.packages \
            else Path(sys.executable)

    def start(self, folder: Path, kafka: str) -> None:
        """Start the process in an empty folder; return when it is ready for jobs."""
        self.folder = folder
        root = Path(benchmarks.__file__).parents[1]
        setup = Setup(self.python, self.java_home, self.jars, folder, root)
        environment = {"PYTHONPATH": str(root), **self.program.environment(setup)}
        self.child = Child(self.name, self.program.command(setup), folder / "log.txt", environment=environment)
        self.child.wait_ready((folder / "ready").exists, START_S)

    def roots(self) -> list[int]:
        """The processes whose trees are its cost."""
        return [self.child.pid]

    def run(self, job: Job, limit_s: float) -> None:
        """Return when all results are readable. Raises MarsError with the log's end if it fails or takes too long."""
        job.write(self.folder)
        deadline = time.monotonic() + limit_s
        while not (self.folder / f"done-{job.number}").exists():
            self.child.check()
            if time.monotonic() > deadline:
                raise MarsError(f"{self.name} was not ready after {limit_s:.0f} s",
                                f"{len(self.program.results(Path(job.out)))} result files; log: {self.child.logs[0]}")
            time.sleep(POLL_S)

    def results(self, job: Job) -> pa.Table:
        """What can be read now: RESULTS, with timestamp the window's start in ms."""
        options = csv.ReadOptions(column_names=RESULTS.names), csv.ConvertOptions(column_types=RESULTS)
        tables = [csv.read_csv(file, options[0], convert_options=options[1])
                  for file in self.program.results(Path(job.out)) if file.stat().st_size]
        return pa.concat_tables(tables) if tables else RESULTS.empty_table()

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.child:
            self.child.stop(timeout_s=3.0)
            self.child = None

    def _pinned(self) -> tuple[jars.Jar, ...]:
        return jars.parse(_list(self.program.jars), f"contender-{self.program.jars}") if self.program.jars else ()


def _list(name: str) -> str:
    return resources.files("benchmarks.contenders").joinpath(f"{name}.txt").read_text()
