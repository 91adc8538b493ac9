"""What windows and sketches cost in CPU, against tumbling windows of a minute over the same topic.

`python -m benchmarks.window_costs` starts an instance of its own, fills topics with the paper's tuples, and runs the two
queries of each pair in alternating turns, each FROM EARLIEST until all is committed. The figure is the CPU of all parts of
Mars but the broker, as a ratio of the medians. Rows that are written are told apart, because a query that gives out more
rows has more to write. Last, a landmark query is measured over a million tuples at its begin and over a million much later:
neither its CPU per tuple nor the bytes of a commit may grow.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from api.cli.client import Client
from api.instance import up
from api.instance.runfile import Run
from benchmarks.generator import SCHEMA, UNIFORM
from benchmarks.machine import command, machine
from benchmarks.parts import Meter, processes
from benchmarks.side_by_side_table import markdown
from benchmarks.window_landmark import Later, later
from benchmarks.window_topics import BROKER, PARTITIONS, await_end, fill, reached_s
from mars import config as configuration
from mars.config import Config

TITLE = "What windows cost"
RATES = {"own": 5_000, "thin": 500}  # tuples of a topic for each second of event time
SIP, TYPE = "sip, type", "type"


@dataclass(frozen=True)
class Pair:
    """A query against another one: `wanted` of the topic's tuples, and what the first may cost at most."""

    name: str
    topic: str
    keys: str
    one: str
    other: str
    bar: float
    value: str = "count(*)"

    def select(self, stream: str, is_one: bool) -> str:
        """The statement of the measured query, or of the one that it is compared with."""
        value, windowing = (self.value, self.one) if is_one else ("count(*)", self.other)
        return f"SELECT {self.keys}, {value} AS x FROM {stream} GROUP BY {self.keys} WINDOWING {windowing} FROM EARLIEST"


MINUTE = "60 s"
PAIRS = (
    Pair("60 s EVERY 1 s, 600 tuples a pane and group", "own", TYPE, "60 s EVERY 1 s", MINUTE, 1.5),
    Pair("60 s EVERY 1 s, 0.6 tuples a pane and group", "own", SIP, "60 s EVERY 1 s", MINUTE, 8.0),
    Pair("1 h EVERY 1 s, against 60 s EVERY 1 s", "thin", TYPE, "1 h EVERY 1 s", "60 s EVERY 1 s", 1.3),
    Pair("SESSION GAP 5 s", "own", SIP, "SESSION GAP 5 s", MINUTE, 2.0),
    Pair("approx_count_distinct, 8 groups", "own", TYPE, MINUTE, MINUTE, 2.0, "approx_count_distinct(session)"),
    Pair("approx_count_distinct, 8,000 groups", "own", SIP, MINUTE, MINUTE, 2.0, "approx_count_distinct(session)"),
    Pair("approx_percentile, 8 groups", "own", TYPE, MINUTE, MINUTE, 2.0, "approx_percentile(port, 0.95)"),
    Pair("top_k, 8 groups", "own", TYPE, MINUTE, MINUTE, 2.0, "top_k(port, 10)"),
)


@dataclass(frozen=True)
class Turn:
    """One query over one topic: CPU seconds per million tuples by part, without the broker, and rows of closed windows."""

    cpu_s: dict[str, float]
    seconds: float
    rows: int

    @property
    def cpu(self) -> float:
        return sum(self.cpu_s.values())


@dataclass(frozen=True)
class Measured:
    """The turns of both queries of a pair."""

    pair: Pair
    one: list[Turn]
    other: list[Turn]

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return median(turn.cpu for turn in self.one) / median(turn.cpu for turn in self.other)

    def row(self) -> tuple[str, ...]:
        """Of the table."""
        told = [self.pair.name, f"{self.ratio:.2f}", f"{self.pair.bar:g}"]
        for turns in (self.one, self.other):
            cpus = [turn.cpu for turn in turns]
            told += [f"{median(cpus):.2f} ({min(cpus):.2f} to {max(cpus):.2f})", f"{turns[0].rows:,}"]
        return tuple(told)

    def json(self) -> dict:
        """As it is written to a file."""
        return {**asdict(self), "ratio": round(self.ratio, 3)}


HEAD = ("query", "ratio", "bar", "CPU s per M tuples, median (least to most)", "rows",
        "the other's CPU s per M", "its rows")


def turn(client: Client, run: Run, config: Config, stream: str, select: str, tuples: int) -> Turn:
    """One query from its making until all is committed; it is dropped."""
    meter = Meter({name: part for name, part in processes(run, config).items() if name != BROKER})
    with meter:
        began = time.monotonic()
        client.sql(f"CREATE QUERY costs AS {select}")
        await_end(client, "costs", tuples, reached_s(tuples, RATES[stream]))
        seconds = time.monotonic() - began
    rows = client.sql("SELECT count(*) AS n FROM costs")["rows"][0][0]
    client.sql("DROP QUERY costs")
    return Turn({name: round(1e6 * cpu / tuples, 4) for name, cpu in meter.cpu_s.items()}, round(seconds, 2), rows)


def measure(run: Run, config: Config, tuples: int, turns: int, pairs: list[Pair]) -> Iterator[Measured]:
    """Each pair in turns, on an instance that is up."""
    with Client(run.api, config.api_token) as client:
        for topic in {pair.topic: None for pair in pairs}:
            fill(run.kafka, topic, tuples, RATES[topic], config.data / f"{topic}.arrow")
            client.sql(f"CREATE STREAM {topic} ({SCHEMA}) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP timestamp UNIT s")
        for pair in pairs:
            found: dict[bool, list[Turn]] = {True: [], False: []}
            for number in range(turns + 1):  # the first one of each compiles its kernels
                for is_one in (True, False) if number % 2 else (False, True):
                    taken = turn(client, run, config, pair.topic, pair.select(pair.topic, is_one), tuples)
                    found[is_one] += [taken] if number else []
            yield Measured(pair, found[True], found[False])


def describe(found: list[Measured], landmark: Later | None) -> str:
    """The figures for people."""
    lines = [markdown([HEAD, *(one.row() for one in found)])] if found else []
    return "\n".join([*lines, *([landmark.text()] if landmark else [])])


def main() -> None:
    """The benchmark; exit code 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="benchmarks.window_costs", description=__doc__.splitlines()[0])
    parser.add_argument("--tuples", type=int, default=3_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="pairs whose name has this in it; `landmark` for that alone")
    parser.add_argument("--later", type=int, default=10_000_000, help="tuples before the second look at a landmark query")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started must be stopped
    pairs = [pair for pair in PAIRS if given.only in pair.name]
    found, landmark = list[Measured](), None
    with tempfile.TemporaryDirectory(prefix="mars-windows-", dir=given.folder) as folder:
        config = configuration.load({"data": Path(folder) / "mars"})
        run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
        try:
            for one in measure(run, config, given.tuples, given.turns, pairs):
                found.append(one)
                print(" | ".join(one.row()), file=sys.stderr, flush=True)
            if given.later and given.only in "landmark":
                landmark = later(run, config, given.later)
        finally:
            up.down(config.data)
    if given.json:
        given.json.write_text(json.dumps({
            "title": TITLE, "command": command(), "machine": machine(), "keys": UNIFORM, "partitions": PARTITIONS,
            "tuples": given.tuples, "pairs": [one.json() for one in found],
            "landmark": asdict(landmark) if landmark else None}, indent=1) + "\n")
    print(describe(found, landmark))
    sys.exit(1 if any(one.ratio > one.pair.bar for one in found) or (landmark and not landmark.is_flat) else 0)


if __name__ == "__main__":
    main()
