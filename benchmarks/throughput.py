"""How many tuples a second a whole Mars takes from a full topic to committed, checked results.

`python -m benchmarks.throughput` starts an instance of its own, fills a topic with the paper's tuples, then
times from CREATE QUERY ... FROM EARLIEST until every key part has committed the end of every partition and
the closed windows are readable. Every group is compared with the count made while the tuples were made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from api.cli.client import Client
from api.demo.check import Verdict, compare
from api.instance import up
from api.instance.runfile import Run
from benchmarks.generator import KEYS, POOLS, QUERY, SCHEMA, UNIFORM
from benchmarks.parts import Meter, processes
from mars import config as configuration
from mars.adapters.kafka.admin import KafkaAdmin
from mars.config import Config
from mars.errors import MarsError

TOPIC, STREAM, NAME = "tuples", "S", "throughput"
POLL_S = 0.1
START_S = 1_700_000_000
TUPLES_PER_EVENT_SECOND = 5_000
STALL_S = 60.0


@dataclass
class Measured:
    """One run."""

    tuples: int
    seconds: float
    tuples_per_s: float
    megabytes_per_s: float
    cpu_s_per_million: dict[str, float]
    peak_megabytes: dict[str, float]
    groups: int
    open_windows: int
    exact: bool
    difference: str
    keys: str


def measure(config: Config, tuples: int, partitions: int, packed: int, say: Callable[[str], None] = lambda text: None,
            format_: str = "csv", keys: str = UNIFORM) -> Measured:
    """Start, fill, run, check; everything is stopped again."""
    run = up.detach(config, lambda name, detail, seconds: say(f"  {name:<16} {seconds:5.1f} s"))
    try:
        counts = config.data / "expected.arrow"
        fill(run, counts, tuples, partitions, packed, format_, keys)
        say(f"  topic filled with {tuples:,} tuples")
        with Client(run.api, config.api_token) as client, Meter(processes(run, config)) as meter:
            seconds = run_query(client, tuples, POOLS[format_].format)
        with Client(run.api, config.api_token) as client:
            verdict = check(client, counts)
    finally:
        up.down(config.data)
    return summary(tuples, POOLS[format_].line_bytes, seconds, meter, verdict, keys)


def fill(run: Run, counts: Path, tuples: int, partitions: int, packed: int, format_: str,
         keys: str) -> None:
    """Make the topic and let the producer process fill it."""
    admin = KafkaAdmin(run.kafka)
    admin.create(TOPIC, partitions)
    subprocess.run([sys.executable, "-m", "benchmarks.feed", "--kafka", run.kafka, "--topic", TOPIC,
                    "--counts", str(counts), "--tuples", str(tuples), "--packed", str(packed), "--format", format_,
                    "--keys", keys, "--start", str(START_S), "--event-rate", str(TUPLES_PER_EVENT_SECOND)],
                   check=True, stdout=subprocess.DEVNULL)


def run_query(client: Client, tuples: int, format_: str) -> float:
    """Seconds from CREATE QUERY until all is committed and the newest closed window is readable."""
    client.sql(f"CREATE STREAM {STREAM} ({SCHEMA}) FROM KAFKA '{TOPIC}' FORMAT {format_} TIMESTAMP timestamp UNIT s")
    began = moved = time.monotonic()
    client.sql(f"CREATE QUERY {NAME} AS {QUERY.format(stream=STREAM)} FROM EARLIEST")
    last = -1
    while True:
        query = client.get(f"/v1/queries/{NAME}")
        read = query["counters"]["tuples"]
        if read == tuples and query["lag"] and query["lag"]["tuples"] == 0:
            client.get(f"/v1/queries/{NAME}/results", limit=1, order="desc")
            return time.monotonic() - began
        if read != last:
            last, moved = read, time.monotonic()
        if time.monotonic() - moved > STALL_S or query["state"] != "RUNNING":
            raise MarsError("The query stands still", f"{query['state']} {query['reason'] or ''} at {read:,} tuples")
        time.sleep(POLL_S)


def check(client: Client, counts: Path) -> Verdict:
    """Every group, open windows too, against the producer's count."""
    results = pa.concat_tables(client.pages(NAME, partial="true"))
    with pa.memory_map(str(counts)) as source:
        return compare(pa.ipc.open_file(source).read_all(), results)


def summary(tuples: int, tuple_bytes: int, seconds: float, meter: Meter, verdict: Verdict,
            keys: str) -> Measured:
    """The figures of one run."""
    million = tuples / 1e6
    return Measured(
        tuples, round(seconds, 2), round(tuples / seconds), round(tuples * tuple_bytes / seconds / 1e6, 1),
        {name: round(cpu / million, 3) for name, cpu in meter.cpu_s.items()},
        {name: round(peak / 1e6) for name, peak in meter.peak_bytes.items()},
        verdict.groups, verdict.open_windows, not verdict.difference, verdict.difference, keys)


def describe(found: Measured) -> str:
    """The figures for people."""
    lines = [f"{found.tuples:,} tuples with {found.keys} keys in {found.seconds:.2f} s: "
             f"{found.tuples_per_s / 1e6:.2f} M tuples/s, {found.megabytes_per_s:.0f} MB/s",
             f"{'part':<12}{'CPU s per M':>12}{'peak MB':>10}"]
    lines += [f"{name:<12}{cpu:>12.3f}{found.peak_megabytes[name]:>10.0f}"
              for name, cpu in found.cpu_s_per_million.items()]
    verdict = f"EXACT: {found.groups:,} groups" if found.exact else f"NOT EXACT: {found.difference}"
    return "\n".join([*lines, f"{verdict}, {found.open_windows} windows still open"])


def main() -> None:
    """The benchmark; exit code 1 if the results are not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.throughput", description=__doc__.splitlines()[0])
    parser.add_argument("--tuples", type=int, default=20_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--mappers", type=int, default=2)
    parser.add_argument("--reducers", type=int, default=2)
    parser.add_argument("--packed", type=int, default=1, help="tuples in a message")
    parser.add_argument("--format", choices=POOLS, default="csv")
    parser.add_argument("--keys", choices=KEYS, default=UNIFORM, help="are all groups as frequent?")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder:
        config = configuration.load({"data": Path(folder), "mappers": given.mappers, "reducers": given.reducers})
        found = measure(config, given.tuples, given.partitions, given.packed,
                        lambda text: print(text, file=sys.stderr), given.format, given.keys)
    print(json.dumps(asdict(found)) if given.json else describe(found))
    sys.exit(0 if found.exact else 1)


if __name__ == "__main__":
    main()
