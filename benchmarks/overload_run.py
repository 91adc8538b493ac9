"""A Mars with a broker of its own, under load: its queries, their producers, its memory, the check of all answers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pyarrow as pa

from api.demo.check import compare
from api.instance import runfile, up
from api.instance.services import kafka
from benchmarks import topics
from benchmarks.contenders.mars import Mars, committed
from benchmarks.generator import SCHEMA
from benchmarks.overload_figures import Sample
from benchmarks.overload_queries import Wanted
from benchmarks.parts import held_bytes, output, processes
from mars import config as configuration
from mars.errors import MarsError, NotReadyError

PARTITIONS = 4
GROUPS_MAX = 200_000  # of a query in a key part: far above what the queries have that are compared
POLL_S, SAMPLES = 0.02, 120
STALL_S = 60.0
REFUSED_S, AGAIN_S, SAY_S = 20.0, 0.5, 30.0


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Loaded]:
    """An instance with a broker that outlives it."""
    config = configuration.load({"data": folder / "broker"}, environment={})
    broker, mars = kafka.start(config, config.data), Mars({"query_groups_max": GROUPS_MAX})
    try:
        mars.start(folder, broker.address)
        yield Loaded(mars, broker.address, folder, {"kafka": [psutil.Process(broker.pid)]})
    finally:
        mars.stop()
        broker.stop()


class Loaded:
    """An instance under load. Names of streams, topics and queries are used once; `more` are parts beside its own."""

    def __init__(self, mars: Mars, kafka: str, folder: Path, more: dict[str, list[psutil.Process]]) -> None:
        self.mars, self.kafka, self.folder, self.more = mars, kafka, folder, more
        self.parts: dict[str, list[psutil.Process]] = {}

    @contextlib.contextmanager
    def queries(self, name: str, shapes: Sequence[Wanted],
                before: Callable[[], None] = lambda: None) -> Iterator[list[str]]:
        """A topic, what is done `before` there are queries, a stream and queries over it, which go at the end."""
        topics.create(self.kafka, name, PARTITIONS)
        before()
        sql = self.mars.api().sql
        sql(f"CREATE STREAM {name} ({SCHEMA}) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP timestamp UNIT s")
        names = [f"{name}_{number}" for number in range(len(shapes))]
        for query, shape in zip(names, shapes, strict=True):
            sql(shape.sql(query, name))
        yield names
        for query in names:
            self.mars.api().sql(f"DROP QUERY {query}")
        self.mars.api().sql(f"DROP STREAM {name}")

    @property
    def groups_max(self) -> int | None:
        """How many groups a query may have here, None where that was not set."""
        found = self.mars.settings.get("query_groups_max")
        return found if isinstance(found, int) else None

    @contextlib.contextmanager
    def greedy(self, stream: str, wanted: bool) -> Iterator[str]:
        """A query with a group for nearly each tuple, whose windows stay open; its name, '' if it is not wanted."""
        name = f"{stream}_greedy" if wanted else ""
        if name:
            keys = "sip, type, port, session, timestamp"
            self.mars.api().sql(f"CREATE QUERY {name} AS SELECT {keys}, count(*) FROM {stream} GROUP BY {keys} "
                                 "WINDOWING 60 s WATERMARK 1 d FROM EARLIEST")
        yield name
        if name:
            self.mars.api().sql(f"DROP QUERY {name}")

    def fate(self, query: str) -> str:
        """Its state and the reason, '' for no query."""
        found = self.told(query) if query else {"state": "", "reason": ""}
        return f"{found['state']} {found['reason'] or ''}".strip()

    def produce(self, topic: str, tuples: int, event_rate: float, rate: float | None = None) -> Producer:
        """A producer process that has begun."""
        return Producer(topics.producing(self.kafka, topic, tuples, 1, self.counts(topic)), event_rate, rate)

    def counts(self, topic: str) -> Path:
        """Where the producer of a topic leaves its count."""
        return self.folder / f"{topic}.arrow"

    def committed(self, query: str) -> int:
        """Tuples in the query's last commits of every key part."""
        return committed(self.told(query))

    def told(self, query: str) -> dict:
        """What the API says of a query; a 503 is told, and asked again for REFUSED_S. Raises NotReadyError after that."""
        deadline = time.monotonic() + REFUSED_S
        while True:
            try:
                return self.mars.api().get(f"/v1/queries/{query}")
            except NotReadyError as error:
                print(f"asked again: {error}", file=sys.stderr, flush=True)
                if time.monotonic() > deadline:
                    raise
                time.sleep(AGAIN_S)

    def await_tuples(self, query: str, tuples: Callable[[], float]) -> int:
        """Return when the query has committed as many tuples as `tuples` then says; tells how many it has. Raises
        MarsError if it stands still or does not run."""
        last, moved = -1, time.monotonic()
        while True:
            found = self.told(query)
            if committed(found) != last:
                last, moved = committed(found), time.monotonic()
            elif time.monotonic() - moved > STALL_S or found["state"] != "RUNNING":
                raise MarsError(f"{query} stands still", f"{found['state']} {found['reason'] or ''} at {last:,} tuples")
            if last >= tuples():
                return last
            time.sleep(POLL_S)

    def wrong(self, topic: str, queries: list[str], shapes: Sequence[Wanted]) -> list[str]:
        """What is wrong with the answers, open windows too, one line for each query that is not exact."""
        with pa.memory_map(str(self.counts(topic))) as source:
            counted = pa.ipc.open_file(source).read_all()
        answers = {shape: shape.expected(counted) for shape in set(shapes)}
        found = []
        for query, shape in zip(queries, shapes, strict=True):
            rows = pa.concat_tables(self.mars.api().pages(query, partial="true"))
            if difference := compare(answers[shape], rows).difference:
                found.append(f"{query}: {difference}")
        return found

    def running(self) -> dict[str, list[psutil.Process]]:
        """The processes of each part."""
        if not self.parts or not all(process.is_running() for found in self.parts.values() for process in found):
            run = runfile.require(self.mars.config.data)
            self.parts = {**processes(run, self.mars.config), **self.more}
        return self.parts

    def memory_mb(self) -> dict[str, float]:
        """Resident memory of each part now."""
        return {part: round(sum(map(held_bytes, found)) / 1e6, 1) for part, found in self.running().items()}

    def down(self) -> None:
        """Stop Mars as `mars down` does; the broker stays."""
        up.down(self.mars.config.data)
        self.mars.stop()

    def up(self) -> None:
        """Start it again on the same folder."""
        self.mars.start(self.folder, self.kafka)


