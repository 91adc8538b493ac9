"""The topic of a point: made, filled by a producer process that counts what it sends, and deleted again."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import topics
from benchmarks.generator import LINE_BYTES, POOL, QUERY, SIPS, UNIFORM
from mars.adapters.kafka.admin import KafkaAdmin
from mars.errors import MarsError

START_S = 1_700_000_000
SETTLE_S, SPARE_BYTES = 1.0, 5 << 30


@dataclass(frozen=True)
class Point:
    """`x` is its place on the axis. `rate` is None for a topic that is full before the query begins; else tuples are
    produced at that rate while it runs, and the topic keeps `retention_bytes` of each partition."""

    x: float
    tuples: int
    label: str = ""
    partitions: int = 4
    packed: int = 1
    codec: str = "none"
    format: str = "csv"
    line_bytes: int = LINE_BYTES
    sips: int = SIPS
    pool: int = POOL
    event_rate: int = 5_000
    query: str = QUERY
    keys: tuple[str, ...] = ("sip", "type", "timestamp")
    rate: int | None = None
    retention_bytes: int | None = None
    keys_drawn: str = UNIFORM
    settings: dict[str, int] = field(default_factory=dict)

    def name(self) -> str:
        """What tables call it."""
        return self.label or f"{self.x:,.0f}"


@dataclass(frozen=True)
class Filled:
    """A topic, the file of its independent count, and the producer, which may still be at work."""

    topic: str
    counts: Path
    feeding: subprocess.Popen

    def await_all(self) -> None:
        """Returns once all is sent and counted. MarsError if the producer fails."""
        if self.feeding.wait():
            raise MarsError("The producer failed", f"exit code {self.feeding.returncode}")


@contextlib.contextmanager
def filled(kafka: str, folder: Path, point: Point) -> Iterator[Filled]:
    """The point's topic, deleted at the end of the block. It is full unless the point has a rate."""
    _check_room(folder, point)
    topic = f"points_{uuid.uuid4().hex[:8]}"
    counts = folder / f"{topic}.arrow"
    keep = {} if point.retention_bytes is None else {
        "retention.bytes": str(point.retention_bytes), "segment.bytes": str(point.retention_bytes // 4)}
    admin = KafkaAdmin(kafka)
    admin.create(topic, point.partitions, keep)
    made = Filled(topic, counts, _feed(kafka, topic, counts, point))
    try:
        if point.rate is None:
            made.await_all()
            time.sleep(SETTLE_S)
        yield made
    finally:
        made.feeding.kill()
        topics.delete(kafka, topic)


def _check_room(folder: Path, point: Point) -> None:
    """Retention is looked at every five minutes, so that a topic may grow far past it."""
    wanted, free = int(point.tuples * (point.line_bytes + 10) * 1.1), shutil.disk_usage(folder).free
    if free < wanted + SPARE_BYTES:
        raise MarsError("The disk is too small", f"{point.tuples:,} tuples need {wanted / 1e9:.0f} GB, "
                        f"{free / 1e9:.0f} GB are free", "set TMPDIR to a larger disk")


def _feed(kafka: str, topic: str, counts: Path, point: Point) -> subprocess.Popen:
    command = [sys.executable, "-m", "benchmarks.feed", "--kafka", kafka, "--topic", topic,
               "--counts", str(counts), "--tuples", str(point.tuples), "--packed", str(point.packed),
               "--start", str(START_S), "--event-rate", str(point.event_rate), "--codec", point.codec,
               "--format", point.format, "--keys", point.keys_drawn,
               "--line-bytes", str(point.line_bytes), "--sips", str(point.sips), "--pool", str(point.pool)]
    return subprocess.Popen(command + (["--rate", str(point.rate)] if point.rate else []), stdout=subprocess.DEVNULL)
