"""A stream under load: with producers of its own, which take orders."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from confluent_kafka.admin import NewPartitions

from mars.errors import MarsError
from mars.model import names
from mars.model.registry import QuerySet
from tests.nemesis.changing import follower_of
from tests.nemesis.follower import Follower
from tests.nemesis.instance import ROOT, Instance
from tests.nemesis.oracle import Oracle, Verdict
from tests.nemesis.sinks import Sinks
from tests.nemesis.stream import PATIENCE_S, POLL_S, Stream, ms
from tests.nemesis.tuples import FUTURE_MS, STATISTICS, Statistic
from tests.nemesis.visitors import Visitor, emitted

PARTITIONS, PARTITIONS_MAX = 3, 8
GUESTS_MAX = 2
DAY_MS = 86_400_000
LATE = pa.schema([("window_start", pa.timestamp("us", "UTC")), ("window_end", pa.timestamp("us", "UTC")),
                  ("windows", pa.int64()), ("partition", pa.int32()), ("offset", pa.int64()), ("line", pa.int32()),
                  *((name, pa.string() if name == "k" else pa.int64()) for name in ("t", "id", "k", "g", "v"))])


@dataclass
class Visit:
    """A visitor that has come, and who follows its events, if anybody does. `rows` of it were compared in the end."""

    visitor: Visitor
    follower: Follower | None
    rows: int = 0


class LoadedStream(Stream):
    """Under load when constructed; `finish` stops the load and judges."""

    def __init__(self, instance: Instance, name: str, rate: int, seed: int, form: str) -> None:
        super().__init__(instance, name, STATISTICS, PARTITIONS, form, reads_open=True)
        self.sinks = Sinks(instance, self.queries[STATISTICS[0].name], self._sql)
        self.guests: dict[str, Statistic] = {}
        self.visits: dict[str, Visit] = {}
        self.invited = 0
        self.base_ms = int(time.time() * 1000) - DAY_MS
        arguments = {"address": instance.kafka.load_address, "topic": name, "partitions": PARTITIONS, "rate": rate,
                     "seed": seed, "base_ms": self.base_ms, "form": form}
        self.load = subprocess.Popen([sys.executable, "-m", "tests.nemesis.load", json.dumps(arguments)], cwd=ROOT,
                                     text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)

    def invite(self, statistic: Statistic) -> bool:
        """A query of this statistic that begins at the topic's end, wherever that is; the oldest of too many goes. False if
        it could not be made."""
        if len(self.guests) == GUESTS_MAX:
            self.drop_query(oldest := next(iter(self.guests)))
            del self.guests[oldest]
        self.invited += 1
        query = f"{self.name}_guest{self.invited}"
        with contextlib.suppress(MarsError):
            self.instance.api.sql(f"CREATE QUERY {query} AS " + statistic.select.format(stream=self.name)
                                  .replace("FROM EARLIEST", "FROM LATEST"))
            self.guests[query] = statistic
        return query in self.guests

    def receive(self, visitor: Visitor, start: str) -> None:
        """A visitor comes and stays."""
        query = f"{self.name}_{visitor.name}"
        self._sql(visitor.create(query, self.name, start))
        follower = follower_of(visitor, lambda: self.instance.api.url, query, self.readers.notes, threading.Event())
        self.visits[query] = Visit(visitor, follower)
        if follower:
            threading.Thread(target=follower.follow, daemon=True).start()

    def judge_guests(self, oracle: Oracle) -> list[str]:
        """Compare each with the tuples from its start on; visitors too."""
        known, wrong = QuerySet.load(self.instance.zk.get(names.queries(self.id))[0]).queries, []
        last_ms = oracle.last_ms
        for query, visit in self.visits.items():
            oracle.restrict(next(one.start for one in known.values() if one.name == query))
            wrong += self._judge_visit(oracle, query, visit, last_ms)
        starts = {query.name: query.start for query in known.values()}
        for query, statistic in self.guests.items():
            oracle.restrict(starts[query])
            document, rows = self.whole(query, oracle.last_ms)
            verdict = oracle.compare(statistic, rows, document["counters"], ms(document["watermark"]))
            wrong += [f"{query} from {starts[query]}: {line}" for line in verdict.wrong]
        return wrong

    def _judge_visit(self, oracle: Oracle, query: str, visit: Visit, last_ms: int) -> list[str]:
        document, rows = self.whole(query, last_ms)
        visitor, watermark_ms = visit.visitor, ms(document["watermark"])
        verdict = visitor.judge(oracle, rows, document, watermark_ms, self._select)
        visit.rows = verdict.rows
        if visit.follower:
            visit.follower.check(emitted(oracle, visitor, watermark_ms) if visitor.emits_ms else rows)
        return [f"{query}: {line}" for line in verdict.wrong]

    def _select(self, statement: str) -> pa.Table:
        """The rows of a SELECT."""
        answer = self.instance.api.sql(statement)
        names_ = [column["name"] for column in answer["columns"]]
        rows = [dict(zip(names_, row, strict=True)) for row in answer["rows"]]
        for row in rows:
            row.update((name, datetime.fromisoformat(row[name])) for name in ("window_start", "window_end"))
        return pa.Table.from_pylist(rows, LATE)

    def order(self, text: str) -> None:
        """Tell the producers something."""
        self.load.stdin.write(text + "\n")
        self.load.stdin.flush()
        self.load.stdout.readline()

    def add_partitions(self, count: int) -> None:
        """More partitions, which get their share of the load."""
        more = min(PARTITIONS_MAX, self.partitions + count)
        if more <= self.partitions:
            return
        with contextlib.suppress(Exception):  # the broker may be away, and make them when it is back
            self.admin.create_partitions([NewPartitions(self.name, more)])[self.name].result(20)
        self.partitions = self.partitions_now()
        self.order(f"partitions {self.partitions}")

    def judge_sinks(self, query: str, rows: pa.Table) -> list[str]:
        """Compare what was delivered with the results."""
        return self.sinks.judge(rows) if query == self.sinks.query else []

    def resume(self, query: str) -> None:
        """Let a query run again."""
        self._resume("QUERY", f"/v1/queries/{query}", query, "RUNNING")

    def resume_sink(self, sink: str) -> None:
        """Let a sink run again."""
        self._resume("SINK", f"/v1/sinks/{sink}", sink, "DELIVERING", "STARTING", "WAITING")

    def _resume(self, what: str, path: str, name: str, *states: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(MarsError):
                if self.instance.api.get(path)["state"] in states:
                    return
                self.instance.api.sql(f"RESUME {what} {name}")
                return
            time.sleep(POLL_S)

    def finish(self, folder: Path, patience_s: float) -> Verdict:
        """Stop the load, and judge."""
        self.load.stdin.write("stop\n")
        self.load.stdin.close()
        self.load.wait(patience_s)
        return self.judge(folder, patience_s, f"t > {self.base_ms + FUTURE_MS // 2}")

    def drop(self, counts_what_is_left: bool = True) -> list[str]:
        """Drop all of it, the producers too."""
        self.readers.stop()
        if self.load.poll() is None:
            self.load.kill()
        for visit in self.visits.values():
            if visit.follower:
                visit.follower.stopping.set()
        for query in (*self.guests, *self.visits):
            self.drop_query(query)
        self.sinks.drop()
        return super().drop(counts_what_is_left)
