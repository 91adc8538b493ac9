"""One point of a curve: a topic, a query over it from its beginning, the cost of each part, every group checked."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pyarrow as pa

from api.cli.client import Client
from api.demo.check import compare
from api.instance import up
from api.instance.runfile import Run
from benchmarks.generator import SCHEMA
from benchmarks.parts import Meter, processes
from benchmarks.scaling_topic import Filled, Point, filled
from mars import config as configuration
from mars.config import Config
from mars.errors import MarsError

if TYPE_CHECKING:
    from benchmarks.secure_kafka import SecureKafka

POLL_S, STALL_S, SAMPLE_S = 0.05, 60.0, 5.0


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

    def __init__(self, run: Run, config: Config, broker: SecureKafka | None = None) -> None:
        self.run, self.config, self.broker = run, config, broker
        self.kafka = broker.addresses["PLAINTEXT"] if broker else run.kafka
        self.client = Client(run.api, config.api_token)

    def __enter__(self) -> Instance:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__()

    def measure(self, point: Point, repeat: int = 1) -> Result:
        """Fill a topic, `read` it, and delete all of it again."""
        with filled(self.kafka, self.config.data, point) as topic:
            return self.read(topic, point, repeat)

    def read(self, topic: Filled, point: Point, repeat: int = 1) -> Result:
        """Read the topic `repeat` times, each time by a new query, and check each. The result is the median by time, or one
        that is not exact; what is produced alongside is read once."""
        found = [self._turn(topic, f"{topic.topic}_{turn}", point) for turn in range(1 if point.rate else repeat)]
        found.sort(key=lambda result: result.seconds)
        return next((result for result in found if not result.exact), found[len(found) // 2])

    def parts(self) -> dict[str, list[psutil.Process]]:
        """The processes of each part, the broker that all share among them."""
        parts = processes(self.run, self.config)
        return parts | {"kafka": [psutil.Process(self.broker.pid)]} if self.broker else parts

    def _turn(self, topic: Filled, name: str, point: Point) -> Result:
        """One reading of the topic by a query of its own, which is dropped afterwards."""
        self.client.sql(f"CREATE STREAM {name} ({SCHEMA}) FROM KAFKA '{topic.topic}' FORMAT {point.format.upper()} "
                        "TIMESTAMP timestamp UNIT s")
        try:
            with Meter(self.parts()) as meter:
                seconds, memory = self._query(name, point)
            topic.await_all()
            return self._result(f"q_{name}", point, seconds, memory, meter, topic.counts)
        finally:
            for statement in (f"DROP QUERY q_{name}", f"DROP STREAM {name}"):
                with contextlib.suppress(MarsError):
                    self.client.sql(statement)

    def _query(self, name: str, point: Point) -> tuple[float, list[tuple[float, float, float]]]:
        """Seconds from CREATE QUERY until all is committed and readable, and memory as it went."""
        parts = self.parts()
        began = moved = time.monotonic()
        self.client.sql(f"CREATE QUERY q_{name} AS {point.query.format(stream=name)} FROM EARLIEST")
        memory: list[tuple[float, float, float]] = []
        last = -1
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


@contextlib.contextmanager
def instance(settings: dict, warm_tuples: int, broker: SecureKafka | None = None) -> Iterator[Instance]:
    """A Mars of its own, with a first topic that is not measured: JVMs compile themselves on it. `broker` is the Kafka that
    the settings attach to, if they do."""
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder:
        config = configuration.load({"data": Path(folder), **settings})
        run = up.detach(config, lambda name, detail, seconds: None)
        try:
            with Instance(run, config, broker) as made:
                if warm_tuples:
                    made.measure(Point(0, warm_tuples))
                yield made
        finally:
            up.down(config.data)
