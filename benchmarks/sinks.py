"""What sinks cost and how fast they are: visible to delivered, rows per second, and many sinks with nothing to do.

`python -m benchmarks.sinks` starts an instance and a Postgres of its own. Three parts, each alone with `--only`:

- `rows`: a closed window of `--rows` groups goes into Kafka and into Postgres; rows per second between the first rows and
  the last one that a reader of the target sees, and whether it has as many rows as the result.
- `delay`: a window closes each second; from the moment when its row is visible in `/results` until the target has it, p50
  and p99. Both are seen by polling every few milliseconds.
- `idle`: CPU of the publishers with `--sinks` sinks whose query closes no window, in cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from confluent_kafka import Producer

from api.cli.client import Client
from api.cli.commands.secret import store
from api.cli.commands.status import collect
from api.demo.postgres import Postgres
from api.instance import up
from benchmarks.sinks_target import KafkaRows, PostgresRows, Rows
from mars import config as configuration
from mars.adapters.kafka.admin import KafkaAdmin
from mars.config import Config
from mars.workers import KINDS

PARTS = ("rows", "delay", "idle")
BASE_S = 1_700_000_000 - 1_700_000_000 % 60
DEADLINE_S, SETTLE_S = 600.0, 15.0
POLL_S, EACH_S = 0.005, 1.0
SECRET = "bench_pw"


class Bench:
    """An instance with a topic; each query has a stream of its own name, and windows of `window_s`."""

    def __init__(self, client: Client, config: Config, kafka: str, postgres: Postgres) -> None:
        self.client, self.config, self.kafka, self.postgres = client, config, kafka, postgres
        self.producer = Producer({"bootstrap.servers": kafka, "linger.ms": 5, "log_level": 0})

    def query(self, name: str, window_s: int = 60) -> None:
        """A stream with a query of its topic."""
        KafkaAdmin(self.kafka).create(name, 1)
        self.client.sql(f"CREATE STREAM {name} (t BIGINT, k BIGINT) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP t UNIT s")
        self.client.sql(f"CREATE QUERY {name}_q AS SELECT k, count(*) AS n, sum(k) AS total FROM {name} GROUP BY k "
                        f"WINDOWING {window_s} s WATERMARK 0 s IDLE OFF FROM EARLIEST")

    def send(self, name: str, time_s: int, keys: range) -> None:
        """A tuple for each key, of one event time."""
        for first in range(keys.start, keys.stop, 1000):
            lines = "\n".join(f"{time_s},{k}" for k in range(first, min(keys.stop, first + 1000)))
            self.producer.produce(name, lines)
            self.producer.poll(0)
        if self.producer.flush(60):
            raise SystemExit("Kafka did not take the tuples")

    def sink(self, name: str, kind: str) -> Rows:
        """A sink of the query into a target of that kind."""
        into = f"KAFKA TOPIC '{name}_out'" if kind == "kafka" else f"POSTGRES bench TABLE 'public.{name}'"
        self.client.sql(f"CREATE SINK {name}_{kind} FROM {name}_q INTO {into}")
        return KafkaRows(self.kafka, f"{name}_out") if kind == "kafka" else PostgresRows(self.postgres, name)

    def visible(self, name: str) -> int:
        """How many windows of the query are closed and visible, each of one row."""
        return len(self.client.get(f"/v1/queries/{name}_q/results", limit=10_000)["rows"])

    def until(self, condition: Callable[[], bool], what: str, poll_s: float = 0.05) -> float:
        """When it became true, in seconds of the monotonic clock."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(f"not within {DEADLINE_S:.0f} s: {what}")
            time.sleep(poll_s)
        return time.monotonic()


def measure_rows(bench: Bench, kind: str, rows: int) -> dict[str, float | bool]:
    """Rows per second into a target from a backlog of one closed window."""
    name = f"rows_{kind}"
    bench.query(name)
    bench.send(name, BASE_S, range(rows))
    bench.send(name, BASE_S + 60, range(1))
    counted = f"SELECT count(*) AS n FROM {name}_q"
    bench.until(lambda: bench.client.sql(counted)["rows"][0][0] >= rows, "the window closes", 0.5)
    target = bench.sink(name, kind)
    began = bench.until(lambda: target.count() > 0, "the first rows come", POLL_S)
    first = target.count()
    ended = bench.until(lambda: target.count() >= rows, "all rows come", POLL_S)
    time.sleep(1.0)
    exact = target.count() == rows
    target.close()
    bench.client.sql(f"DROP SINK {name}_{kind}")
    return {"rows": rows, "rows_per_s": round((rows - first) / max(1e-9, ended - began)), "exact": exact}


