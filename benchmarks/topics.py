"""The topics that contenders read: generated tuples, and behind them what moves every watermark past them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from benchmarks.generator import TIME_DIGITS, UNIFORM, Generator
from mars.adapters.kafka.admin import KafkaAdmin
from mars.errors import MarsError

START_S = 1_700_000_000
TUPLES_PER_EVENT_SECOND = 5_000
END_AFTER_S, END_TUPLES = 600, 64
DELETE_S = 20.0


@dataclass(frozen=True)
class Topic:
    """`messages` in all; `expected` counts by sip, type and window start in ms, without the tuples that only end it."""

    name: str
    partitions: int
    tuples: int
    messages: int
    expected: pa.Table

    @property
    def last_window_ms(self) -> int:
        return pc.max(self.expected["timestamp"]).as_py()


def fill(kafka: str, name: str, tuples: int, partitions: int, seed: int, folder: Path,
         keys: str = UNIFORM) -> Topic:
    """Make a topic of `tuples` tuples; the same seed gives the same ones, and a smaller number a prefix of them. END_TUPLES
    more in each partition, END_AFTER_S later and of many groups, let every window of the others close."""
    create(kafka, name, partitions)
    counts = folder / f"{name}.arrow"
    subprocess.run(producing(kafka, name, tuples, seed, counts, keys), check=True, stdout=subprocess.DEVNULL)
    end(kafka, name, partitions, end_s(tuples))
    return Topic(name, partitions, tuples, tuples + partitions * END_TUPLES, counted(counts))


def create(kafka: str, name: str, partitions: int) -> None:
    """An empty topic."""
    admin = KafkaAdmin(kafka)
    admin.create(name, partitions)


def delete(kafka: str, name: str) -> None:
    """The topic is no more; its files go a minute later."""
    client = AdminClient({"bootstrap.servers": kafka, "log_level": 0})  # one that is dropped fails what it was asked
    client.delete_topics([name])[name].result(DELETE_S)


def producing(kafka: str, name: str, tuples: int, seed: int, counts: Path, keys: str = UNIFORM) -> list[str]:
    """The command that fills a topic and leaves the independent count in a file."""
    return [sys.executable, "-m", "benchmarks.feed", "--kafka", kafka, "--topic", name, "--counts", str(counts),
            "--tuples", str(tuples), "--start", str(START_S), "--event-rate", str(TUPLES_PER_EVENT_SECOND),
            "--seed", str(seed), "--keys", keys]


def counted(counts: Path) -> pa.Table:
    """The count that such a command left, with windows as their start in ms."""
    with pa.memory_map(str(counts)) as source:
        table = pa.ipc.open_file(source).read_all()
    return table.set_column(table.column_names.index("timestamp"), "timestamp", pc.multiply(table["timestamp"], 1000))


def end_s(tuples: int) -> int:
    """The event time of the tuples that end a topic of so many."""
    return START_S + tuples // TUPLES_PER_EVENT_SECOND + END_AFTER_S


def end(kafka: str, name: str, partitions: int, at_s: int) -> None:
    """Send END_TUPLES tuples of this event time to each partition."""
    rows = Generator(at_s, 1).lines(END_TUPLES)
    rows[:, :TIME_DIGITS] = np.frombuffer(str(at_s).encode(), np.uint8)
    producer = Producer({"bootstrap.servers": kafka})
    for partition in range(partitions):
        for row in rows:
            producer.produce(name, row.tobytes(), partition=partition)
    if producer.flush(30):
        raise MarsError(f"Kafka at {kafka} did not take the last tuples of {name}")
