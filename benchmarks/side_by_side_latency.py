"""How soon each contender's closed windows can be read, at one rate that all of them can take, and at shares of its own
limit.

`python -m benchmarks.side_by_side_latency` gives each contender its turn on a topic of its own, which a producer fills by a
schedule, with the moment of making as event time; windows are of one second. It tells
  window closed   from the moment when the watermark passes a window's end until the last of its rows could be read;
  tuple closed    from the making of a tuple until its closed window could be read, less the watermark's delay.
The first --warm seconds are left out. A window that never was whole is told as missing: its rows were lost or doubled.
With --shares each contender's limit is searched as that of Mars is (benchmarks/latency_limit.py), by turns at other rates: a
rate is held if closing takes no longer in the later half of a turn than in the earlier one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa

from api.instance.services import kafka
from benchmarks import topics
from benchmarks.contenders.entrants import Contender, chosen
from benchmarks.contenders.protocol import Job
from benchmarks.generator import KEYS, UNIFORM
from benchmarks.latency_figures import Spread, readable
from benchmarks.latency_limit import Limit, Try, search
from benchmarks.machine import command, machine
from benchmarks.side_by_side import PARTITIONS
from mars import config as configuration
from mars.errors import MarsError

CONTENDERS = "mars,spark,flink,storm,storm-unacked"
WINDOW_MS, WATERMARK_MS = 1_000, 1_000
START_S, SETTLE_S = 15.0, 8.0
TRY_S = 20.0  # of a rate that is tried, after the seconds that are left out
# tuples per second with which a limit's search begins; of the others 300,000
FIRST = {"mars": 800_000.0, "spark": 150_000.0, "storm": 100_000.0}


@dataclass(frozen=True)
class Load:
    """Tuples per second, for so many seconds after `warm` seconds that are left out."""

    rate: float
    seconds: float
    warm: float
    keys: str = UNIFORM


def turn(contender: Contender, address: str, load: Load, folder: Path) -> tuple[dict[str, Spread], Try]:
    """One contender from start to stop under a load: its spreads, and whether the load was held."""
    folder.mkdir()
    topic = f"paced_{folder.name}"
    topics.create(address, topic, PARTITIONS)
    out, work, events = (folder / name for name in ("out", "work", "events.jsonl"))
    out.mkdir()
    work.mkdir()
    job = Job(0, address, topic, PARTITIONS, 0, 1, WINDOW_MS, WATERMARK_MS, 0, str(out), str(work))
    contender.start(folder, address)
    try:
        with contender.following(job, events):
            os.sync()  # what turns before this one left to be written would be written beside it
            time.sleep(START_S)
            produce(address, topic, load, folder)
            time.sleep(SETTLE_S)
    finally:
        contender.stop()
        topics.delete(address, topic)
    return judged(folder, load)


def produce(address: str, topic: str, load: Load, folder: Path) -> None:
    """Make and send the tuples; leaves the producer's log and counts in the folder."""
    words = ["--kafka", address, "--topic", topic, "--rate", str(load.rate), "--seconds", str(load.warm + load.seconds),
             "--patience", "3", "--window-ms", str(WINDOW_MS), "--log", str(folder / "log.npz"),
             "--counts", str(folder / "counts.arrow"), "--keys", load.keys]
    subprocess.run([sys.executable, "-m", "benchmarks.pacer", *words], check=True, stdout=subprocess.DEVNULL)


def judged(folder: Path, load: Load) -> tuple[dict[str, Spread], Try]:
    """From the producer's log and counts and from what became readable, in a turn's folder."""
    with pa.memory_map(str(folder / "counts.arrow")) as source:
        sums = pa.ipc.open_file(source).read_all().group_by("timestamp").aggregate([("count", "sum")]).to_pydict()
    with np.load(folder / "log.npz") as log:
        made, begin, acked = log["made_ms"], log["begin_ms"], log["acked_ms"]
        sent = begin + float(log["span_ms"])
    events = [orjson.loads(line) for line in (folder / "events.jsonl").read_bytes().split(b"\n")[:-1]]
    whole = readable(events, dict(zip(sums["timestamp"], sums["count_sum"], strict=True)))
    starts = np.array(sorted(sums["timestamp"]))
    passed = starts + WINDOW_MS + WATERMARK_MS
    due = (starts > begin[0] + load.warm * 1000) & (passed < sent[-1])
    at = np.array([whole.get(int(start), np.nan) for start in starts])
    window = made.astype(np.int64) // WINDOW_MS * WINDOW_MS
    tuple_at = at[np.searchsorted(starts, window)]
    found = {"window closed": Spread.of((at - passed)[due]),
             "tuple closed": Spread.of((tuple_at - made - WATERMARK_MS)[np.isin(window, starts[due])])}
    return found, Try.of(load.rate, starts[due], (at - passed)[due], sent, acked - sent, begin[0] + load.warm * 1000)


