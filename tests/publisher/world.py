"""A running Mars with publishers, and a query with a sink for each kind of target."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from api.statements import sink_status
from mars.results.formats import rows as json_rows
from tests.cluster import Cluster
from tests.conftest import Stack
from tests.postgres import Postgres
from tests.publisher.consume import read
from tests.publisher.hooks import Receiver

LONG_S = 90
BURST_LINES = 1_000
BASE_S = 1_700_000_040 - 1_700_000_040 % 60
PAGES = ("home", "shop", "", "it's \\ \"quoted\"", "é")
SELECT = ("SELECT page, count(*) AS n, sum(v) AS total, avg(v) AS mean, max(price) AS top FROM {stream} GROUP BY page "
          "WINDOWING 60 s WATERMARK 0 s IDLE OFF")


@contextlib.contextmanager
def cluster_with_warehouse(stack: Stack, postgres: Postgres, folder: Path, mappers: int, reducers: int, **settings: int
                           ) -> Iterator[Cluster]:
    """A cluster whose connection `wh` goes to the Postgres."""
    made = Cluster(stack, folder, mappers, reducers, **settings)
    try:
        made.wait_for_workers()
        made.context.secrets.set("wh_pw", Postgres.password.encode())
        made.sql(f"CREATE CONNECTION wh TO POSTGRES (HOST '127.0.0.1', PORT {postgres.port}, DATABASE {postgres.database}, "
                 f"USER {postgres.user}, PASSWORD SECRET wh_pw)")
        yield made
    finally:
        made.close()


class Feed:
    """A stream, its query and a sink of both names; `minutes` are those that tuples were sent of."""

    def __init__(self, cluster: Cluster, name: str, into: str) -> None:
        self.cluster, self.name, self.minutes = cluster, name, 0
        cluster.create_topic(name, 1)
        cluster.sql(f"CREATE STREAM {name} (t BIGINT, page STRING, v INT, price DECIMAL(10, 2)) FROM KAFKA '{name}' "
                    "FORMAT CSV TIMESTAMP t UNIT s")
        self.query, self.sink = f"{name}_q", f"{name}_sink"
        cluster.sql(f"CREATE QUERY {self.query} AS {SELECT.format(stream=name)}")
        cluster.sql(f"CREATE SINK {self.sink} FROM {self.query} INTO {into}")

    def produce(self, minutes: int = 3) -> None:
        """Tuples of so many further windows; all of them close but the last."""
        for minute in range(self.minutes, self.minutes + minutes):
            start = BASE_S + 60 * minute
            self.cluster.produce((self.name, 0, f"{start + i},{PAGES[i % len(PAGES)]},{minute * 100 + i},{i}.25".encode())
                                 for i in range(23))
        self.minutes += minutes

    def burst(self, tuples: int) -> float:
        """So many tuples of one further window at once; how many of them the query has read a second, until it has read
        all."""
        start = BASE_S + 60 * self.minutes
        self.minutes += 1
        lines = [f"{start + i % 60},{PAGES[i % len(PAGES)]},{i},{i}.25" for i in range(BURST_LINES)]
        message = "\n".join(lines).encode()
        began = time.monotonic()
        self.cluster.produce((self.name, 0, message) for _ in range(tuples // BURST_LINES))
        self.cluster.wait(lambda: self.cluster.has_read_all(self.query), LONG_S, "not read", [self.query])
        return tuples / (time.monotonic() - began)

    def results(self) -> list[tuple]:
        """The rows that /results has, of all windows that must be closed."""
        wanted = max(0, self.minutes - 1) * len(set(PAGES))
        self.cluster.wait(lambda: len(self.cluster.rows(self.query)) >= wanted, LONG_S, "windows do not close", [self.query])
        rows = self.cluster.rows(self.query)
        assert len(rows) == wanted
        return [tuple(row) for row in json_rows(rows)]

    def document(self) -> dict:
        """The sink as REST shows it."""
        return sink_status.document(self.cluster.context, self.cluster.context.sinks.sink(self.sink))

    def wait_for_state(self, state: str) -> dict:
        """The sink's document once it is in a state."""
        return self.cluster.wait(lambda: (found := self.document())["state"] == state and found, LONG_S,
                                 f"not {state} but {self.document()}")

    def owner(self) -> int:
        """The number of the publisher that has the sink."""
        def find() -> int | None:
            publisher = self.document()["publisher"]
            return int(publisher.split("-")[0]) if publisher and self.document()["state"] != "STARTING" else None

        return self.cluster.wait(find, LONG_S, f"nobody has it: {self.document()}")

    def check(self) -> None:
        """Wait until the target has as many rows as /results, then compare each of them."""
        wanted = self.results()
        self.cluster.wait(lambda: len(self.delivered()) >= len(wanted), LONG_S, f"not delivered: {self.document()}",
                          [self.query])
        assert Counter(self.delivered()) == Counter(wanted)

    def delivered(self) -> list[tuple]:
        """The rows in the target, as /results would show them."""
        raise NotImplementedError


