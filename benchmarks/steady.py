"""What a steady load costs: CPU seconds per second of each part of Mars, at one rate and when there is nothing to do.

`python -m benchmarks.steady --rate 40000 --seconds 60` starts an instance of its own and warms it, since JVMs compile
themselves in their first seconds. Then it measures the instance without a query, and with the paper's query in windows of
a second under that load. All groups are compared with the producer's count. `own` are mappers, reducers and the driver,
which is the server process with Spark's JVM. With --readers two clients read results meanwhile, as in benchmarks.latency,
and freshness is told; what their questions cost is in the driver's figure then.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from api.instance import up
from benchmarks.generator import KEYS, UNIFORM
from benchmarks.latency_bench import PARTITIONS, READERS, Bench
from benchmarks.latency_figures import Load
from benchmarks.parts import Meter, processes
from mars import config as configuration

OWN = ("mappers", "reducers", "driver")
SERVICES = ("redis", "zookeeper", "kafka")
SETTLE_S = 5.0


@dataclass(frozen=True)
class Steady:
    """One run: cores in use of each part without a query (`idle`) and under the load; `freshness` in ms, if it was read."""

    rate: float
    seconds: float
    partitions: int
    keys: str
    idle: dict[str, float]
    loaded: dict[str, float]
    freshness: dict[str, float]
    exact: bool
    difference: str


def measure(bench: Bench, load: Load, idle_s: float, kinds: tuple[str, ...] = ()) -> Steady:
    """The idle instance, then the load; `kinds` are the readers."""
    time.sleep(SETTLE_S)
    with Meter(processes(bench.run, bench.config)) as meter:
        time.sleep(idle_s)
    found = bench.measure(load, kinds)
    spread = found.freshness.json() if "partial" in kinds else {}
    return Steady(load.rate, load.seconds, bench.partitions, load.keys,
                  with_own({part: cpu / idle_s for part, cpu in meter.cpu_s.items()}),
                  with_own(found.cores), {of: spread[of] for of in ("p50", "p95", "p99", "max") if of in spread},
                  found.exact, found.difference)


def with_own(cores: dict[str, float]) -> dict[str, float]:
    """The parts of Mars itself, their sum, the services, and what else was measured."""
    told = {**{part: cores[part] for part in OWN}, "own": sum(cores[part] for part in OWN),
            **{part: cores[part] for part in SERVICES if part in cores}}
    return {part: round(used, 3) for part, used in {**told, **{k: v for k, v in cores.items() if k not in told}}.items()}


def describe(found: Steady) -> str:
    """The figures for people."""
    names = list(found.loaded)
    rows = [("idle", found.idle), (f"{found.rate:,.0f}/s", found.loaded)]
    fresh = "  ".join(f"{of} {ms:.0f}" for of, ms in found.freshness.items())
    return "\n".join([
        f"CPU seconds per second, {found.seconds:.0f} s, {found.partitions} partitions, {found.keys} keys",
        f"{'':<12}" + "".join(f"{name:>11}" for name in names),
        *(f"{title:<12}" + "".join(f"{cores[name]:>11.3f}" if name in cores else f"{'-':>11}" for name in names)
          for title, cores in rows),
        *([f"freshness ms  {fresh}"] if fresh else []),
        "EXACT" if found.exact else f"NOT EXACT: {found.difference}"])


def main() -> None:
    """The benchmark; exit code 1 if the results are not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.steady", description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=40_000, help="tuples per second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--warm", type=float, default=40.0, help="seconds of load before all that are not measured")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds without a query")
    parser.add_argument("--readers", action="store_true", help="read results meanwhile, and tell freshness")
    parser.add_argument("--keys", choices=KEYS, default=UNIFORM, help="are all groups as frequent?")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder:
        config = configuration.load({"data": Path(folder)})
        run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
        try:
            with Bench(run, config, Path(folder), given.keys, given.partitions) as bench:
                bench.warm(given.warm)
                found = measure(bench, Load("steady", given.rate, given.seconds, keys=given.keys), given.idle,
                                READERS if given.readers else ())
        finally:
            up.down(config.data)
    print(json.dumps(asdict(found)) if given.json else describe(found))
    sys.exit(0 if found.exact else 1)


if __name__ == "__main__":
    main()
