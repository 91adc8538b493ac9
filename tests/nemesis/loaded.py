"""A stream under load: with producers of its own, which take orders."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka.admin import NewPartitions

from mars.errors import MarsError
from tests.nemesis.instance import ROOT, Instance
from tests.nemesis.oracle import Verdict
from tests.nemesis.stream import PATIENCE_S, POLL_S, Stream
from tests.nemesis.tuples import FUTURE_MS, STATISTICS

PARTITIONS, PARTITIONS_MAX = 3, 8
DAY_MS = 86_400_000


class LoadedStream(Stream):
    """Under load when constructed; `finish` stops the load and judges."""

    def __init__(self, instance: Instance, name: str, rate: int, seed: int) -> None:
        super().__init__(instance, name, STATISTICS, PARTITIONS)
        self.base_ms = int(time.time() * 1000) - DAY_MS
        arguments = {"address": instance.kafka.load_address, "topic": name, "partitions": PARTITIONS, "rate": rate,
                     "seed": seed, "base_ms": self.base_ms}
        self.load = subprocess.Popen([sys.executable, "-m", "tests.nemesis.load", json.dumps(arguments)], cwd=ROOT,
                                     text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)

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

    def resume(self, query: str) -> None:
        """Let a query run again."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(MarsError):
                if self.instance.api.get(f"/v1/queries/{query}")["state"] == "RUNNING":
                    return
                self.instance.api.sql(f"RESUME QUERY {query}")
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
        return super().drop(counts_what_is_left)