def measure_delay(bench: Bench, kind: str, windows: int) -> dict[str, float | bool]:
    """From visible to delivered, of windows that close one by one."""
    name = f"delay_{kind}"
    bench.query(name, 1)
    target = bench.sink(name, kind)
    bench.send(name, BASE_S, range(1))
    delays = []
    for window in range(1, windows + 1):
        bench.send(name, BASE_S + window, range(1))
        delays.append(delay_s(bench, name, target, window))
        time.sleep(EACH_S)
    exact = target.count() == windows
    target.close()
    bench.client.sql(f"DROP SINK {name}_{kind}")
    p50, p99 = np.percentile(np.array(delays) * 1000, [50, 99])
    return {"windows": windows, "p50_ms": round(float(p50), 1), "p99_ms": round(float(p99), 1), "exact": exact}


def delay_s(bench: Bench, name: str, target: Rows, wanted: int) -> float:
    """From the moment when so many windows of one row are visible until the target has their rows."""
    seen = bench.until(lambda: bench.visible(name) >= wanted, "the window closes", POLL_S)
    return bench.until(lambda: target.count() >= wanted, "its row comes", POLL_S) - seen


def measure_idle(bench: Bench, sinks: int, seconds: float) -> dict[str, float]:
    """Cores that the publishers use while no window closes."""
    bench.query("idle")
    for number in range(sinks):
        bench.client.sql(f"CREATE SINK idle_{number} FROM idle_q INTO KAFKA TOPIC 'idle_out'")
    bench.until(lambda: all(sink["state"] == "DELIVERING" for sink in bench.client.get("/v1/sinks")["sinks"]),
                "all sinks deliver", 1.0)
    time.sleep(SETTLE_S)
    publishers = [psutil.Process(pid) for pid in publisher_pids(bench.config)]
    before = sum(sum(process.cpu_times()[:2]) for process in publishers)
    time.sleep(seconds)
    used = sum(sum(process.cpu_times()[:2]) for process in publishers) - before
    return {"sinks": sinks, "seconds": seconds, "cores": round(used / seconds, 4)}


def publisher_pids(config: Config) -> list[int]:
    """The processes of the publishers that have registered."""
    kind = next(kind for kind in KINDS if kind.name == "publisher")
    return [worker["pid"] for worker in collect(config)[kind.plural]]


@contextmanager
def instance(folder: Path) -> Iterator[Bench]:
    """A Mars and a Postgres that know each other."""
    config = configuration.load({"data": folder})
    run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
    try:
        postgres = Postgres("bench")
        try:
            with Client.of(run, config.api_token) as client:
                with store(config.data) as secrets:
                    secrets.set(SECRET, postgres.password.encode())
                client.sql(f"CREATE CONNECTION bench TO POSTGRES (HOST '127.0.0.1', PORT {postgres.port}, "
                           f"DATABASE {postgres.database}, USER {postgres.user}, PASSWORD SECRET {SECRET})")
                yield Bench(client, config, run.kafka, postgres)
        finally:
            postgres.close()
    finally:
        up.down(config.data)


def main() -> None:
    """The benchmark; exit code 1 if a target does not have the rows of the results."""
    parser = argparse.ArgumentParser(prog="benchmarks.sinks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument("--rows", type=int, default=500_000, help="rows of the closed window")
    parser.add_argument("--windows", type=int, default=100, help="windows that close one by one")
    parser.add_argument("--sinks", type=int, default=100, help="sinks with nothing to do")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long they are watched")
    given = parser.parse_args()
    found: dict[str, dict] = {}
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder, instance(Path(folder)) as bench:
        for kind in ("kafka", "postgres"):
            if given.only in (None, "rows"):
                found[f"rows into {kind}"] = measure_rows(bench, kind, given.rows)
            if given.only in (None, "delay"):
                found[f"delay into {kind}"] = measure_delay(bench, kind, given.windows)
        if given.only in (None, "idle"):
            found["idle"] = measure_idle(bench, given.sinks, given.seconds)
    print(json.dumps(found, indent=1))
    sys.exit(0 if all(part.get("exact", True) for part in found.values()) else 1)


if __name__ == "__main__":
    main()
