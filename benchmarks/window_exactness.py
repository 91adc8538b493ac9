"""Windows that are not tumbling, counted from a topic without any contender's code, and an answer against that count.

A topic is read once, into one number for each group and second of event time. Hopping and cumulating windows are differences
of its running sums; a session is a run of seconds that are not further apart than the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from pyarrow import csv

from benchmarks.contenders.protocol import CUMULATE, HOP, SESSION
from benchmarks.exactness import Exactness

KEYS = "timestamp, \"end\", sip, type"
AT_ONCE = 50_000
MEMORY = "4GB"


@dataclass(frozen=True)
class Seconds:
    """Tuples by group and second: `counts` int64[groups, seconds], from `first_s` on. `groups` has sip and type of each."""

    groups: pa.Table
    first_s: int
    counts: np.ndarray

    def expected(self, windows: str, size_s: int, step_s: int) -> pa.Table:
        """The rows of these windows."""
        made = {HOP: self._hopping, SESSION: self._sessions, CUMULATE: self._cumulating}[windows](size_s, step_s)
        rows, starts, ends, counts = (np.concatenate(parts) for parts in zip(*made, strict=True))
        groups = self.groups.take(pa.array(rows))
        return pa.table({"timestamp": starts * 1000, "end": ends * 1000, "sip": groups["sip"], "type": groups["type"],
                         "count": counts})

    def _spans(self, starts: np.ndarray, ends: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        """The rows of windows from one second to another, in seconds since the epoch."""
        sums = np.concatenate([np.zeros((len(self.counts), 1), np.int64), self.counts.cumsum(axis=1)], axis=1)
        at = [np.clip(edges - self.first_s, 0, self.counts.shape[1]) for edges in (starts, ends)]
        found: list[tuple[np.ndarray, ...]] = []
        for start, end, a, b in zip(starts.tolist(), ends.tolist(), *at, strict=True):
            counts = sums[:, b] - sums[:, a]
            rows = np.flatnonzero(counts)
            found.append((rows, np.full(len(rows), start), np.full(len(rows), end), counts[rows]))
        return found

    def _hopping(self, size_s: int, step_s: int) -> list[tuple[np.ndarray, ...]]:
        last_s = self.first_s + self.counts.shape[1]
        starts = np.arange((self.first_s - size_s) // step_s * step_s, last_s, step_s)
        return self._spans(starts, starts + size_s)

    def _cumulating(self, size_s: int, step_s: int) -> list[tuple[np.ndarray, ...]]:
        last_s = self.first_s + self.counts.shape[1]
        periods = np.arange(self.first_s // size_s * size_s, last_s, size_s)
        starts, ends = (np.array(edges) for edges in zip(*((period, end) for period in periods.tolist() for end in
                        range(period + step_s, period + size_s + 1, step_s)), strict=True))
        return self._spans(starts, ends)

    def _sessions(self, gap_s: int, step_s: int) -> list[tuple[np.ndarray, ...]]:
        rows, seconds = np.nonzero(self.counts)
        begins = np.flatnonzero(np.append(True, (np.diff(rows) != 0) | (np.diff(seconds) > gap_s)))
        ends = np.append(begins[1:], len(rows)) - 1
        counts = np.add.reduceat(self.counts[rows, seconds], begins)
        return [(rows[begins], self.first_s + seconds[begins], self.first_s + seconds[ends] + gap_s, counts)]


def read(kafka: str, topic: str, before_s: int) -> Seconds:
    """Count what a topic holds of tuples that are older than `before_s`."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "windows", "enable.partition.eof": True,
                         "enable.auto.commit": False, "queued.max.messages.kbytes": 65_536})
    partitions = list(consumer.list_topics(topic, 20).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    tables, ended = list[pa.Table](), set[int]()
    while len(ended) < len(partitions):
        messages = consumer.consume(AT_ONCE, 1.0)
        ended |= {message.partition() or 0 for message in messages if message.error()}
        lines = b"\n".join(message.value() or b"" for message in messages if not message.error())
        if lines:
            tables.append(_counted(lines))
    consumer.close()
    return _seconds(pa.concat_tables(tables), before_s)


def _counted(lines: bytes) -> pa.Table:
    names = ["t", "type", "sip", *(f"f{i}" for i in range(17))]
    found = csv.read_csv(pa.py_buffer(lines), csv.ReadOptions(column_names=names),
                         convert_options=csv.ConvertOptions(include_columns=names[:3], column_types={
                             "t": pa.int64(), "type": pa.string(), "sip": pa.string()}))
    return found.group_by(names[:3]).aggregate([([], "count_all")])


def _seconds(table: pa.Table, before_s: int) -> Seconds:
    table = table.filter(pc.less(table["t"], before_s)).combine_chunks()
    names = pc.binary_join_element_wise(table["sip"], table["type"], ",").combine_chunks().dictionary_encode()
    first_s, last_s = pc.min(table["t"]).as_py(), pc.max(table["t"]).as_py()
    counts = np.zeros((len(names.dictionary), last_s - first_s + 1), np.int64)
    np.add.at(counts, (names.indices.to_numpy(), table["t"].to_numpy() - first_s), table["count_all"].to_numpy())
    parts = pc.split_pattern(names.dictionary, ",")
    groups = pa.table({"sip": pc.list_element(parts, 0), "type": pc.list_element(parts, 1)})
    return Seconds(groups, first_s, counts)


def judge(expected: pa.Table, found: pa.Table) -> tuple[Exactness, str]:
    """Compare all rows, and tell the first one that differs. A row that comes twice counts twice."""
    with duckdb.connect(config={"memory_limit": MEMORY, "threads": 2}) as database:
        database.register("expected", expected)
        database.register("found", found)
        database.execute(f"CREATE TABLE differs AS SELECT {KEYS}, coalesce(got, 0) AS got, coalesce(sent, 0) AS sent FROM "
                         f"(SELECT {KEYS}, sum(count)::BIGINT AS got FROM found GROUP BY ALL) FULL JOIN "
                         f"(SELECT {KEYS}, count AS sent FROM expected) USING ({KEYS}) WHERE got IS DISTINCT FROM sent")
        wrong, lost, more = database.execute(
            "SELECT count(*), coalesce(sum(sent - got) FILTER (sent > got), 0)::BIGINT, "
            "coalesce(sum(got - sent) FILTER (got > sent), 0)::BIGINT FROM differs").fetchall()[0]
        first = database.execute("SELECT * FROM differs ORDER BY ALL LIMIT 1").fetchone()
    return Exactness(len(expected), wrong, lost, more), "" if first is None else str(first)
