"""One load on an instance of Mars: a producer that keeps to its schedule, two readers, and what they tell of latency.

For each load a producer process makes tuples by a schedule, with the moment of making as their event time, and two readers
ask the API, as clients would. Every group is compared with the producer's count.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson
import psutil
import pyarrow as pa

from api.cli.client import Client
from api.demo.check import compare
from api.instance.runfile import Run
from benchmarks import topics, watch
from benchmarks.generator import QUERY, SCHEMA, UNIFORM
from benchmarks.latency_figures import Found, Load, Spread, freshness, readable
from benchmarks.latency_limit import Try
from benchmarks.parts import Meter, output, processes
from mars.config import Config
from mars.errors import MarsError

WARM_S, SETTLE_S = 3.0, 3.0
WARM_RATE, BURST_S = 40_000, 8.0
UNPACED = 5e6
PARTITIONS = 4
READERS = ("partial", "closed")


class Bench:
    """An instance, and the loads that are put on it one after the other."""

    def __init__(self, run: Run, config: Config, folder: Path, keys: str = UNIFORM,
                 partitions: int = PARTITIONS) -> None:
        self.run, self.config, self.folder, self.keys, self.partitions = run, config, folder, keys, partitions
        self.client = Client(run.api, config.api_token)
        self.offered = 0

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__()

    @contextlib.contextmanager
    def query(self, name: str, load: Load) -> Iterator[None]:
        """A topic, a stream and a query of that name; they go at the end."""
        topics.create(self.run.kafka, name, self.partitions)
        self.client.sql(f"CREATE STREAM {name} ({SCHEMA}) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP timestamp UNIT ms")
        select = QUERY.format(stream=name).replace("60 s", f"{load.window_ms} ms")
        self.client.sql(f"CREATE QUERY q_{name} AS {select} WATERMARK {load.watermark_ms} ms FROM EARLIEST")
        try:
            yield
        finally:
            self.client.sql(f"DROP QUERY q_{name}")
            self.client.sql(f"DROP STREAM {name}")
            topics.delete(self.run.kafka, name)

    def produce(self, name: str, load: Load) -> subprocess.Popen:
        """A producer of a topic of that name."""
        return start_producer(self.run.kafka, name, load, self.folder)

    def warm(self, seconds: float) -> None:
        """A load that is not measured: in its first seconds a JVM spends a core on compiling itself."""
        load = Load("warm", WARM_RATE, seconds, keys=self.keys)
        with self.query("warm", load), self.produce("warm", load):
            pass  # its end is awaited

    def burst(self, seconds: float = BURST_S) -> float:
        """Tuples per second that are committed while a producer sends all it can, its first second left out, and nobody
        reads."""
        load = Load("burst", UNPACED, seconds, patience=1.0, keys=self.keys)
        with self.query("burst", load), self.produce("burst", load) as producer:
            time.sleep(1.0)
            counts = [self._committed("q_burst")]
            output(producer).readline()
            counts.append(self._committed("q_burst"))
        (first, began), (last, ended) = counts
        if last == first:
            raise MarsError("Nothing was committed", f"in {ended - began:.0f} s under full load")
        return (last - first) / (ended - began)

    def offer(self, rate: float, seconds: float) -> Try:
        """Is this rate held? Measured as any load is, with its readers and the check of its results."""
        self.offered += 1
        found = self.measure(Load(f"try_{self.offered}", rate, seconds, keys=self.keys))
        if not found.exact:
            raise MarsError("The results are wrong", f"at {rate:,.0f} tuples/s: {found.difference}")
        return found.trend

    def _committed(self, query: str) -> tuple[int, float]:
        return self.client.get(f"/v1/queries/{query}")["counters"]["tuples"], time.monotonic()

    def measure(self, load: Load, kinds: tuple[str, ...] = READERS) -> Found:
        """One load, from a topic of its own to the check of every group. Without a reader its latencies are missing."""
        name = f"t_{load.name}"
        files = {kind: self.folder / f"{name}.{kind}.jsonl" for kind in kinds}
        with self.query(name, load):
            readers = [watch.start(kind, self.run.api, f"q_{name}", file) for kind, file in files.items()]
            try:
                os.sync()  # what loads before this one left to be written would be written beside it
                time.sleep(1.0)
                with self.produce(name, load) as producer, Meter({
                        **processes(self.run, self.config),
                        "readers": [psutil.Process(reader.pid) for reader in readers]}) as meter:
                    told = json.loads(output(producer).readline() or "{}")
                if producer.wait() or not told:
                    raise MarsError("The producer failed", f"exit code {producer.returncode}")
                sent = told["sent"]
                self._await_all(f"q_{name}", sent)
                time.sleep(SETTLE_S)
            finally:
                for reader in readers:
                    reader.terminate()
            results = pa.concat_tables(self.client.pages(f"q_{name}", partial="true"))
        cores = {part: round(cpu / load.seconds, 3) for part, cpu in {**meter.cpu_s, "producer": told["cpu_s"]}.items()}
        return self._found(load, name, sent, results, cores, {kind: _lines(file) for kind, file in files.items()})

    def _await_all(self, query: str, sent: int) -> None:
        """Until all that was sent is committed, whether the load was too high or not."""
        deadline = time.monotonic() + 60
        while self._committed(query)[0] < sent and time.monotonic() < deadline:
            time.sleep(0.2)

    def _found(self, load: Load, name: str, sent: int, results: pa.Table, cores: dict[str, float],
               read: dict[str, list[dict]]) -> Found:
        """The figures of a load, its first WARM_S left out."""
        with pa.memory_map(str(self.folder / f"{name}.arrow")) as source:
            expected = pa.ipc.open_file(source).read_all()
        with np.load(self.folder / f"{name}.npz") as log:
            made, partition, begin, acked = (log[key] for key in ("made_ms", "partition", "begin_ms", "acked_ms"))
            end_ms = begin + float(log["span_ms"])
        verdict = compare(expected, results)
        warm = begin[0] + WARM_S * 1000
        fresh = freshness(made, partition, load.window_ms, read.get("partial", []))
        sums = expected.group_by("timestamp").aggregate([("count", "sum")])
        whole = readable(read.get("closed", []), dict(zip(sums["timestamp"].to_pylist(), sums["count_sum"].to_pylist(),
                                                  strict=True)))
        starts = np.array(sorted(sums["timestamp"].to_pylist()))
        passed = starts + load.window_ms + load.watermark_ms
        due = (passed > warm) & (passed < end_ms[-1])
        at = np.array([whole.get(int(start), np.nan) for start in starts])
        trend = Try.of(load.rate, made, fresh, end_ms, acked - end_ms, warm)
        window = made.astype(np.int64) // load.window_ms * load.window_ms
        tuple_at = at[np.searchsorted(starts, window)]
        counted = np.isin(window, starts[due])
        return Found(load, sent, Spread.of(fresh[made > warm]), Spread.of((at - passed)[due]),
                     Spread.of((tuple_at - made - load.watermark_ms)[counted]), Spread.of((acked - end_ms)[end_ms > warm]),
                     trend, cores, not verdict.difference, verdict.difference)


def start_producer(kafka: str, topic: str, load: Load, folder: Path) -> subprocess.Popen:
    """A producer process that has made its tuples ready and begins now. It leaves its log and its counts in the folder, as
    <topic>.npz and <topic>.arrow, and says on its output what it sent."""
    command = [sys.executable, "-m", "benchmarks.pacer", "--kafka", kafka, "--topic", topic,
               "--rate", str(load.rate), "--seconds", str(load.seconds), "--linger-ms", str(load.linger_ms),
               "--window-ms", str(load.window_ms), "--patience", str(load.patience), "--keys", load.keys,
               "--log", str(folder / f"{topic}.npz"), "--counts", str(folder / f"{topic}.arrow")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if not output(process).readline():
        raise MarsError("The producer ended", f"exit code {process.wait()}")
    return process


def _lines(file: Path) -> list[dict]:
    """The whole lines of a reader's file; the last one may be cut by its end."""
    return [orjson.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]
