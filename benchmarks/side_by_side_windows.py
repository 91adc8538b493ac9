"""Hopping, session and cumulating windows by Mars, Flink SQL and Spark Structured Streaming, over the same topic.

`python -m benchmarks.side_by_side_windows` works as benchmarks.side_by_side does: one broker, the same topic for all, turns
one after the other, warm processes, a clock from handing over the query until all results can be read. Every row is compared
with a count that no contender's code has made. Hopping windows write many rows for each tuple, so rows are told too.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow.compute as pc

from api.instance.services import kafka
from api.instance.services.service import Service
from benchmarks import topics, window_exactness
from benchmarks.contenders.entrants import Contender, chosen
from benchmarks.contenders.protocol import CUMULATE, HOP, SESSION, Job
from benchmarks.exactness import Exactness
from benchmarks.machine import command, machine
from benchmarks.side_by_side import LIMIT_S, PARTITIONS, WARM_LIMIT_S, job, need_room
from benchmarks.side_by_side_table import markdown, middle
from benchmarks.topics import Topic
from benchmarks.trees import TreeMeter
from mars import config as configuration
from mars.errors import MarsError

TITLE = "Windows side by side"
NAMES = ("mars", "flink", "spark")
SIZES_MS = {HOP: (60_000, 1_000), SESSION: (5_000, 0), CUMULATE: (300_000, 10_000)}  # size or gap, and step
LACKS = {CUMULATE: {"spark"}}  # who has no such windows
HEAD = ("windows", "contender", "M tuples/s, median (least to most)", "Mars is faster by", "rows", "M rows/s",
        "CPU s per M tuples", "Mars needs less CPU by", "peak MB", "answer")


@dataclass
class Turn:
    """What one contender did in one turn; `first` is the first row that differs."""

    windows: str
    contender: str
    seconds: float
    tuples_per_s: float
    cpu_s_per_million: float
    peak_bytes: int
    rows: int
    exactness: Exactness
    first: str


def turn(contender: Contender, broker: Service, windows: str, warm: Topic, topic: Topic, folder: Path, tuples: int) -> Turn:
    """One contender from start to stop."""
    folder.mkdir()
    contender.start(folder, broker.address)
    try:
        contender.run(of_windows(job(0, broker.address, warm, folder), windows), WARM_LIMIT_S)
        asked = of_windows(job(1, broker.address, topic, folder), windows)
        with TreeMeter({"contender": contender.roots()}) as meter:
            began = time.monotonic()
            contender.run(asked, LIMIT_S)
            seconds = time.monotonic() - began
        found = contender.results(asked)
    finally:
        contender.stop()
    end_s, (size_ms, step_ms) = topics.end_s(tuples), SIZES_MS[windows]
    counted = window_exactness.read(broker.address, topic.name, end_s)
    expected = counted.expected(windows, size_ms // 1000, step_ms // 1000)
    found = found.filter(pc.less_equal(found["end"], end_s * 1000))  # without those of the tuples that end the topic
    exactness, first = window_exactness.judge(expected, found)
    return Turn(windows, contender.name, seconds, tuples / seconds, meter.cpu_s["contender"] / tuples * 1e6,
                meter.peak_bytes["contender"], len(expected), exactness, first)


def of_windows(asked: Job, windows: str) -> Job:
    """The job, of these windows."""
    size_ms, step_ms = SIZES_MS[windows]
    return replace(asked, windows=windows, window_ms=size_ms, step_ms=step_ms)


def compare(contenders: list[Contender], kinds: list[str], tuples: int, warm: int, repeat: int, folder: Path
            ) -> Iterator[Turn | str]:
    """All turns; a line for each that fails."""
    need_room(folder, tuples)
    config = configuration.load({"data": folder / "broker"})
    for contender in contenders:
        contender.prepare(config)
    broker = kafka.start(config, config.data)
    try:
        small = topics.fill(broker.address, "warm", warm, PARTITIONS, 2, folder)
        topic = topics.fill(broker.address, "tuples", tuples, PARTITIONS, 1, folder)
        for windows, round_ in ((windows, round_) for windows in kinds for round_ in range(repeat)):
            for contender in contenders:
                if contender.name in LACKS.get(windows, ()):
                    continue
                place = folder / f"{contender.name}-{windows}-{round_}"
                try:
                    yield turn(contender, broker, windows, small, topic, place, tuples)
                except MarsError as error:
                    yield f"{windows}: {contender.name} failed: {error}"
                shutil.rmtree(place, ignore_errors=True)
    finally:
        broker.stop()


def table(turns: list[dict], titles: dict[str, str]) -> str:
    """All turns as a table."""
    rows = []
    for windows, name in dict.fromkeys((turn["windows"], turn["contender"]) for turn in turns):
        own, mars = ([turn for turn in turns if (turn["windows"], turn["contender"]) == (windows, who)]
                     for who in (name, "mars"))
        speeds, wrong = [turn["tuples_per_s"] / 1e6 for turn in own], [turn for turn in own if turn["exactness"]["wrong"]]
        faster, less = (f"{middle(a, field) / middle(b, field):.1f}" if mars else "-" for field, a, b in
                        (("tuples_per_s", mars, own), ("cpu_s_per_million", own, mars)))
        rows.append((windows, titles[name],
                     f"{middle(own, 'tuples_per_s') / 1e6:.3f} ({min(speeds):.3f} to {max(speeds):.3f})", faster,
                     f"{own[0]['rows']:,}", f"{own[0]['rows'] / middle(own, 'seconds') / 1e6:.3f}",
                     f"{middle(own, 'cpu_s_per_million'):.2f}", less,
                     f"{max(turn['peak_bytes'] for turn in own) / 1e6:,.0f}",
                     f"{wrong[0]['exactness']['wrong']:,} rows differ" if wrong else "exact"))
    return markdown([HEAD, *rows])


def main() -> None:
    """The benchmark; exit code 1 if an answer is not exact, or a turn failed."""
    parser = argparse.ArgumentParser(prog="benchmarks.side_by_side_windows", description=__doc__.splitlines()[0])
    parser.add_argument("--tuples", type=int, default=2_000_000)
    parser.add_argument("--warm", type=int, default=200_000, help="tuples of the topic to get warm on")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default=",".join(NAMES), help=f"some of {','.join(NAMES)}")
    parser.add_argument("--windows", default=",".join(SIZES_MS), help=f"some of {','.join(SIZES_MS)}")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started must be stopped
    names, kinds = given.only.split(","), given.windows.split(",")
    if not set(names) <= set(NAMES) or not set(kinds) <= set(SIZES_MS):
        parser.error(f"there are {', '.join(NAMES)} and {', '.join(SIZES_MS)}")
    turns, failed, contenders = list[Turn](), list[str](), chosen(names)
    with tempfile.TemporaryDirectory(prefix="mars-windows-", dir=given.folder) as folder:
        for one in compare(contenders, kinds, given.tuples, given.warm, given.repeat, Path(folder)):
            if isinstance(one, str):
                failed.append(one)
                print(one, file=sys.stderr, flush=True)
                continue
            turns.append(one)
            print(f"{one.windows:<10} {one.contender:<8} {one.tuples_per_s / 1e6:6.3f} M tuples/s  {one.exactness} "
                  f"{one.first}", file=sys.stderr, flush=True)
    found, titles = [asdict(one) for one in turns], {contender.name: contender.title for contender in contenders}
    if given.json:
        given.json.write_text(json.dumps({"title": TITLE, "command": command(), "machine": machine(), "contenders": titles,
                                          "tuples": given.tuples, "turns": found, "failed": failed}, indent=1) + "\n")
    print(table(found, titles))
    sys.exit(1 if failed or any(not one.exactness.exact for one in turns) else 0)


if __name__ == "__main__":
    main()