def own(contender: Contender, address: str, shares: list[float], given: Load, folder: Path,
        say: Callable[[str], None]) -> dict:
    """A contender's limit, searched from the given load's rate on, and its spreads at these shares of it."""
    numbers = itertools.count(1)

    def offer(rate: float) -> Try:
        load = replace(given, rate=rate, seconds=TRY_S)
        return turn(contender, address, load, folder / f"{contender.name}_{next(numbers)}")[1]

    limit = search(offer, given.rate, say=say)
    say(f"{contender.name:<14} limit: {limit.text()}")
    found = []
    for share in shares:
        spreads, trend = turn(contender, address, replace(given, rate=share * limit.rate),
                              folder / f"{contender.name}_at_{share}")
        _tell(f"{contender.name} {share:.0%}", spreads, say)
        found.append({"share": share, "held": trend.is_held, "latency": _json(spreads)})
    return {"limit": limit.json(), "shares": found}


def compare(contenders: list[Contender], load: Load, shares: list[float], folder: Path,
            say: Callable[[str], None] = print) -> dict[str, dict]:
    """Each contender's spreads at the load and at these shares of its own limit; told at once. One that does not get through
    is left out, with the reason."""
    config = configuration.load({"data": folder / "broker"})
    for contender in contenders:
        contender.prepare(config)
    broker = kafka.start(config, config.data)
    found: dict[str, dict] = {"latency": {}, "own": {}, "left_out": {}}
    try:
        for contender in contenders:
            try:
                spreads, _ = turn(contender, broker.address, load, folder / contender.name)
                _tell(contender.name, spreads, say)
                found["latency"][contender.name] = _json(spreads)
                if shares:
                    given = replace(load, rate=FIRST.get(contender.name, 300_000.0))
                    found["own"][contender.name] = own(contender, broker.address, shares, given, folder, say)
            except MarsError as error:
                found["left_out"][contender.name] = str(error)
                say(f"{contender.name} is left out: {error}")
    finally:
        broker.stop()
    return found


def _tell(title: str, spreads: dict[str, Spread], say: Callable[[str], None]) -> None:
    for name, spread in spreads.items():
        say(f"{title:<18} {name:<14} ms  {spread.text()}")


def _json(spreads: dict[str, Spread]) -> dict[str, dict]:
    return {name: spread.json() for name, spread in spreads.items()}


def figure(document: dict) -> list[str]:
    """The tables as lines of Markdown."""
    lines = [f"At {document['rate']:,.0f} tuples/s, windows of {WINDOW_MS} ms, a watermark {WATERMARK_MS} ms behind:", "",
             *_table([(name, document["rate"], spreads) for name, spreads in document["latency"].items()])]
    if found := document.get("own"):
        limits = {name: Limit.load(each["limit"]) for name, each in found.items()}
        loads = [(f"{name}, {at['share']:.0%}{'' if at['held'] else ', not held'}", at["share"] * limits[name].rate,
                  at["latency"]) for name, each in found.items() for at in each["shares"]]
        lines += ["", "At shares of its own limit each:", "", *_table(loads), "",
                  *(f"- {name}: {limit.text()}." for name, limit in limits.items())]
    return [*lines, *(f"- {name} is left out: {reason}." for name, reason in document.get("left_out", {}).items())]


def _table(loads: list[tuple[str, float, dict]]) -> list[str]:
    columns = ("p50", "p95", "p99", "mean", "max")
    lines = [f"| contender | tuples/s | ms | {' | '.join(columns)} | samples | missing |",
             "| --- | ---: | --- |" + " ---: |" * (len(columns) + 2)]
    for name, rate, spreads in loads:
        lines += [f"| {name} | {rate:,.0f} | {what} | {' | '.join(f'{spread[column]:,.0f}' for column in columns)} | "
                  f"{spread['samples']:,} | {spread['missing']:,} |" for what, spread in spreads.items()]
    return lines


def main() -> None:
    """The benchmark; exit code 1 if a window was never whole."""
    parser = argparse.ArgumentParser(prog="benchmarks.side_by_side_latency", description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=40_000, help="tuples per second")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--warm", type=float, default=20.0)
    parser.add_argument("--shares", default="", help="of its own limit, as 0.1,0.5: measure each contender there too")
    parser.add_argument("--only", default=CONTENDERS)
    parser.add_argument("--keys", choices=KEYS, default=UNIFORM, help="are all groups as frequent?")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    load = Load(given.rate, given.seconds, given.warm, given.keys)
    with tempfile.TemporaryDirectory(prefix="mars-side-by-side-") as folder:
        found = compare(chosen(given.only.split(",")), load, [float(share) for share in given.shares.split(",") if share],
                        Path(folder))
    if given.json:
        given.json.write_text(json.dumps({"rate": given.rate, "seconds": given.seconds, "keys": given.keys,
                                          "machine": machine(), "command": command(), **found}, indent=1) + "\n")
    every = [*found["latency"].values(), *(at["latency"] for each in found["own"].values() for at in each["shares"])]
    sys.exit(1 if any(spread["missing"] for each in every for spread in each.values()) else 0)


if __name__ == "__main__":
    main()
