"""Mars, as `mars up` starts it.

| setting | value | why |
| --- | --- | --- |
| all | the defaults | 2 mappers, 2 reducers, 2 key parts, commits each 200 ms at the least |
| kafka_address | the broker that all contenders read from | the same log for all |

Its cost is that of its whole process tree: supervisor, server, Spark's JVM, mappers, reducers, Redis and ZooKeeper.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from api.cli.client import Client
from api.instance import runfile
from api.instance.services.process import Child
from benchmarks import watch
from benchmarks.contenders.program import EXACTLY
from benchmarks.contenders.protocol import CUMULATE, HOP, SESSION, TUMBLE, Job
from benchmarks.generator import SCHEMA
from mars import config as configuration
from mars.config import Config
from mars.errors import MarsError
from mars.results.formats import timestamp_text

POLL_S = 0.05
START_S, STOP_S = 120.0, 30.0
UNITS = {1000: "s", 1: "ms"}
WINDOWING = {TUMBLE: "{size} ms", HOP: "{size} ms EVERY {step} ms", SESSION: "SESSION GAP {size} ms",
             CUMULATE: "LANDMARK EACH {size} ms EVERY {step} ms"}


class Mars:
    """One instance, with settings that differ from the defaults. It dies with this process."""

    name, title, guarantee = "mars", "Mars", EXACTLY
    tuples_max: int | None = None

    def __init__(self, settings: Mapping[str, object] | None = None) -> None:
        self.settings = dict(settings or {})
        self.child: Child | None = None
        self.client: Client | None = None

    def prepare(self, config: Config) -> None:
        """Nothing to fetch: `make setup` did."""

    def start(self, folder: Path, kafka: str) -> None:
        """Start an instance in an empty folder."""
        settings = {"kafka_address": kafka, **self.settings}
        self.config = configuration.load({"data": folder / "mars", **settings})
        command = [sys.executable, "-m", "api.cli", "up", "--data", str(self.config.data)]
        environment = {f"{configuration.PREFIX}{name.upper()}": str(value) for name, value in settings.items()}
        self.child = Child(self.name, command, folder / "log.txt", environment=environment)
        self.child.wait_ready(self._is_ready, START_S)
        self.client = Client(runfile.require(self.config.data).api, self.config.api_token)

    def roots(self) -> list[int]:
        """The supervisor, whose children all others are."""
        assert self.child is not None, "it was not started"
        return [self.child.pid]

    def api(self) -> Client:
        """A client of the running instance's API."""
        assert self.client is not None, "it was not started"
        return self.client

    def run(self, job: Job, limit_s: float) -> None:
        """Return when all is committed and the last window can be read. Raises MarsError if it takes too long."""
        create(self.api(), job)
        deadline, last = time.monotonic() + limit_s, timestamp_text((job.last_window_ms + job.window_ms) * 1000)
        assert last is not None
        while True:
            query = self.api().get(f"/v1/queries/q{job.number}")
            if (query["watermark"] or "") >= last and query["lag"] and query["lag"]["tuples"] == 0:
                self.api().get(f"/v1/queries/q{job.number}/results", limit=1, order="desc")
                return
            if time.monotonic() > deadline or query["state"] != "RUNNING":
                raise MarsError("The query does not end", f"{query['state']} {query['reason'] or ''} {query['counters']}")
            time.sleep(POLL_S)

    def results(self, job: Job) -> pa.Table:
        """The rows of closed windows, timestamp in ms."""
        if job.has_ends:
            return pa.concat_tables([_with_ends(page) for page in self.api().pages(f"q{job.number}")])
        tables = [page.select(["timestamp", "sip", "type", "count"]) for page in self.api().pages(f"q{job.number}")]
        table = pa.concat_tables(tables)
        return table.set_column(0, "timestamp", pc.multiply(table["timestamp"].cast(pa.int64()), job.unit_ms))

    @contextmanager
    def following(self, job: Job, out: Path) -> Iterator[None]:
        """The job of a topic that goes on runs, and the stream of its closed windows is written to `out`."""
        create(self.api(), job)
        reader = watch.start("closed", self.api().url, f"q{job.number}", out)
        try:
            yield
        finally:
            reader.terminate()
            reader.join()

    def stop(self) -> None:
        """End the instance."""
        if self.client:
            self.client.http.close()
        if self.child:
            self.child.stop(STOP_S)
        self.child = self.client = None

    def _is_ready(self) -> bool:
        run = runfile.running(self.config.data)
        return run is not None and run.state == runfile.READY


def committed(query: dict) -> int:
    """Tuples that every key part has committed, of a topic of one tuple a message; `query` is what the API says of it.
    Counters may be ahead of that, as each tuple is counted by one key part alone."""
    return sum(query["positions"].values())


def create(client: Client, job: Job) -> None:
    """The stream and the query of a job, named by its number; the one of the job before is dropped."""
    if job.number:
        client.sql(f"DROP QUERY q{job.number - 1}")
    unit, windowing = UNITS[job.unit_ms], WINDOWING[job.windows].format(size=job.window_ms, step=job.step_ms)
    keys = "sip, type" if job.has_ends else "sip, type, timestamp"
    client.sql(f"CREATE STREAM s{job.number} ({SCHEMA}) FROM KAFKA '{job.topic}' FORMAT CSV TIMESTAMP timestamp UNIT {unit}")
    client.sql(f"CREATE QUERY q{job.number} AS SELECT {keys}, count(*) FROM s{job.number} "
               f"GROUP BY {keys} WINDOWING {windowing} WATERMARK {job.watermark_ms} ms FROM EARLIEST")


def _with_ends(page: pa.Table) -> pa.Table:
    """Rows of windows that are not tumbling, as the protocol has them."""
    starts, ends = (pc.cast(page[name], pa.timestamp("ms", "UTC")).cast(pa.int64())
                    for name in ("window_start", "window_end"))
    return pa.table({"timestamp": starts, "end": ends, **{name: page[name] for name in ("sip", "type", "count")}})