class Producer:
    """A running producer, and how many tuples it says to have sent."""

    def __init__(self, command: list[str], event_rate: float, rate: float | None) -> None:
        command[command.index("--event-rate") + 1] = str(event_rate)
        command += ["--rate", str(round(rate))] if rate else []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.sent = 0
        self.begun = threading.Event()
        self.thread = threading.Thread(target=self._listen, name="producer", daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        for line in output(self.process):
            self.sent = json.loads(line)["sent"]
            self.begun.set()
        self.begun.set()

    def ended(self) -> bool:
        """Whether it has sent all. Raises MarsError if it failed."""
        code = self.process.poll()
        if code:
            raise MarsError("The producer failed", f"exit code {code}")
        return code is not None

    def wait(self) -> None:
        """Until all is sent."""
        self.process.wait()
        self.thread.join()
        self.ended()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.thread.join()
        output(self.process).close()


def watch(loaded: Loaded, query: str, producer: Producer, seconds: float, tuples: int) -> tuple[list[Sample], float, float]:
    """Samples until all is committed, when the producer had ended, and when all was committed."""
    loaded.memory_mb()  # which looks for the processes first
    producer.begun.wait()
    began, ended_s, said_s, samples = time.monotonic(), 0.0, 0.0, []
    while True:
        at_s = time.monotonic() - began
        ended_s = ended_s or (at_s if producer.ended() else 0.0)
        samples.append(Sample(round(at_s, 1), producer.sent, loaded.committed(query), loaded.memory_mb()))
        if at_s >= said_s + SAY_S:
            said_s = at_s
            print(f"{at_s:.0f} s: {samples[-1].committed:,} of {producer.sent:,} tuples that were sent are committed, "
                  f"{sum(samples[-1].memory_mb.values()):,.0f} MB", file=sys.stderr, flush=True)
        if samples[-1].committed >= tuples:
            return samples, ended_s or at_s, at_s
        if ended_s and at_s > ended_s + 3 * seconds + STALL_S:
            raise MarsError("The backlog does not go", f"{samples[-1].committed:,} of {tuples:,} after {at_s:.0f} s")
        time.sleep(seconds / SAMPLES)
