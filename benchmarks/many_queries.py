"""How many tuples a second many queries over one stream take, against one query alone.

`python -m benchmarks.many_queries` starts an instance with a broker of its own, and for each kind of queries and each count
fills a topic behind a transaction that is open, creates the queries, and ends the transaction: from then on all queries may
read all tuples. The kinds:
  alike     the same statement again and again, as of one dashboard that many people have open;
  having    equal cells, shown in different ways;
  shapes    the 144 shapes of benchmarks/overload_queries.py: filters, keys, windows; five aggregates each;
  points    one key's tuples each: WHERE sip = '..'.
The answers of `--compared` queries, spread over all, are compared with the count that was made while the tuples were made.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Producer

from benchmarks.generator import UNIFORM, Pool
from benchmarks.machine import command, machine
from benchmarks.overload_queries import Wanted, shapes
from benchmarks.overload_run import PARTITIONS, Loaded, started
from benchmarks.parts import Meter

TITLE = "Many queries"
EVENT_RATE = 20_000
SEED = 1  # of the producer's tuples
HELD_MS = 300_000  # the longest transaction that the broker allows


@dataclass(frozen=True)
class Counting:
    """The paper's query, or one with a HAVING that lets all rows pass."""

    least: int | None = None

    def sql(self, name: str, stream: str) -> str:
        having = "" if self.least is None else f" HAVING count(*) > {self.least}"
        return (f"CREATE QUERY {name} AS SELECT sip, type, timestamp, count(*) FROM {stream} "
                f"GROUP BY sip, type, timestamp WINDOWING 60 s{having} FROM EARLIEST")

    def expected(self, counted: pa.Table) -> pa.Table:
        return counted


@dataclass(frozen=True)
class Point:
    """The tuples of one sip."""

    sip: str

    def sql(self, name: str, stream: str) -> str:
        return (f"CREATE QUERY {name} AS SELECT type, timestamp, count(*) FROM {stream} WHERE sip = '{self.sip}' "
                "GROUP BY type, timestamp WINDOWING 60 s FROM EARLIEST")

    def expected(self, counted: pa.Table) -> pa.Table:
        own = counted.filter(pc.equal(counted["sip"], self.sip))
        return own.group_by(["type", "timestamp"]).aggregate([("count", "sum")]).rename_columns(
            ["type", "timestamp", "count"])


def wanted(kind: str, count: int) -> list[Wanted]:
    """So many queries of that kind."""
    if kind == "alike":
        return [Counting()] * count
    if kind == "having":
        return [Counting(-number) for number in range(1, count + 1)]
    if kind == "points":
        return list(islice(cycle(Point(sip) for sip in Pool(SEED).sips), count))
    return list(shapes(count))


@dataclass(frozen=True)
class Taken:
    """How `queries` queries took `tuples` tuples, from the moment when they might until all was committed, with which CPU
    of all parts. `last_create_ms` is how long one more CREATE took."""

    kind: str
    queries: int
    last_create_ms: float
    tuples: int
    tuples_per_s: int
    cpu_s_per_million: dict[str, float]
    memory_mb: dict[str, float]
    compared: int
    wrong: list[str]


def take(loaded: Loaded, kind: str, count: int, tuples: int, compared: int) -> Taken:
    """One measurement."""
    name, all_, releases = f"{kind}{count}", wanted(kind, count), list[Callable[[], None]]()

    def fill() -> None:
        releases.append(held(loaded, name))
        with loaded.produce(name, tuples, EVENT_RATE) as producer:
            producer.wait()

    with loaded.queries(name, all_, fill) as names:
        began = time.monotonic()
        loaded.mars.api().sql(f"CREATE QUERY {name}_last AS SELECT type, count(*) FROM {name} GROUP BY type WINDOWING 60 s")
        last_ms = 1000 * (time.monotonic() - began)
        loaded.mars.api().sql(f"DROP QUERY {name}_last")
        some = slice(None, None, max(1, count // compared))
        with Meter(loaded.running()) as meter:
            began = time.monotonic()
            releases.pop()()
            for query in names[some]:
                loaded.await_tuples(query, lambda: tuples)
            took_s = time.monotonic() - began
        cpu = {part: round(1e6 * cpu_s / tuples, 3) for part, cpu_s in meter.cpu_s.items()}
        return Taken(kind, count, round(last_ms, 1), tuples, round(tuples / took_s), cpu,
                     loaded.memory_mb(), len(names[some]), loaded.wrong(name, names[some], all_[some]))


def held(loaded: Loaded, topic: str) -> Callable[[], None]:
    """Keeps readers of committed records before the end of each partition; the result lets them go on."""
    producer = Producer({"bootstrap.servers": loaded.kafka, "transactional.id": f"hold-{topic}",
                         "transaction.timeout.ms": HELD_MS})
    producer.init_transactions()
    producer.begin_transaction()
    for partition in range(PARTITIONS):
        producer.produce(topic, b"", partition=partition)
    producer.flush()
    return producer.abort_transaction


def main() -> None:
    """The benchmark; exit code 1 if any answer is not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.many_queries", description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="alike,having,shapes,points")
    parser.add_argument("--counts", default="1,10,100,1000")
    parser.add_argument("--tuples", type=int, default=3_000_000, help="tuples for each count")
    parser.add_argument("--compared", type=int, default=20, help="queries whose answers are compared")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started must be stopped
    found = []
    with tempfile.TemporaryDirectory(prefix="mars-many-", dir=given.folder) as folder, started(Path(folder)) as loaded:
        for kind in given.kinds.split(","):
            for count in map(int, given.counts.split(",")):
                found.append(take(loaded, kind, count, given.tuples, given.compared))
                print(found[-1], flush=True)
    if given.json:
        given.json.write_text(json.dumps({"title": TITLE, "command": command(), "machine": machine(), "keys": UNIFORM,
                                          "taken": [asdict(one) for one in found]}, indent=1) + "\n")
    sys.exit(1 if any(one.wrong for one in found) else 0)


if __name__ == "__main__":
    main()
