"""Faults that Mars cannot make good and must name: records deleted, a topic made anew, a topic gone (N15, N16), a leader
that lacks what was counted (N28); and one that it must not name (compacted.py).

Each has a small stream of its own. Its query must stop in the named state, with what is missing in the reason, and what it
had given out before must stay.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from typing import ClassVar

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from mars.errors import MarsError
from tests.nemesis.instance import Instance

PATIENCE_S, REST_S = 60.0, 2.0
FIRST_MS, STEP_MS = 1_700_000_000_000, 10


class Named:
    """A stream of one partition with one query, brought to ruin by `ruin`."""

    state: ClassVar[str] = ""
    number: ClassVar[str] = ""
    settings: ClassVar[dict[str, str]] = {}  # of the topic
    replicas: ClassVar[list[int]] = []  # the brokers that hold it, its leader first; none: any one
    brokers: ClassVar[int] = 1  # that are needed

    def __init__(self, instance: Instance, name: str) -> None:
        self.instance, self.topic = instance, name
        self.query = f"{name}_q"
        self.admin = AdminClient({"bootstrap.servers": instance.kafka.load_address, "log_level": 0})
        self.made = 0

    def run(self) -> list[str]:
        """Do it, and say what was not as it must be."""
        self._make_topic()
        self.instance.api.sql(f"CREATE STREAM {self.topic} (t BIGINT, v BIGINT) FROM KAFKA '{self.topic}' FORMAT CSV "
                              "TIMESTAMP t UNIT ms")
        self.instance.api.sql(f"CREATE QUERY {self.query} AS SELECT count(*) AS n, sum(v) AS total FROM {self.topic} "
                              "GROUP BY t WINDOWING 1 s WATERMARK 0 s IDLE OFF FROM EARLIEST")
        wrong: list[str] = []
        try:
            self.produce(1_000)
            self._wait("it does not read", lambda document: document["counters"]["tuples"] >= 1_000)
            before = self._rows()
            missing = self.ruin()
            found = self._wait(f"it does not become {self.state}", lambda document: document["state"] == self.state)
            wrong += [f"{self.state} without {part!r} in its reason: {found['reason']}" for part in missing
                      if part not in found["reason"]]
            if self._rows()[:len(before)] != before:
                wrong.append(f"{self.state}: closed windows changed")
        except AssertionError as error:
            wrong.append(f"{type(self).__name__}: {error}")
        finally:
            self._drop()
        return wrong

    def ruin(self) -> list[str]:
        """Inflict it; words that the reason must hold."""
        raise NotImplementedError

    def key(self, number: int) -> bytes | None:
        """Of the tuple with this number."""
        return None

    def produce(self, count: int) -> None:
        """Append so many tuples."""
        producer = Producer({"bootstrap.servers": self.instance.kafka.load_address, "linger.ms": 5})
        for i in range(self.made, self.made + count):
            producer.produce(self.topic, f"{FIRST_MS + i * STEP_MS},{i}".encode(), self.key(i), partition=0)
        self.made += count
        assert producer.flush(30) == 0

    def pause(self) -> None:
        """Pause the query, and wait until no mapper reads for it: one that waits for tuples would keep those that come, and
        they would be counted by right."""
        self.instance.api.sql(f"PAUSE QUERY {self.query}")
        time.sleep(REST_S)

    def _make_topic(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:  # one that was just deleted may still be going
            with contextlib.suppress(Exception):
                self.admin.create_topics([self._topic()])[self.topic].result(20)
                return
            time.sleep(0.2)
        raise AssertionError("the topic cannot be made")

    def _topic(self) -> NewTopic:
        where = {"replica_assignment": [self.replicas]} if self.replicas else {"replication_factor": 1}
        return NewTopic(self.topic, 1, config=self.settings, **where)

    def _rows(self, **parameters: str) -> list[dict]:
        return [row for page in self.instance.api.pages(self.query, **parameters) for row in page.to_pylist()]

    def _wait(self, otherwise: str, condition: Callable[[dict], bool]) -> dict:
        deadline, document = time.monotonic() + PATIENCE_S, {}
        while time.monotonic() < deadline:
            with contextlib.suppress(MarsError):
                document = self.instance.api.get(f"/v1/queries/{self.query}")
                if condition(document):
                    return document
            time.sleep(0.2)
        raise AssertionError(f"{otherwise}: {document}")

    def _drop(self) -> None:
        for statement in (f"DROP QUERY {self.query}", f"DROP STREAM {self.topic}"):
            with contextlib.suppress(MarsError):
                self.instance.api.sql(statement)
        with contextlib.suppress(Exception):
            self.admin.delete_topics([self.topic])[self.topic].result(20)


class RecordsDeleted(Named):
    """Kafka deletes what a paused query has not read; the reason names exactly that."""

    state, number = "DATA_LOSS", "N15"

    def ruin(self) -> list[str]:
        self.pause()
        position = self.instance.api.get(f"/v1/queries/{self.query}")["positions"]["0"]
        self.produce(1_000)
        for deleted in self.admin.delete_records([TopicPartition(self.topic, 0, 1_500)]).values():
            deleted.result(20)
        self.instance.api.sql(f"RESUME QUERY {self.query}")
        return [str(position), "1500"]


class TopicMadeAnew(Named):
    """Under the same name, and longer than what had been read."""

    state, number = "TOPIC_RECREATED", "N16"

    def ruin(self) -> list[str]:
        self.admin.delete_topics([self.topic])[self.topic].result(20)
        self._make_topic()
        self.produce(1_500)
        return ["created again"]


class TopicGone(Named):
    """It is deleted and stays away."""

    state, number = "DATA_LOSS", "N16"

    def ruin(self) -> list[str]:
        self.admin.delete_topics([self.topic])[self.topic].result(20)
        return [self.topic]


class UncleanElection(Named):
    """A replica that lacks what was read and counted becomes the leader, and the log goes on from there."""

    state, number, brokers = "LOG_TRUNCATED", "N28", 3
    settings: ClassVar[dict[str, str]] = {"unclean.leader.election.enable": "true"}
    replicas: ClassVar[list[int]] = [2, 3]

    def ruin(self) -> list[str]:
        _, leader, follower = self.instance.kafka.brokers
        follower.signal(signal.SIGKILL)
        self.produce(500)
        self._wait("it does not read on", lambda document: document["counters"]["tuples"] >= 1_500)
        leader.signal(signal.SIGKILL)
        follower.start()
        self.produce(100)
        leader.start()
        return ["1500"]


def kinds(brokers: int = 1) -> list[type[Named]]:
    """All that so many brokers can show, in the order of their turns."""
    from tests.nemesis.faults.compacted import Compacted
    known = (RecordsDeleted, TopicMadeAnew, TopicGone, Compacted, UncleanElection)
    return [kind for kind in known if kind.brokers <= brokers]
