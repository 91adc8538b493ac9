"""A topic that Kafka compacts while a query has yet to read it (N19): nothing is lost that the query can be told of.

What was read stays counted; what is left of the rest counts exactly once, and what compaction took is not missed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from confluent_kafka import Consumer, TopicPartition

from tests.nemesis.faults.named import FIRST_MS, PATIENCE_S, STEP_MS, Named

KEYS, LATER = 50, 2_000
TURN_S, STEADY = 0.7, 4  # between two looks, and how many are alike
WINDOW_MS = 1_000


class Compacted(Named):
    """A paused query finds gaps, and batches that are empty, where tuples were; it runs on, and no tuple is called lost."""

    state, number = "RUNNING", "N19"
    settings: ClassVar[dict[str, str]] = {
        "cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.001",
        "max.compaction.lag.ms": "200", "delete.retention.ms": "0"}

    def key(self, number: int) -> bytes:
        """The same ones again and again."""
        return b"key %d" % (number % KEYS)

    def ruin(self) -> list[str]:
        position = self.made
        self._wait("it does not commit all", lambda document: document["positions"]["0"] == position)
        self.pause()
        self.produce(LATER)
        left = self._compacted(position)
        self.instance.api.sql(f"RESUME QUERY {self.query}")
        end = self._end()
        found = self._wait("it does not read what is left", lambda document: document["positions"]["0"] == end)
        assert found["counters"]["tuples"] == position + len(left), f"{len(left)} left after {position}: {found}"
        wanted = self._windows(range(position)) + self._windows(left)
        rows = {int(row["window_start"].timestamp() * 1000): row["n"] for row in self._rows(partial="true")}
        assert rows == dict(wanted), f"windows differ: {sorted(set(rows.items()) ^ set(wanted.items()))}"
        return []

    def _compacted(self, position: int) -> list[int]:
        """Wait until Kafka has taken most of what came after a position, and takes no more; the numbers that are left."""
        for _ in range(3):
            time.sleep(TURN_S)
            self.produce(1)  # begins a new segment: the newest one is never compacted
        deadline, looks = time.monotonic() + PATIENCE_S, [[]]
        while time.monotonic() < deadline:
            time.sleep(TURN_S)
            looks.append(self._left(position))
            if len(looks[-1]) < LATER // 2 and looks[-STEADY:] == [looks[-1]] * STEADY:
                return looks[-1]
        raise AssertionError(f"Kafka does not compact: {len(looks[-1])} are left")

    def _left(self, position: int) -> list[int]:
        consumer = Consumer({"bootstrap.servers": self.instance.kafka.load_address, "group.id": "compacted",
                             "enable.auto.commit": False})
        consumer.assign([TopicPartition(self.topic, 0, position)])
        end, found = self._end(), []
        while not found or found[-1].offset() < end - 1:
            found += consumer.consume(1_000, 5)
        consumer.close()
        return [int(message.value().split(b",")[1]) for message in found]

    def _end(self) -> int:
        consumer = Consumer({"bootstrap.servers": self.instance.kafka.load_address, "group.id": "compacted"})
        end = consumer.get_watermark_offsets(TopicPartition(self.topic, 0), timeout=20)[1]
        consumer.close()
        return end

    @staticmethod
    def _windows(numbers: Iterable[int]) -> Counter:
        """How many of the tuples with these numbers each window has."""
        return Counter((FIRST_MS + number * STEP_MS) // WINDOW_MS * WINDOW_MS for number in numbers)
