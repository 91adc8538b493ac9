"""A landmark query at its begin and much later: CPU per tuple and bytes of a commit must stay the same."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from api.cli.client import Client
from api.instance.runfile import Run
from benchmarks.generator import SCHEMA
from benchmarks.parts import Meter, processes
from benchmarks.topics import START_S, create
from benchmarks.window_topics import BROKER, PARTITIONS, await_end, feed
from mars.config import Config

LOOKED_AT, EVENT_RATE, RATE = 1_000_000, 5_000, 50_000
MAY_GROW = 1.1
POLL_S = 0.02
QUERY = "SELECT type, count(*) AS n, sum(bytes) AS total FROM landmark GROUP BY type WINDOWING LANDMARK EACH DAY EVERY 1 s"


@dataclass(frozen=True)
class Look:
    """At a million tuples after so many: CPU seconds of all parts but the broker, and the bytes of a commit's file."""

    after: int
    cpu_s: float
    commit_bytes: float
    commits: int


@dataclass(frozen=True)
class Later:
    """Both looks."""

    first: Look
    last: Look

    @property
    def is_flat(self) -> bool:
        """Has neither figure grown by more than a tenth?"""
        return self.last.cpu_s <= MAY_GROW * self.first.cpu_s and \
            self.last.commit_bytes <= MAY_GROW * self.first.commit_bytes

    def text(self) -> str:
        """In words."""
        return "\n".join(f"LANDMARK EACH DAY EVERY 1 s, {LOOKED_AT:,} tuples after {look.after:,}: {look.cpu_s:.3f} CPU s, "
                         f"{look.commit_bytes:,.0f} B a commit (median of {look.commits})"
                         for look in (self.first, self.last))


class CommitSizes:
    """The sizes of all commit files that appear from entering to leaving."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sizes, self.leaving = folder, dict[str, int](), threading.Event()
        self.known = set(self._look())
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> CommitSizes:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leaving.set()
        self.thread.join()

    def _follow(self) -> None:
        while not self.leaving.wait(POLL_S):
            self.sizes.update((path, size) for path, size in self._look().items() if path not in self.known)

    def _look(self) -> dict[str, int]:
        found = {}
        for place, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(place, name)
                try:
                    found[path] = os.stat(path).st_size
                except FileNotFoundError:  # it was swept meanwhile
                    continue
        return found


def later(run: Run, config: Config, tuples: int) -> Later:
    """Look at the first million tuples, and at a million after `tuples`."""
    counts, sent = config.data / "landmark.arrow", 0

    def add(count: int, rate: int | None) -> None:
        nonlocal sent
        feed(run.kafka, "landmark", count, EVENT_RATE, START_S + sent // EVENT_RATE, counts, rate)
        sent += count
        await_end(client, "landmark_costs", sent)

    def look() -> Look:
        after = sent
        parts = {name: part for name, part in processes(run, config).items() if name != BROKER}
        with CommitSizes(config.data / "state") as sizes, Meter(parts) as meter:
            add(LOOKED_AT, RATE)
        return Look(after, round(sum(meter.cpu_s.values()), 3), median(sizes.sizes.values()), len(sizes.sizes))

    with Client(run.api, config.api_token) as client:
        create(run.kafka, "landmark", PARTITIONS)
        client.sql(f"CREATE STREAM landmark ({SCHEMA}) FROM KAFKA 'landmark' FORMAT CSV TIMESTAMP timestamp UNIT s")
        client.sql(f"CREATE QUERY landmark_costs AS {QUERY} FROM EARLIEST")
        add(LOOKED_AT, RATE)  # compiles the kernels
        first = look()
        add(tuples - sent, None)
        return Later(first, look())
