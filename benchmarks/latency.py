"""From the making of an event to a result that a client can read: p50, p95, p99, mean and greatest, at several loads.

`python -m benchmarks.latency` starts an instance of its own. For each load a producer process makes tuples by a
schedule, with the moment of making as their event time, and two readers ask the API, as clients would. It tells
  freshness       from the making of a tuple until it counts in a result that was read (open windows, `partial=true`);
  window closed   from the moment when the watermark passes a window's end until all its rows were read from the stream
                  of closed windows. Tuples come all the time to every partition, so that moment is the end + WATERMARK;
  tuple closed    from the making of a tuple until its closed window was read, less WATERMARK: it holds the rest of the
                  window, half a window on the average.
A load is a rate, or a share of the limit: the rate that is committed while a producer sends as fast as it can, on the
same cores. Every group is compared with the producer's count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import psutil
import pyarrow as pa

from api import up
from api.client import Client
from api.demo_check import compare
from api.runfile import Run
from benchmarks import plot, watch
from benchmarks.generator import QUERY, SCHEMA
from benchmarks.latency_figures import Spread, freshness, readable
from benchmarks.machine import command, machine
from benchmarks.parts import Meter, processes
from mars import config as configuration
from mars.adapters.kafka_admin import KafkaAdmin
from mars.config import Config
from mars.errors import MarsError

WARM_S, SETTLE_S = 3.0, 3.0
WARM_RATE, LIMIT_S = 40_000, 8.0
UNPACED = 5e6
PARTITIONS = 4
TITLE = "From an event's making, and from a window's end, to a reader"


@dataclass(frozen=True)
class Load:
    """One measurement: tuples per second, for so many seconds, in windows of `window_ms`."""

    name: str
    rate: float
    seconds: float
    window_ms: int = 1_000
    watermark_ms: int = 1_000
    linger_ms: float = 5.0
    patience: float = 3.0


@dataclass(frozen=True)
class Found:
    """What one load gave; spreads in ms, CPU in cores, of the machine's cores that are all in use by Mars, Kafka, producer
    and readers together."""

    load: Load
    sent: int
    freshness: Spread
    window_closed: Spread
    tuple_closed: Spread
    producer: Spread
    cores: dict[str, float]
    exact: bool
    difference: str

    def json(self) -> dict:
        """As it is written to a file."""
        spreads = {name: getattr(self, name).json() for name in ("freshness", "window_closed", "tuple_closed", "producer")}
        return {**vars(self.load), "sent": self.sent, **spreads, "cores": self.cores, "exact": self.exact,
                "difference": self.difference}


class Bench:
    """An instance, and the loads that are put on it one after the other."""

    def __init__(self, run: Run, config: Config, folder: Path) -> None:
        self.run, self.config, self.folder = run, config, folder
        self.client = Client(run.api, config.api_token)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__()

    @contextlib.contextmanager
    def query(self, name: str, load: Load) -> Iterator[None]:
        """A topic, a stream and a query of that name; stream and query go at the end."""
        admin = KafkaAdmin(self.run.kafka)
        admin.create(name, PARTITIONS)
        admin.close()
        self.client.sql(f"CREATE STREAM {name} ({SCHEMA}) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP timestamp UNIT ms")
        select = QUERY.format(stream=name).replace("60 s", f"{load.window_ms} ms")
        self.client.sql(f"CREATE QUERY q_{name} AS {select} WATERMARK {load.watermark_ms} ms FROM EARLIEST")
        try:
            yield
        finally:
            self.client.sql(f"DROP QUERY q_{name}")
            self.client.sql(f"DROP STREAM {name}")

    def produce(self, name: str, load: Load) -> subprocess.Popen:
        """A producer process that has made its tuples ready and begins now."""
        command = [sys.executable, "-m", "benchmarks.pacer", "--kafka", self.run.kafka, "--topic", name,
                   "--rate", str(load.rate), "--seconds", str(load.seconds), "--linger-ms", str(load.linger_ms),
                   "--window-ms", str(load.window_ms), "--patience", str(load.patience),
                   "--log", str(self.folder / f"{name}.npz"), "--counts", str(self.folder / f"{name}.arrow")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if not process.stdout.readline():
            raise MarsError("The producer ended", f"exit code {process.wait()}")
        return process

    def warm(self, seconds: float) -> None:
        """A load that is not measured: in its first seconds a JVM spends a core on compiling itself."""
        load = Load("warm", WARM_RATE, seconds)
        with self.query("warm", load):
            self.produce("warm", load).wait()

    def limit(self, seconds: float = LIMIT_S) -> float:
        """Tuples per second that are committed while a producer sends all it can, its first second left out."""
        load = Load("limit", UNPACED, seconds, patience=1.0)
        with self.query("limit", load):
            producer = self.produce("limit", load)
            time.sleep(1.0)
            counts = [self._committed("q_limit")]
            producer.stdout.readline()
            counts.append(self._committed("q_limit"))
            producer.wait()
        (first, began), (last, ended) = counts
        if last == first:
            raise MarsError("Nothing was committed", f"in {ended - began:.0f} s under full load")
        return (last - first) / (ended - began)

    def _committed(self, query: str) -> tuple[int, float]:
        return self.client.get(f"/v1/queries/{query}")["counters"]["tuples"], time.monotonic()

    def measure(self, load: Load) -> Found:
        """One load, from a topic of its own to the check of every group."""
        name = f"t_{load.name}"
        files = {kind: self.folder / f"{name}.{kind}.jsonl" for kind in ("partial", "closed")}
        with self.query(name, load):
            readers = [watch.start(kind, self.run.api, f"q_{name}", file) for kind, file in files.items()]
            try:
                time.sleep(1.0)
                producer = self.produce(name, load)
                with Meter({**processes(self.run, self.config),
                            "readers": [psutil.Process(reader.pid) for reader in readers]}) as meter:
                    told = json.loads(producer.stdout.readline() or "{}")
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
        fresh = freshness(made, partition, load.window_ms, read["partial"])
        sums = expected.group_by("timestamp").aggregate([("count", "sum")])
        whole = readable(read["closed"], dict(zip(sums["timestamp"].to_pylist(), sums["count_sum"].to_pylist(),
                                                  strict=True)))
        starts = np.array(sorted(sums["timestamp"].to_pylist()))
        passed = starts + load.window_ms + load.watermark_ms
        due = (passed > warm) & (passed < end_ms[-1])
        at = np.array([whole.get(int(start), np.nan) for start in starts])
        window = made.astype(np.int64) // load.window_ms * load.window_ms
        tuple_at = at[np.searchsorted(starts, window)]
        counted = np.isin(window, starts[due])
        return Found(load, sent, Spread.of(fresh[made > warm]), Spread.of((at - passed)[due]),
                     Spread.of((tuple_at - made - load.watermark_ms)[counted]), Spread.of((acked - end_ms)[end_ms > warm]),
                     cores, not verdict.difference, verdict.difference)


def _lines(file: Path) -> list[dict]:
    """The whole lines of a reader's file; the last one may be cut by its end."""
    return [orjson.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]


