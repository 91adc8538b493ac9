"""The producers, as a process of their own: `python -m tests.nemesis.load` with its orders as lines on stdin.

Half of the tuples go out one to a message; the other half in transactions with many lines to a message, of which some are
aborted. A step is not begun before the last one is in the log, so that however long Kafka was away the partitions never
differ by more event time than the queries allow. What the topic holds in the end is the truth, not what was acknowledged.

Orders: `partitions N`, `poison`, `hang S` (leave a transaction open for S seconds), `stop`. An answer line `done` follows
each; after `stop` it ends. It ends too when stdin does.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time

from confluent_kafka import KafkaException, Producer

from tests.nemesis.tuples import Source

STEP_S, END_S = 0.25, 120.0
LINES_A_MESSAGE = 25
ABORT_SHARE = 0.06
COMMON = {"linger.ms": 5, "reconnect.backoff.max.ms": 500, "retry.backoff.ms": 50, "enable.idempotence": True,
          "queue.buffering.max.messages": 500_000, "message.max.bytes": 2_000_000, "compression.type": "lz4",
          "topic.metadata.refresh.interval.ms": 1_000,
          "socket.timeout.ms": 10_000, "log_level": 0}


class Load:
    """Feeds one topic until it is told to stop."""

    def __init__(self, address: str, topic: str, partitions: int, rate: int, seed: int, base_ms: int, form: str) -> None:
        self.address, self.topic, self.partitions, self.rate = address, topic, partitions, rate
        self.source = Source(seed, base_ms, form)
        self.single = Producer({**COMMON, "bootstrap.servers": address, "message.timeout.ms": 0})
        self.transactional: Producer | None = None
        self.poisons: list[bytes | None] = []
        self.stopping = threading.Event()
        self.hanging: Producer | None = None
        self.hung_until = 0.0
        self.hang_s = 0.0

    def run(self) -> None:
        """Step by step, not faster than the rate, until it is told to stop."""
        due = time.monotonic()
        while not self.stopping.is_set():
            self._hang_or_end()
            self._step()
            due = max(due + STEP_S, time.monotonic() - STEP_S)  # what was not sent meanwhile is not made up for
            time.sleep(max(0.0, due - time.monotonic()))
        self.hung_until = 0.0
        self._hang_or_end()
        if self.transactional is None:  # else an open transaction would hide the end until it runs out
            self._insist(lambda: self._open("load", 60_000))
        self._insist(lambda: [self.single.produce(self.topic, line, partition=p)
                              for p, line in enumerate(self.source.closing(self.partitions))] and self._flush(self.single))

    def _step(self) -> None:
        lines = self.source.step(int(self.rate * STEP_S), int(STEP_S * 1000))
        half = len(lines) // 2
        poisons, self.poisons = self.poisons, []
        with contextlib.suppress(KafkaException):  # a partition that is not known yet: the rest of the step is left out
            for i, line in enumerate(lines[:half] + poisons):
                self.single.produce(self.topic, line, partition=i % self.partitions)
        messages = [b"\n".join(lines[i:i + LINES_A_MESSAGE]) for i in range(half, len(lines), LINES_A_MESSAGE)]
        self.single.poll(0)
        self._transaction(messages, aborted=self.source.rng.random() < ABORT_SHARE)
        self._flush(self.single)

    def _transaction(self, messages: list[bytes], aborted: bool) -> None:
        """Commit the messages together, or abort them. After an error: what became of it the topic shows."""
        try:
            if self.transactional is None:
                self.transactional = self._open("load", 60_000)
            producer = self.transactional
            producer.begin_transaction()
            for i, message in enumerate(messages):
                producer.produce(self.topic, message, partition=i % self.partitions)
            self._flush(producer)
            (producer.abort_transaction if aborted else producer.commit_transaction)(20)
        except KafkaException:
            self.transactional = None  # its successor fences it, and ends its transaction

    def _open(self, name: str, timeout_ms: int) -> Producer:
        producer = Producer({**COMMON, "bootstrap.servers": self.address, "transactional.id": f"{name}-{self.topic}",
                             "transaction.timeout.ms": timeout_ms, "message.timeout.ms": timeout_ms})
        producer.init_transactions(30)
        return producer

    def _hang_or_end(self) -> None:
        """Begin a transaction that stays open, or abort it once its time is over."""
        if self.hang_s:
            self.hung_until, self.hang_s = time.monotonic() + self.hang_s, 0.0
            self.hanging = self._insist(lambda: self._open("hanging", 120_000))
            self.hanging.begin_transaction()
            for line in self.source.step(50, 1):
                self.hanging.produce(self.topic, line, partition=0)
            self._flush(self.hanging)
        elif self.hanging and time.monotonic() > self.hung_until:
            hanging, self.hanging = self.hanging, None
            try:
                hanging.abort_transaction(20)
            except KafkaException:
                self._insist(lambda: self._open("hanging", 120_000))

    def _flush(self, producer: Producer) -> bool:
        while producer.flush(1):
            if self.stopping.is_set() and producer is not self.single:
                break
        return True

    @staticmethod
    def _insist(call):
        while True:
            try:
                return call()
            except KafkaException:
                time.sleep(0.5)

    def obey(self, order: str) -> None:
        """Do what a line of stdin says; the step under way is finished first."""
        word, *rest = order.split()
        if word == "partitions":
            with contextlib.suppress(KafkaException):
                self.single.list_topics(self.topic, 10)  # so that it knows them
            self.partitions = int(rest[0])
        elif word == "poison":
            self.poisons = self.source.poison()
        elif word == "hang":
            self.hang_s = float(rest[0])
        elif word == "stop":
            self.stopping.set()


def main() -> None:
    """The process."""
    load = Load(**json.loads(sys.argv[1]))

    def listen() -> None:
        for line in sys.stdin:
            load.obey(line)
            print("done", flush=True)
        if load.stopping.is_set():
            time.sleep(END_S)
        os._exit(1)  # whoever gave the orders is gone

    threading.Thread(target=listen, daemon=True).start()
    load.run()


if __name__ == "__main__":
    main()
