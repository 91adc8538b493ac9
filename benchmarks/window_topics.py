"""Topics for benchmarks of windows: the paper's tuples at a rate of event time, and how a query over them is awaited."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from api.cli.client import Client
from benchmarks.feed import BATCH_TUPLES
from benchmarks.generator import LATE_MAX_S
from benchmarks.topics import START_S, create
from mars.errors import MarsError
from mars.results.formats import timestamp_text

PARTITIONS, BROKER = 4, "kafka"
WATERMARK_S = 5  # the default
POLL_S, STALL_S = 0.05, 120.0


def fill(kafka: str, topic: str, tuples: int, event_rate: int, counts: Path) -> None:
    """Make the topic, and these tuples in it."""
    create(kafka, topic, PARTITIONS)
    feed(kafka, topic, tuples, event_rate, START_S, counts)


def feed(kafka: str, topic: str, tuples: int, event_rate: int, start_s: int, counts: Path, rate: int | None = None) -> None:
    """Add tuples whose event time begins at `start_s`, at most `rate` a second."""
    subprocess.run([sys.executable, "-m", "benchmarks.feed", "--kafka", kafka, "--topic", topic, "--counts", str(counts),
                    "--tuples", str(tuples), "--start", str(start_s), "--event-rate", str(event_rate),
                    *(["--rate", str(rate)] if rate else [])], check=True, stdout=subprocess.DEVNULL)


def reached_s(tuples: int, event_rate: int) -> int:
    """The watermark that a query comes to at least, with so many tuples: each partition has one of the last batches."""
    return START_S + (tuples - PARTITIONS * BATCH_TUPLES) // event_rate - WATERMARK_S - LATE_MAX_S


def await_end(client: Client, query: str, tuples: int, watermark_s: int = 0) -> None:
    """Return when a query has committed so many tuples and this watermark, and nothing is left. Raises MarsError if it
    stands still."""
    last, moved, least = -1, time.monotonic(), timestamp_text(watermark_s * 1_000_000) or ""
    while True:
        found = client.get(f"/v1/queries/{query}")
        read = found["counters"]["tuples"]
        if read >= tuples and found["lag"] and found["lag"]["tuples"] == 0 and (found["watermark"] or "") >= least:
            return
        if read != last:
            last, moved = read, time.monotonic()
        if time.monotonic() - moved > STALL_S or found["state"] != "RUNNING":
            raise MarsError(f"{query} stands still", f"{found['state']} {found['reason'] or ''} at {read:,} tuples")
        time.sleep(POLL_S)
