"""One point of a curve: a topic, a query over it from its beginning, the cost of each part, every group checked."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from confluent_kafka.admin import AdminClient

from api import up
from api.client import Client
from api.demo_check import compare
from api.runfile import Run
from benchmarks.generator import LINE_BYTES, POOL, QUERY, SCHEMA, SIPS
from benchmarks.parts import Meter, processes
from mars import config as configuration
from mars.adapters.kafka_admin import KafkaAdmin
from mars.config import Config
from mars.errors import MarsError

START_S = 1_700_000_000
POLL_S, STALL_S, SAMPLE_S = 0.05, 60.0, 5.0
SETTLE_S, SPARE_BYTES = 1.0, 5 << 30


@dataclass(frozen=True)
class Point:
    """`x` is its place on the axis. `rate` is None for a topic that is full before the query begins; else tuples are
    produced at that rate while it runs, and the topic keeps `retention_bytes` of each partition."""

    x: float
    tuples: int
    label: str = ""
    partitions: int = 4
    packed: int = 1
    codec: str = "none"
    format: str = "csv"
    line_bytes: int = LINE_BYTES
    sips: int = SIPS
    pool: int = POOL
    event_rate: int = 5_000
    query: str = QUERY
    keys: tuple[str, ...] = ("sip", "type", "timestamp")
    rate: int | None = None
    retention_bytes: int | None = None
    settings: dict[str, int] = field(default_factory=dict)

    def name(self) -> str:
        """What tables call it."""
        return self.label or f"{self.x:,.0f}"


@dataclass(frozen=True)
class Result:
    """What a point gave. CPU seconds per million tuples and peak MB by part; `memory` has (s, MB of the mappers, MB of
    the reducers) over a long run."""

    x: float
    name: str
    tuples: int
    seconds: float
    tuples_per_s: float
    megabytes_per_s: float
    cpu_s_per_million: dict[str, float]
    peak_megabytes: dict[str, float]
    groups: int
    exact: bool
    difference: str
    memory: list[tuple[float, float, float]]

    @property
    def cpu(self) -> float:
        """CPU seconds per million tuples of all parts but the broker."""
        return sum(cpu for part, cpu in self.cpu_s_per_million.items() if part != "kafka")


class Instance:
    """A running Mars, for many points one after the other."""

    def __init__(self, run: Run, config: Config) -> None:
        self.run, self.config = run, config
        self.client = Client(run.api, config.api_token)
        self.number = 0

    def __enter__(self) -> Instance:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__()

    def measure(self, point: Point, repeat: int = 1) -> Result:
        """Fill a topic, read it `repeat` times, each time by a new query, check each, and delete all of it again. The
        result is the median by time, or one that is not exact; what is produced alongside is read once."""
        self._check_room(point)
        self.number += 1
        topic = f"points{self.number}"
        counts = self.config.data / f"{topic}.arrow"
        keep = {} if point.retention_bytes is None else {
            "retention.bytes": str(point.retention_bytes), "segment.bytes": str(point.retention_bytes // 4)}
        admin = KafkaAdmin(self.run.kafka)
        admin.create(topic, point.partitions, keep)
        admin.close()
        feeding = self._feed(topic, counts, point)
        try:
            if point.rate is None:
                _await(feeding)
                time.sleep(SETTLE_S)
            found = [self._turn(topic, f"{topic}_{turn}", point, counts, feeding)
                     for turn in range(1 if point.rate else repeat)]
        finally:
            feeding.kill()
            self._delete(topic)
        found.sort(key=lambda result: result.seconds)
        return next((result for result in found if not result.exact), found[len(found) // 2])

    def _turn(self, topic: str, name: str, point: Point, counts: Path, feeding: subprocess.Popen) -> Result:
        """One reading of the topic by a query of its own, which is dropped afterwards."""
        self.client.sql(f"CREATE STREAM {name} ({SCHEMA}) FROM KAFKA '{topic}' FORMAT {point.format.upper()} "
                        "TIMESTAMP timestamp UNIT s")
        try:
            with Meter(processes(self.run, self.config)) as meter:
                seconds, memory = self._query(name, point)
            _await(feeding)
            return self._result(f"q_{name}", point, seconds, memory, meter, counts)
        finally:
            for statement in (f"DROP QUERY q_{name}", f"DROP STREAM {name}"):
                with contextlib.suppress(MarsError):
                    self.client.sql(statement)

    def _check_room(self, point: Point) -> None:
        """Retention is looked at every five minutes, so that a topic may grow far past it."""
        wanted, free = int(point.tuples * (point.line_bytes + 10) * 1.1), shutil.disk_usage(self.config.data).free
        if free < wanted + SPARE_BYTES:
            raise MarsError("The disk is too small", f"{point.tuples:,} tuples need {wanted / 1e9:.0f} GB, "
                            f"{free / 1e9:.0f} GB are free", "set TMPDIR to a larger disk")

    def _feed(self, topic: str, counts: Path, point: Point) -> subprocess.Popen:
        command = [sys.executable, "-m", "benchmarks.feed", "--kafka", self.run.kafka, "--topic", topic,
                   "--counts", str(counts), "--tuples", str(point.tuples), "--packed", str(point.packed),
                   "--start", str(START_S), "--event-rate", str(point.event_rate), "--codec", point.codec,
                   "--format", point.format,
                   "--line-bytes", str(point.line_bytes), "--sips", str(point.sips), "--pool", str(point.pool)]
        return subprocess.Popen(command + (["--rate", str(point.rate)] if point.rate else []), stdout=subprocess.DEVNULL)

    def _query(self, name: str, point: Point) -> tuple[float, list[tuple[float, float, float]]]:
        """Seconds from CREATE QUERY until all is committed and readable, and memory as it went."""
        parts = processes(self.run, self.config)
        began = moved = time.monotonic()
        self.client.sql(f"CREATE QUERY q_{name} AS {point.query.format(stream=name)} FROM EARLIEST")
        last, memory = -1, []
        while True:
            query = self.client.get(f"/v1/queries/q_{name}")
            read = query["counters"]["tuples"]
            now = time.monotonic()
            if read == point.tuples and query["lag"] and query["lag"]["tuples"] == 0:
                self.client.get(f"/v1/queries/q_{name}/results", limit=1, order="desc")
                return time.monotonic() - began, memory
            if point.rate and now - began > SAMPLE_S * len(memory):
                memory.append((round(now - began, 1), *(round(sum(p.memory_info().rss for p in parts[name]) / 1e6)
                                                        for name in ("mappers", "reducers"))))
            if read != last:
                last, moved = read, now
            if now - moved > STALL_S or query["state"] != "RUNNING":
                raise MarsError("The query stands still", f"{query['state']} {query['reason'] or ''} at {read:,} tuples")
            time.sleep(POLL_S)

    def _result(self, query: str, point: Point, seconds: float, memory: list, meter: Meter, counts: Path) -> Result:
        results = pa.concat_tables(self.client.pages(query, partial="true"))
        with pa.memory_map(str(counts)) as source:
            expected = pa.ipc.open_file(source).read_all()
        if set(point.keys) < {"sip", "type", "timestamp"}:
            sums = expected.group_by(list(point.keys)).aggregate([("count", "sum")])
            expected = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
        verdict, million = compare(expected, results), point.tuples / 1e6
        return Result(point.x, point.name(), point.tuples, round(seconds, 2), round(point.tuples / seconds),
                      round(point.tuples * point.line_bytes / seconds / 1e6, 1),
                      {part: round(cpu / million, 3) for part, cpu in meter.cpu_s.items()},
                      {part: round(peak / 1e6) for part, peak in meter.peak_bytes.items()},
                      verdict.groups, not verdict.difference, verdict.difference, memory)

    def _delete(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.run.kafka})
        admin.delete_topics([topic])[topic].result(20)


def _await(feeding: subprocess.Popen) -> None:
    if feeding.wait():
        raise MarsError("The producer failed", f"exit code {feeding.returncode}")


@contextlib.contextmanager
def instance(settings: dict[str, int], warm_tuples: int) -> Iterator[Instance]:
    """A Mars of its own, with a first topic that is not measured: JVMs compile themselves on it."""
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder:
        config = configuration.load({"data": Path(folder), **settings})
        run = up.detach(config, lambda name, detail, seconds: None)
        try:
            with Instance(run, config) as made:
                if warm_tuples:
                    made.measure(Point(0, warm_tuples))
                yield made
        finally:
            up.down(config.data)