def describe(found: Found) -> str:
    """The figures for people."""
    load = found.load
    spreads = [("freshness", found.freshness), ("window closed", found.window_closed),
               ("tuple closed", found.tuple_closed), ("sent late by", found.producer)]
    cores = "  ".join(f"{part} {used:.2f}" for part, used in found.cores.items())
    verdict = "EXACT" if found.exact else f"NOT EXACT: {found.difference}"
    return "\n".join([f"{load.name}: {load.rate:,.0f} tuples/s for {load.seconds:.0f} s, windows of {load.window_ms} ms; "
                      f"{verdict}", *(f"  {name:<14} ms  {spread.text()}" for name, spread in spreads),
                      f"  cores in use: {sum(found.cores.values()):.2f} ({cores})"])


def picture(found: list[Found]) -> str:
    """Bars of freshness and of closing for each load."""
    names = [f"{each.load.name.replace('_', ' ')} ({plot.number(each.load.rate)}/s)" for each in found]
    series = {f"{what} {of}": [getattr(getattr(each, key), of) for each in found]
              for what, key in (("fresh", "freshness"), ("closed", "window_closed")) for of in ("p50", "p99")}
    return plot.bars(TITLE, "ms", names, series)


def loads(shares: list[float], rates: list[float], limit: float, seconds: float, window_ms: int) -> list[Load]:
    """The loads that were asked for; shares are of `limit`."""
    wanted = [(f"share_{round(share * 100)}", share * limit) for share in shares]
    wanted += [(f"rate_{round(rate)}", rate) for rate in rates]
    return [Load(name, rate, seconds, window_ms) for name, rate in wanted]


def measure(bench: Bench, warm: float, limit: float | None, shares: list[float], rates: list[float], seconds: float,
            window_ms: int) -> tuple[float, list[Found]]:
    """Warm, find the limit if it is needed and not known, and measure each load, telling it at once."""
    if warm:
        bench.warm(warm)
    limit = limit or (bench.limit() if shares else 0.0)
    print(f"limit with the producer on the same cores: {limit:,.0f} tuples/s", flush=True)
    found = []
    for load in loads(shares, rates, limit, seconds, window_ms):
        found.append(bench.measure(load))
        print(describe(found[-1]), flush=True)
    return limit, found


def main() -> None:
    """The benchmark; exit code 1 if any result is not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.latency", description=__doc__.splitlines()[0])
    parser.add_argument("--share", default="0.1,0.5,0.8", help="loads as shares of the limit, or nothing")
    parser.add_argument("--rate", default="40000", help="loads in tuples per second, or nothing")
    parser.add_argument("--limit", type=float, help="the limit, if it is known; else it is measured")
    parser.add_argument("--seconds", type=float, default=40.0, help="for each load")
    parser.add_argument("--warm", type=float, default=15.0, help="seconds before the first load that are not measured")
    parser.add_argument("--window-ms", type=int, default=1_000)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    given = parser.parse_args()
    shares, rates = ([float(part) for part in text.split(",") if part] for text in (given.share, given.rate))
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder:
        config = configuration.load({"data": Path(folder)})
        run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
        try:
            with Bench(run, config, Path(folder)) as bench:
                limit, found = measure(bench, given.warm, given.limit, shares, rates, given.seconds, given.window_ms)
        finally:
            up.down(config.data)
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(), "command": command(), "title": TITLE, "limit": limit,
                                          "loads": [each.json() for each in found]}, indent=1))
        given.json.with_suffix(".svg").write_text(picture(found))
    sys.exit(0 if all(each.exact for each in found) else 1)


if __name__ == "__main__":
    main()
