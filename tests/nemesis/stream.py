"""A stream under test: its topic, its queries and its readers; and what must hold of it in the end."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from mars.errors import MarsError, NotFoundError
from tests.nemesis import census
from tests.nemesis.instance import Instance
from tests.nemesis.oracle import Oracle, Verdict
from tests.nemesis.readers import Readers
from tests.nemesis.tuples import COLUMNS, Statistic

POLL_S, PATIENCE_S = 0.2, 120.0
Answer = TypeVar("Answer")


def insist(ask: Callable[[], Answer]) -> Answer:
    """Ask Kafka until it answers: a broker that has just come back leads nothing for a moment."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)


class Stream:
    """Made and read when constructed; `judge` compares everything with the topic; `drop` leaves nothing behind. `form`: of
    its tuples, CSV or JSON. `reads_open`: open windows are read too, and the topic."""

    def __init__(self, instance: Instance, name: str, statistics: tuple[Statistic, ...], partitions: int,
                 form: str = "CSV", reads_open: bool = False) -> None:
        self.instance, self.name, self.statistics, self.partitions = instance, name, statistics, partitions
        self.form = form
        self.admin = AdminClient({"bootstrap.servers": instance.kafka.load_address, "log_level": 0})
        self.admin.create_topics([NewTopic(name, partitions, instance.kafka.count)])[name].result(20)
        self._sql(f"CREATE STREAM {name} ({COLUMNS}) FROM KAFKA '{name}' FORMAT {form} TIMESTAMP t UNIT ms")
        self.queries = {statistic.name: f"{name}_{statistic.name}" for statistic in statistics}
        for statistic in statistics:
            self._sql(f"CREATE QUERY {self.queries[statistic.name]} AS {statistic.select.format(stream=name)}")
        self.id = self._find_id()
        self.readers = Readers(lambda: instance.api.url, self.queries, statistics, name if reads_open else "")
        self.readers.start()

    def drop_query(self, query: str) -> None:
        """Drop it, if it is there."""
        self.readers.dropped(query)
        self._sql(f"DROP QUERY {query}", PATIENCE_S)

    def _sql(self, statement: str, patience_s: float = PATIENCE_S) -> None:
        """Run a statement; wait while a service is away. What is there or gone already is as good."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self.instance.api.sql(statement)
                return
            except NotFoundError:
                return
            except MarsError as error:
                if "exists" in str(error):
                    return
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_S)

    def _find_id(self) -> int:
        return json.loads(self.instance.zk.get("/mars/catalog")[0])["streams"][self.name]["id"]

    # -- how far it is --------------------------------------------------------------------------------------------

    def ends(self) -> dict[int, int]:
        """The last stable offsets now."""
        consumer = Consumer({"bootstrap.servers": self.instance.kafka.load_address, "group.id": "nemesis",
                             "isolation.level": "read_committed", "log_level": 0})
        try:
            return insist(lambda: {p: consumer.get_watermark_offsets(TopicPartition(self.name, p), 20)[1]
                                   for p in range(self.partitions)})
        finally:
            consumer.close()

    def partitions_now(self) -> int:
        """How many partitions the topic has."""
        return insist(lambda: len(self.admin.list_topics(self.name, 20).topics[self.name].partitions))

    def wait_for(self, ends: dict[int, int], timeout_s: float) -> bool:
        """Has every query committed up to these offsets, in time?"""
        began = time.monotonic()
        while time.monotonic() - began < timeout_s:
            with contextlib.suppress(MarsError, KeyError):
                if all(self._has_reached(query, ends) for query in self.queries.values()):
                    return True
            time.sleep(POLL_S)
        return False

    def _has_reached(self, query: str, ends: dict[int, int]) -> bool:
        positions = self.instance.api.get(f"/v1/queries/{query}")["positions"]
        return all(positions.get(str(p), -1) >= end for p, end in ends.items())

    def describe(self) -> str:
        """Where its queries stand, for a report."""
        lines = []
        for query in self.queries.values():
            try:
                found = self.instance.api.get(f"/v1/queries/{query}")
                told = ("name", "state", "reason", "watermark", "lag", "positions", "counters")
                lines.append(json.dumps({key: found[key] for key in told}))
            except MarsError as error:
                lines.append(f"{query}: {error}")
        return "\n".join(lines)

    # -- the end --------------------------------------------------------------------------------------------------

    def judge(self, folder: Path, patience_s: float, future: str) -> Verdict:
        """Wait until all is read and closed, and compare everything with the topic. `future`: as the oracle takes it."""
        together = Verdict()
        ends = self.ends()
        if not self.wait_for(ends, patience_s):
            together.wrong.append(f"not all was read within {patience_s:.0f} s; ends {ends}\n{self.describe()}")
            together.wrong += census.broken(self.instance, self.id) + census.lost(self.instance, self.id)
            return together
        oracle = Oracle(str(folder), future, self.form)
        try:
            oracle.read(self.instance.kafka.load_address, self.name)
            for statistic in self.statistics:
                document, rows = self.whole(self.queries[statistic.name], oracle.last_ms)
                verdict = oracle.compare(statistic, rows, document["counters"], ms(document["watermark"]))
                together.wrong += verdict.wrong + self.judge_sinks(self.queries[statistic.name], rows)
                together.rows += verdict.rows
                together.late += verdict.late
                together.skipped += document["counters"]["duplicates_skipped"]
                self.readers.check_open(statistic, rows)
                if statistic.name == self.readers.followed:
                    self.readers.check_events(rows)
            together.tuples = oracle.tuples()
            together.wrong += self.judge_guests(oracle)
        finally:
            oracle.close()
        together.wrong += census.broken(self.instance, self.id) + self.readers.broken
        return together

    def judge_guests(self, oracle: Oracle) -> list[str]:
        """What is wrong with queries that came later; there are none of them here."""
        return []

    def judge_sinks(self, query: str, rows: pa.Table) -> list[str]:
        """What is wrong with what the query's sinks have delivered of its rows; there are none here."""
        return []

    def whole(self, query: str, last_ms: int) -> tuple[dict, pa.Table]:
        """The query's document and all its rows, once every window but the last ones has closed."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            document = self.instance.api.get(f"/v1/queries/{query}")
            if document["watermark"] and ms(document["watermark"]) > last_ms:
                return document, pa.concat_tables(self.instance.api.pages(query))
            assert time.monotonic() < deadline, f"{query} does not close its windows: {document}"
            time.sleep(POLL_S)

    def drop(self, counts_what_is_left: bool = True) -> list[str]:
        """Drop queries, stream and topic; what stays behind of them (I8), if that is asked for."""
        self.readers.stop()
        left = census.idle(self.instance, self.id) if counts_what_is_left else []
        for query in self.queries.values():
            self.drop_query(query)
        self._sql(f"DROP STREAM {self.name}")
        self.admin.delete_topics([self.name])[self.name].result(20)
        return left + (census.dropped(self.instance, self.id) if counts_what_is_left else [])


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)
