"""A live query beside a backfill of the same stream: what is done to both, what a client sees, whether all was right."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import redis

from api.cli.client import Client
from api.demo.check import compare
from api.instance.runfile import Run
from benchmarks import topics, watch
from benchmarks.backfill_figures import WARM, Fresh, Phase, both, by_phase, moments, share, whole_from
from benchmarks.generator import QUERY, SCHEMA, WINDOW_S
from benchmarks.latency_bench import start_producer
from benchmarks.latency_figures import Load, freshness
from benchmarks.parts import output
from mars.adapters.kafka.admin import KafkaAdmin
from mars.config import Config
from mars.errors import MarsError, NotReadyError

STREAM, LIVE, SECOND, BACKFILL = "filled", "live", "second", "backfill"
PARTITIONS, WINDOW_MS = 4, 1_000
FOREVER_S = 7_200.0
POLL_S, STALL_S, SETTLE_S = 0.05, 90.0, 3.0


class Scene:
    """A topic with old tuples, and a producer that goes on. Use as a context; it leaves nothing behind."""

    def __init__(self, run: Run, config: Config, folder: Path, tuples: int, rate: float) -> None:
        self.run, self.config, self.folder, self.tuples = run, config, folder, tuples
        self.load = Load(STREAM, rate, FOREVER_S, WINDOW_MS)
        self.client = Client(run.api, config.api_token)
        self.phases: list[Phase] = []
        self.readers = contextlib.ExitStack()
        self.second_from_ms = 0

    def __enter__(self) -> Scene:
        topics.create(self.run.kafka, STREAM, PARTITIONS)
        filling = topics.producing(self.run.kafka, STREAM, self.tuples, 1, self.folder / "old.arrow")
        subprocess.run([*filling, "--unit", "ms"], check=True, stdout=subprocess.DEVNULL)
        admin = KafkaAdmin(self.run.kafka)
        self.old = admin.end_offsets(STREAM, range(PARTITIONS))
        self.client.sql(f"CREATE STREAM {STREAM} ({SCHEMA}) FROM KAFKA '{STREAM}' FORMAT CSV TIMESTAMP timestamp UNIT ms")
        return self

    def __exit__(self, *_: object) -> None:
        self.readers.close()
        for what in (f"QUERY {LIVE}", f"QUERY {SECOND}", f"QUERY {BACKFILL}", f"STREAM {STREAM}"):
            with contextlib.suppress(MarsError):
                self.client.sql(f"DROP {what}")
        topics.delete(self.run.kafka, STREAM)
        self.client.__exit__()

    def play(self, warm_s: float, alone_s: float) -> float:
        """All of it, from a live query alone to the last commit; the seconds that the backfill took."""
        self._watched(LIVE)
        with self._producing():
            self._begin(WARM)
            time.sleep(warm_s)
            self._begin("live query alone")
            time.sleep(alone_s)
            self._begin("backfill created")
            began = time.monotonic()
            self._create(BACKFILL, f"{WINDOW_S} s", "WATERMARK 5 s FROM EARLIEST")
            for at, name, step in self._steps():
                self._begin(name, self._await(at))
                step()
            self._begin("backfill done", self._await(1.0))
            seconds = time.monotonic() - began
            time.sleep(alone_s)
        self.end_ms = time.time() * 1000
        for query in (LIVE, SECOND, BACKFILL):
            self._await_all(query)
        time.sleep(SETTLE_S)
        self.readers.close()
        return seconds

    def _steps(self) -> tuple[tuple[float, str, Callable[[], object]], ...]:
        """What is done at which share of the backfill, which lasts as long as the machine makes it."""
        return ((0.15, "live query paused", lambda: self.client.sql(f"PAUSE QUERY {LIVE}")),
                (0.25, "live query resumed", lambda: self.client.sql(f"RESUME QUERY {LIVE}")),
                (0.5, "another live query created", self._create_second),
                (0.75, "Redis emptied: a recovery", self._empty_redis))

    def _create_second(self) -> None:
        self._watched(SECOND)
        self.second_from_ms = (int(time.time() * 1000) // WINDOW_MS + 1) * WINDOW_MS

    def _empty_redis(self) -> None:
        host, _, port = self.run.redis.rpartition(":")
        with redis.Redis(host, int(port)) as client:
            client.flushall()

    def _watched(self, query: str) -> None:
        """Create a live query, and read its results until the end."""
        self._create(query, f"{WINDOW_MS} ms", f"WATERMARK {self.load.watermark_ms} ms FROM LATEST")
        reader = watch.start("partial", self.run.api, query, self.folder / f"{query}.jsonl")
        self.readers.callback(reader.terminate)

    def _create(self, name: str, window: str, clauses: str) -> None:
        self.client.sql(f"CREATE QUERY {name} AS {QUERY.format(stream=STREAM).replace('60 s', window)} {clauses}")

    @contextlib.contextmanager
    def _producing(self) -> Iterator[None]:
        """The producer that keeps to its schedule, until the end of the block; then all is sent and counted."""
        process = start_producer(self.run.kafka, STREAM, self.load, self.folder)
        try:
            yield
            process.send_signal(signal.SIGTERM)
            if process.wait(60):
                raise MarsError("The producer failed", f"exit code {process.returncode}")
        finally:
            process.kill()
            process.wait()
            output(process).close()

    def _begin(self, name: str, at: float = 0.0) -> None:
        self.phases.append(Phase(name, time.time() * 1000, at))

    def _await(self, wanted: float) -> float:
        """Return when the backfill has committed this share of the old tuples, with the share that it has. Raises MarsError
        if it stands still."""
        last, moved = -1.0, time.monotonic()
        while (now := share(self._told(BACKFILL)["positions"], self.old)) < wanted:
            if now != last:
                last, moved = now, time.monotonic()
            if time.monotonic() - moved > STALL_S:
                raise MarsError("The backfill stands still", f"at {now:.0%}: {self._told(BACKFILL)}")
            time.sleep(POLL_S)
        return now

    def _await_all(self, query: str) -> None:
        deadline = time.monotonic() + STALL_S
        while (found := self._told(query))["lag"] is None or found["lag"]["tuples"]:
            if time.monotonic() > deadline or found["state"] != "RUNNING":
                raise MarsError(f"{query} does not end", f"{found}")
            time.sleep(POLL_S)

    def _told(self, query: str) -> dict:
        """What the API says of a query; while it is not ready it is asked again."""
        deadline = time.monotonic() + STALL_S
        while True:
            try:
                return self.client.get(f"/v1/queries/{query}")
            except NotReadyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)

    # -- what it says -----------------------------------------------------------------------------------------------

    def fresh(self) -> tuple[list[Fresh], dict[str, list]]:
        """How fresh each live query was in each phase, and along the run. Of the second one windows count that began after
        it was created."""
        with np.load(self.folder / f"{STREAM}.npz") as log:
            made, partition = log["made_ms"], log["partition"]
        lines, along = [], {}
        for query, from_ms in ((LIVE, 0), (SECOND, self.second_from_ms)):
            mine = made >= from_ms
            readings = [orjson.loads(line) for line in (self.folder / f"{query}.jsonl").read_bytes().split(b"\n")[:-1]]
            found = freshness(made[mine], partition[mine], WINDOW_MS, readings)
            lines += by_phase(self.phases, self.end_ms, query, made[mine], found)
            along[query] = moments(self.phases[0].begin_ms, made[mine], found)
        return lines, along

    def wrong(self) -> list[str]:
        """What is wrong with the answers, open windows too, one line for each query that is not exact."""
        old, live = (_table(self.folder / name) for name in ("old.arrow", f"{STREAM}.arrow"))
        expected = {LIVE: live, SECOND: whole_from(live, self.second_from_ms), BACKFILL: both(old, live, WINDOW_S * 1000)}
        found = {query: pa.concat_tables(self.client.pages(query, partial="true")) for query in expected}
        found[SECOND] = whole_from(found[SECOND], self.second_from_ms)
        verdicts = {query: compare(expected[query], found[query]).difference for query in expected}
        return [f"{query}: {difference}" for query, difference in verdicts.items() if difference]


def _table(file: Path) -> pa.Table:
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all()
