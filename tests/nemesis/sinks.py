"""Sinks of a query under load, into a topic, files and a webhook; in the end each target must have the query's rows."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections import Counter
from collections.abc import Callable

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from kazoo.exceptions import NoNodeError

from mars.adapters.secrets import SecretStore
from mars.adapters.zookeeper import ZooKeeper
from mars.errors import MarsError
from mars.results.formats import rows as json_rows
from tests.nemesis.instance import Instance
from tests.publisher.consume import read
from tests.publisher.hooks import Receiver

PATIENCE_S, POLL_S = 180.0, 0.5
KEY = "nemesis_key"


class Sinks:
    """Three sinks of one query, by name; `receiver` is the webhook's other end."""

    def __init__(self, instance: Instance, query: str, sql: Callable[[str], None]) -> None:
        self.instance, self.query, self.sql = instance, query, sql
        self.receiver = Receiver(KEY.encode())
        self.folder, self.topic, self.hook = instance.folder / f"{query}_files", f"{query}_out", f"{query}_hook"
        zookeeper = ZooKeeper(instance.zookeeper.address, instance.config.zookeeper_session_ms)
        try:
            SecretStore(zookeeper, instance.config, PATIENCE_S).set(KEY, KEY.encode())
        finally:
            zookeeper.stop()
        sql(f"CREATE CONNECTION {self.hook} TO HTTP (URL '{self.receiver.url}', KEY SECRET {KEY})")
        self.delivered: dict[str, Callable[[], list[tuple]]] = {
            f"{query}_topic": self._messages, f"{query}_files": self._files, f"{query}_alerts": self.receiver.rows}
        into = (f"KAFKA TOPIC '{self.topic}'", f"PARQUET '{self.folder}' EVERY 1 s", f"WEBHOOK {self.hook}")
        for name, target in zip(self.delivered, into, strict=True):
            sql(f"CREATE SINK {name} FROM {query} INTO {target}")

    def judge(self, results: pa.Table) -> list[str]:
        """What is missing, twice or other than in the results, once every sink has had time to deliver them."""
        wanted, wrong = Counter(json_rows(results)), []
        for name, delivered in self.delivered.items():
            deadline = time.monotonic() + PATIENCE_S
            while sum((found := Counter(delivered())).values()) < len(results) and time.monotonic() < deadline:
                time.sleep(POLL_S)
            for what, rows in (("missing", wanted - found), ("too much", found - wanted)):
                if rows:
                    wrong.append(f"sink {name}: {sum(rows.values())} rows {what}, {next(iter(rows))}; {self._state(name)}")
        return wrong

    def drop(self) -> None:
        """Drop sinks, connection and what they have written."""
        for name in self.delivered:
            self.sql(f"DROP SINK {name}")
        self.sql(f"DROP CONNECTION {self.hook}")
        self.receiver.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _messages(self) -> list[tuple]:
        return [tuple(orjson.loads(value).values()) for _, value in read(self.instance.kafka.load_address, self.topic)]

    def _files(self) -> list[tuple]:
        return [tuple(row) for path in self.folder.glob("*.parquet") for row in json_rows(pq.read_table(path))]

    def _state(self, name: str) -> str:
        with contextlib.suppress(MarsError, NoNodeError):
            found = self.instance.api.get(f"/v1/sinks/{name}")
            return f"{found['state']}: {found['reason']}"
        return "the API does not say how it is"
