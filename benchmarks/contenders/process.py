"""A contender's program as the harness holds it: made ready, started, given jobs, read, ended."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

import benchmarks
from api.instance.services import jars, java
from api.instance.services.process import Child
from benchmarks import environments
from benchmarks.contenders.program import Program, Setup
from benchmarks.contenders.protocol import Job
from mars.config import Config
from mars.errors import MarsError

START_S = 120.0
POLL_S = 0.02
END = pa.field("end", pa.int64())
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

    def running(self) -> Child:
        """Its process; it has been started."""
        assert self.child is not None, f"{self.name} does not run"
        return self.child

    def roots(self) -> list[int]:
        """The processes whose trees are its cost."""
        return [self.running().pid]

    def run(self, job: Job, limit_s: float) -> None:
        """Return when all results are readable. Raises MarsError with the log's end if it fails or takes too long."""
        job.write(self.folder)
        deadline = time.monotonic() + limit_s
        while not (self.folder / f"done-{job.number}").exists():
            self.running().check()
            if time.monotonic() > deadline:
                raise MarsError(f"{self.name} was not ready after {limit_s:.0f} s",
                                f"{len(self.program.results(Path(job.out)))} result files", f"see {self.running().logs[0]}")
            time.sleep(POLL_S)

    def results(self, job: Job) -> pa.Table:
        """What can be read now: RESULTS, with timestamp the window's start in ms, and the ends of windows that are not
        tumbling."""
        schema = RESULTS.insert(1, END) if job.has_ends else RESULTS
        tables = [_rows(file, schema) for file in self.program.results(Path(job.out))]
        return pa.concat_tables([schema.empty_table(), *tables])

    @contextmanager
    def following(self, job: Job, out: Path) -> Iterator[None]:
        """The job of a topic that goes on runs, and what becomes readable is written to `out`, in the form of
        `benchmarks.watch.closed`. Only for programs that write a file once."""
        leaving = threading.Event()
        job.write(self.folder)
        reader = threading.Thread(target=self._follow, args=(Path(job.out), out, leaving), name="follow", daemon=True)
        reader.start()
        try:
            yield
        finally:
            leaving.set()
            reader.join()

    def _follow(self, folder: Path, out: Path, leaving: threading.Event) -> None:
        known: set[Path] = set()
        with out.open("w") as sink:
            while not leaving.wait(POLL_S):
                new = [file for file in self.program.results(folder) if file not in known]
                for file in new:
                    sums = _rows(file).group_by("timestamp").aggregate([("count", "sum")])
                    tuples = dict(zip(sums["timestamp"].to_pylist(), sums["count_sum"].to_pylist(), strict=True))
                    sink.write(json.dumps({"windows": tuples, "ms": time.time() * 1000}) + "\n")
                known.update(new)

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.child:
            self.child.stop(timeout_s=3.0)
            self.child = None

    def _pinned(self) -> tuple[jars.Jar, ...]:
        return jars.parse(_list(self.program.jars), f"contender-{self.program.jars}") if self.program.jars else ()


def _rows(file: Path, schema: pa.Schema = RESULTS) -> pa.Table:
    if not file.stat().st_size:
        return schema.empty_table()
    return csv.read_csv(file, csv.ReadOptions(column_names=schema.names),
                        convert_options=csv.ConvertOptions(column_types=schema))


def _list(name: str) -> str:
    return resources.files("benchmarks.contenders").joinpath(f"{name}.txt").read_text()
