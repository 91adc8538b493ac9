"""Late tuples of a full topic (LATE TO): each is kept once, and no other one, while workers are killed.

`python -m benchmarks.late_tuples` starts an instance of its own and fills a topic, of which one tuple in a hundred is ten
minutes older than those around it. A query with LATE TO reads it, while every few seconds a mapper or a reducer is killed.
Progress decides which tuples are late. So the late ones that it has kept, by their places, and those that its windows
hold, are together compared with all that were sent. Then the late tuples are read back, as a user selects them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
import psutil
import pyarrow as pa

from api.cli.client import Client
from api.cli.commands.status import workers
from api.instance import up
from api.instance.runfile import Run
from benchmarks.accuracy_run import every
from benchmarks.feed import Feeder
from benchmarks.machine import command, machine
from benchmarks.parts import held_bytes
from benchmarks.record_batches import encode
from benchmarks.topics import START_S, create
from benchmarks.window_topics import PARTITIONS, await_end
from mars import config as configuration
from mars.config import Config

TITLE = "Late tuples"
TOPIC, QUERY = "late_tuples", "counted"
EVENT_RATE, LATE_S, ONE_IN, KEYS = 5_000, 600, 100, 1_000
BATCH, DIGITS = 5_000, 10
LOOK_S = 0.1  # between looks at the memory of the server
SELECT = (f"SELECT k, count(*) AS n, sum(id) AS ids, sum(id * id % 1000003) AS squares FROM {TOPIC} GROUP BY k "
          "WINDOWING 60 s WATERMARK 5 s IDLE OFF LATE TO late")
WANTED = "SELECT t // 60 * 60 AS w, k, count(*) AS n, sum(id) AS ids, sum(id * id % 1000003) AS squares FROM {} GROUP BY ALL"


@dataclass(frozen=True)
class Found:
    """What a run gave. `wrong` is empty if each late tuple is there once and no other one."""

    tuples: int
    late: int
    kills: int
    read_s: float
    select_s: float
    sum_s: float
    server_megabytes: float
    wrong: str

    def text(self) -> str:
        """In words."""
        return (f"{self.tuples:,} tuples read in {self.read_s:.1f} s with {self.kills} kills; {self.late:,} late ones "
                f"selected in {self.select_s:.1f} s, summed in {self.sum_s:.1f} s, the server's memory "
                f"{self.server_megabytes:+,.0f} MB meanwhile: {self.wrong or 'each late tuple once, none else'}")


def tuples_of(first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ids, times and keys of the next tuples."""
    ids = np.arange(first, first + count)
    times = START_S + LATE_S + ids // EVENT_RATE
    return ids, np.where(ids % ONE_IN == ONE_IN // 2, times - LATE_S, times), ids * 7_919 % KEYS


def fill(kafka: str, tuples: int) -> pa.Table:
    """Make the topic; all that was sent, with places. The last tuples close no window of the others' last minute."""
    create(kafka, TOPIC, PARTITIONS)
    feeder, sent, ends = Feeder(kafka, TOPIC), [], [0] * PARTITIONS
    for number, first in enumerate(range(0, tuples, BATCH)):
        columns, partition = tuples_of(first, min(BATCH, tuples - first)), number % PARTITIONS
        count = len(columns[0])
        digits = np.concatenate([_digits(columns[1]), _digits(columns[0]), _digits(columns[2])], axis=1)
        rows = np.full((count, 3 * DIGITS + 2), ord(","), np.uint8)
        rows[:, [*range(DIGITS), *range(DIGITS + 1, 2 * DIGITS + 1), *range(2 * DIGITS + 2, 3 * DIGITS + 2)]] = digits
        feeder.send(partition, encode(rows, int(time.time() * 1000)))
        sent.append(pa.table({"id": columns[0], "t": columns[1], "k": columns[2], "p": np.full(count, partition),
                              "o": ends[partition] + np.arange(count)}))
        ends[partition] += count
    return pa.concat_tables(sent)


def _digits(numbers: np.ndarray) -> np.ndarray:
    return (numbers[:, None] // 10 ** np.arange(DIGITS - 1, -1, -1) % 10 + ord("0")).astype(np.uint8)


def killing(run: Run, config: Config, every_s: float, killed: list[int]) -> AbstractContextManager[None]:
    """Every so often a mapper or a reducer dies; 0 for never."""
    draw = random.Random(1)

    def kill() -> None:
        pids = [worker["pid"] for kind in workers(run, config).values() for worker in kind]
        with contextlib.suppress(ProcessLookupError, IndexError):
            os.kill(pid := draw.choice(pids), signal.SIGKILL)
            killed.append(pid)

    return every(every_s, kill) if every_s else contextlib.nullcontext()


def difference(sent: pa.Table, rows: pa.Table, late: list[tuple]) -> str:
    """What is not as it must be, '' for nothing. `late` are (partition, offset, t, id, k)."""
    with duckdb.connect(config={"threads": 2, "memory_limit": "4GB"}) as database:
        names = ("p", "o", "t", "id", "k")
        given = pa.table(dict(zip(names, map(pa.array, zip(*late, strict=True)), strict=True)))
        for name, table in (("sent", sent), ("rows", rows), ("late_given", given)):
            database.register(name, table)
        database.execute("CREATE TABLE late AS SELECT p, o, t, id, k::BIGINT AS k FROM late_given")
        database.execute("CREATE TABLE closed AS SELECT epoch(window_start)::BIGINT AS w, k::BIGINT AS k, n, ids, "
                         "squares FROM rows")
        sums = "sum(n)::HUGEINT AS n, sum(ids)::HUGEINT AS ids, sum(squares)::HUGEINT AS squares"
        both, every = (f"SELECT w, k, {sums} FROM ({parts}) GROUP BY ALL" for parts in (
            f"SELECT * FROM closed UNION ALL {WANTED.format('late')}", WANTED.format("sent")))
        checks = {
            "twice among the late ones": "SELECT p, o FROM late GROUP BY ALL HAVING count(*) > 1",
            "late, and not sent there": "SELECT * FROM late ANTI JOIN sent USING (p, o, t, id, k)",
            f"late, and not {LATE_S} s behind": f"SELECT * FROM late WHERE id % {ONE_IN} <> {ONE_IN // 2}",
            "windows and late ones together, and not sent": f"({both}) EXCEPT ({every})",
            "sent, and not in windows and late ones together": f"({every}) EXCEPT ({both})"}
        for what, sql in checks.items():
            [[count]] = database.execute(f"SELECT count(*) FROM ({sql})").fetchall()
            if count:
                return f"{what}: {count:,}, the first {database.execute(f'{sql} LIMIT 1').fetchall()[0]}"
    return ""


def timed(action: Callable[[], dict]) -> tuple[dict, float]:
    """What it gives, and the seconds that it takes."""
    began = time.monotonic()
    found = action()
    return found, round(time.monotonic() - began, 2)


def measure(run: Run, config: Config, tuples: int, rate: int, kill_s: float) -> Found:
    """One run on an instance that is up."""
    sent, killed = fill(run.kafka, tuples), list[int]()
    with Client(run.api, config.api_token) as client:
        client.sql(f"CREATE STREAM {TOPIC} (t BIGINT, id BIGINT, k STRING) FROM KAFKA '{TOPIC}' FORMAT CSV "
                   "TIMESTAMP t UNIT s")
        began = time.monotonic()
        client.sql(f"CREATE QUERY {QUERY} AS {SELECT} FROM EARLIEST{f' RATE {rate}' if rate else ''}")
        with killing(run, config, kill_s, killed):
            await_end(client, QUERY, tuples)
        read_s = time.monotonic() - began
        server, peak = psutil.Process(run.processes["server"].pid), [0]
        held = held_bytes(server)
        with every(LOOK_S, lambda: peak.append(held_bytes(server))):
            summed, sum_s = timed(lambda: client.sql("SELECT count(*) AS n, sum(id) AS ids FROM late"))
            answer, select_s = timed(lambda: client.sql(f"SELECT `partition`, `offset`, t, id, k FROM late LIMIT {tuples}"))
        rows = pa.concat_tables(client.pages(QUERY, partial="true"))
        counted = client.get(f"/v1/queries/{QUERY}")["counters"]["late"]
    late = [tuple(row) for row in answer["rows"]]
    wrong = difference(sent, rows, late)
    if not wrong and not counted == len(late) == summed["rows"][0][0]:
        wrong = f"{counted:,} are counted as late, {len(late):,} selected, {summed['rows'][0][0]:,} summed"
    return Found(tuples, len(late), len(killed), round(read_s, 1), select_s, sum_s, round((max(peak) - held) / 1e6), wrong)


def main() -> None:
    """The benchmark; exit code 1 if a late tuple is missing, or there twice, or if another one is."""
    parser = argparse.ArgumentParser(prog="benchmarks.late_tuples", description=__doc__.splitlines()[0])
    parser.add_argument("--tuples", type=int, default=10_000_000)
    parser.add_argument("--rate", type=int, default=400_000, help="tuples a second, so that kills come meanwhile; 0 for all")
    parser.add_argument("--kill", type=float, default=3.0, help="seconds from one kill to the next; 0 for none")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started must be stopped
    with tempfile.TemporaryDirectory(prefix="mars-late-", dir=given.folder) as folder:
        config = configuration.load({"data": Path(folder) / "mars"})
        run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
        try:
            found = measure(run, config, given.tuples, given.rate, given.kill)
        finally:
            up.down(config.data)
    if given.json:
        given.json.write_text(json.dumps({"title": TITLE, "command": command(), "machine": machine(),
                                          **asdict(found)}, indent=1) + "\n")
    print(found.text())
    sys.exit(1 if found.wrong else 0)


if __name__ == "__main__":
    main()
