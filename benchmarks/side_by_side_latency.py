"""How soon each contender's closed windows can be read, at one rate that all of them can take.

`python -m benchmarks.side_by_side_latency` gives each contender its turn on a topic of its own, which a producer fills by a
schedule, with the moment of making as event time; windows are of one second. It tells
  window closed   from the moment when the watermark passes a window's end until the last of its rows could be read;
  tuple closed    from the making of a tuple until its closed window could be read, less the watermark's delay.
The first --warm seconds are left out. A window that never was whole is told as missing: its rows were lost or doubled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa

from api.services import kafka
from benchmarks.contenders.entrants import Contender, chosen
from benchmarks.contenders.protocol import Job
from benchmarks.latency_figures import Spread, readable
from benchmarks.machine import machine
from benchmarks.side_by_side import PARTITIONS
from mars import config as configuration
from mars.adapters.kafka_admin import KafkaAdmin

CONTENDERS = "mars,spark,flink,storm,storm-unacked"
WINDOW_MS, WATERMARK_MS = 1_000, 1_000
START_S, SETTLE_S = 15.0, 8.0


def turn(contender: Contender, address: str, rate: float, seconds: float, warm: float, folder: Path) -> dict[str, Spread]:
    """One contender from start to stop."""
    folder.mkdir()
    topic = f"paced_{contender.name}"
    admin = KafkaAdmin(address)
    admin.create(topic, PARTITIONS)
    admin.close()
    out, work, events = (folder / name for name in ("out", "work", "events.jsonl"))
    out.mkdir()
    work.mkdir()
    job = Job(0, address, topic, PARTITIONS, 0, 1, WINDOW_MS, WATERMARK_MS, 0, str(out), str(work))
    contender.start(folder, address)
    try:
        with contender.following(job, events):
            time.sleep(START_S)
            produce(address, topic, rate, warm + seconds, folder)
            time.sleep(SETTLE_S)
    finally:
        contender.stop()
    return spreads(folder, warm)


def produce(address: str, topic: str, rate: float, seconds: float, folder: Path) -> None:
    """Make and send the tuples; leaves the producer's log and counts in the folder."""
    command = ["--kafka", address, "--topic", topic, "--rate", str(rate), "--seconds", str(seconds), "--patience", "3",
               "--window-ms", str(WINDOW_MS), "--log", str(folder / "log.npz"), "--counts", str(folder / "counts.arrow")]
    subprocess.run([sys.executable, "-m", "benchmarks.pacer", *command], check=True, stdout=subprocess.DEVNULL)


def spreads(folder: Path, warm: float) -> dict[str, Spread]:
    """From the producer's log and counts and from what became readable, in a turn's folder."""
    with pa.memory_map(str(folder / "counts.arrow")) as source:
        sums = pa.ipc.open_file(source).read_all().group_by("timestamp").aggregate([("count", "sum")]).to_pydict()
    with np.load(folder / "log.npz") as log:
        made, begin = log["made_ms"], log["begin_ms"]
        end_ms = begin[-1] + float(log["span_ms"])
    events = [orjson.loads(line) for line in (folder / "events.jsonl").read_bytes().split(b"\n")[:-1]]
    whole = readable(events, dict(zip(sums["timestamp"], sums["count_sum"], strict=True)))
    starts = np.array(sorted(sums["timestamp"]))
    passed = starts + WINDOW_MS + WATERMARK_MS
    due = (starts > begin[0] + warm * 1000) & (passed < end_ms)
    at = np.array([whole.get(int(start), np.nan) for start in starts])
    window = made.astype(np.int64) // WINDOW_MS * WINDOW_MS
    tuple_at = at[np.searchsorted(starts, window)]
    return {"window closed": Spread.of((at - passed)[due]),
            "tuple closed": Spread.of((tuple_at - made - WATERMARK_MS)[np.isin(window, starts[due])])}


def compare(contenders: list[Contender], rate: float, seconds: float, warm: float, folder: Path,
            say: Callable[[str], None] = print) -> dict[str, dict[str, Spread]]:
    """Each contender's spreads, told at once."""
    config = configuration.load({"data": folder / "broker"})
    for contender in contenders:
        contender.prepare(config)
    broker = kafka.start(config, config.data)
    found = {}
    try:
        for contender in contenders:
            found[contender.name] = turn(contender, broker.address, rate, seconds, warm, folder / contender.name)
            for name, spread in found[contender.name].items():
                say(f"{contender.name:<14} {name:<14} ms  {spread.text()}")
    finally:
        broker.stop()
    return found


def figure(document: dict) -> list[str]:
    """The table as lines of Markdown."""
    columns = ("p50", "p95", "p99", "mean", "max")
    lines = [f"At {document['rate']:,.0f} tuples/s, windows of {WINDOW_MS} ms, a watermark {WATERMARK_MS} ms behind:", "",
             f"| contender | ms | {' | '.join(columns)} | samples | missing |",
             "| --- | --- |" + " ---: |" * (len(columns) + 2)]
    for name, spreads_ in document["latency"].items():
        lines += [f"| {name} | {what} | {' | '.join(f'{spread[column]:,.0f}' for column in columns)} | "
                  f"{spread['samples']:,} | {spread['missing']:,} |" for what, spread in spreads_.items()]
    return lines


def main() -> None:
    """The benchmark; exit code 1 if a window was never whole."""
    parser = argparse.ArgumentParser(prog="benchmarks.side_by_side_latency", description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=40_000, help="tuples per second")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--warm", type=float, default=20.0)
    parser.add_argument("--only", default=CONTENDERS)
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mars-side-by-side-") as folder:
        found = compare(chosen(given.only.split(",")), given.rate, given.seconds, given.warm, Path(folder))
    latency = {name: {what: spread.json() for what, spread in each.items()} for name, each in found.items()}
    if given.json:
        given.json.write_text(json.dumps({"rate": given.rate, "seconds": given.seconds, "machine": machine(),
                                          "latency": latency}, indent=1) + "\n")
    sys.exit(1 if any(spread.missing for each in found.values() for spread in each.values()) else 0)


if __name__ == "__main__":
    main()