class PostgresFeed(Feed):
    """Into a table that is called like the stream."""

    def __init__(self, cluster: Cluster, name: str, postgres: Postgres) -> None:
        self.postgres = postgres
        super().__init__(cluster, name, f"POSTGRES wh TABLE 'public.{name}'")

    def delivered(self) -> list[tuple]:
        as_text = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
        columns = ", ".join([*map(as_text.format, ("window_start", "window_end")), "page, n, total, mean, top::text"])
        return self.postgres.rows(f"SELECT {columns} FROM {self.name}")


class KafkaFeed(Feed):
    """Into a topic that is called like the stream and _out."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        super().__init__(cluster, name, f"KAFKA TOPIC '{name}_out' KEY (page)")

    def delivered(self) -> list[tuple]:
        return [tuple(orjson.loads(value).values())
                for _, value in read(self.cluster.config.kafka_address, f"{self.name}_out")]


class IcebergFeed(Feed):
    """Into a table of a catalog in SQLite, each snapshot at once."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.uri = f"sqlite:///{cluster.folder}/catalog.db"
        cluster.sql(f"CREATE CONNECTION lake TO ICEBERG (URI '{self.uri}', WAREHOUSE '{cluster.folder}/warehouse')")
        super().__init__(cluster, name, f"ICEBERG lake TABLE 'stats.{name}' EVERY 100 ms OR 1 MB")

    def delivered(self) -> list[tuple]:
        catalog = SqlCatalog("default", uri=self.uri)
        try:
            return [tuple(row) for row in json_rows(catalog.load_table(f"stats.{self.name}").scan().to_arrow())]
        finally:
            catalog.close()


class ParquetFeed(Feed):
    """Into files in a folder, each written at once."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.folder = cluster.folder / f"{name}_files"
        super().__init__(cluster, name, f"PARQUET '{self.folder}' EVERY 100 ms OR 1 MB")

    def delivered(self) -> list[tuple]:
        return [tuple(row) for path in self.folder.glob("*.parquet") for row in json_rows(pq.read_table(path))]


class WebhookFeed(Feed):
    """To an HTTP server; what comes again counts once, and must be the same."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.receiver = Receiver(b"a key")
        cluster.context.secrets.set("hook_key", b"a key")
        cluster.sql(f"CREATE CONNECTION hook TO HTTP (URL '{self.receiver.url}', KEY SECRET hook_key)")
        super().__init__(cluster, name, "WEBHOOK hook")

    def delivered(self) -> list[tuple]:
        return self.receiver.rows()


def stopped_at(cluster: Cluster, point: str) -> int:
    """The process that stands still at a point."""
    def find() -> int | None:
        found = [int(path.suffix[1:]) for path in cluster.orders.glob(f"{point}.*")]
        return found[0] if found else None

    return cluster.wait(find, LONG_S, f"nobody stopped at {point}")


def wake(pid: int) -> None:
    """Let a process that stands still go on, and wait until it has ended, as its session is over."""
    os.kill(pid, signal.SIGCONT)
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline and os.path.exists(f"/proc/{pid}/exe"):
        time.sleep(0.1)
