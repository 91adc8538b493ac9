"""From the making of an event to a result that a client can read: p50, p95, p99, mean and greatest, at several loads.

`python -m benchmarks.latency` starts an instance of its own. For each load a producer process makes tuples by a
schedule, with the moment of making as their event time, and two readers ask the API, as clients would. It tells
  freshness       from the making of a tuple until it counts in a result that was read (open windows, `partial=true`);
  window closed   from the moment when the watermark passes a window's end until all its rows were read from the stream
                  of closed windows. Tuples come all the time to every partition, so that moment is the end + WATERMARK;
  tuple closed    from the making of a tuple until its closed window was read, less WATERMARK: it holds the rest of the
                  window, half a window on the average.
A load is a rate, or a share of the limit: the sustainable throughput (benchmarks/latency_limit.py), found by short runs of
the same kind. The burst, told beside it, is what is committed while a producer sends as fast as it can and nobody reads.
Every group is compared with the producer's count.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from api.instance import up
from benchmarks import plot
from benchmarks.generator import KEYS, UNIFORM
from benchmarks.latency_bench import Bench
from benchmarks.latency_figures import Found, Load
from benchmarks.latency_limit import Limit, search
from benchmarks.machine import command, machine
from mars import config as configuration

TITLE = "From an event's making, and from a window's end, to a reader"
TRY_S = 10.0
FIRST_SHARE = 0.5  # of the burst: the rate that the search begins with


def describe(found: Found) -> str:
    """The figures for people."""
    load = found.load
    spreads = [("freshness", found.freshness), ("window closed", found.window_closed),
               ("tuple closed", found.tuple_closed), ("sent late by", found.producer)]
    cores = "  ".join(f"{part} {used:.2f}" for part, used in found.cores.items())
    verdict = "EXACT" if found.exact else f"NOT EXACT: {found.difference}"
    held = "held" if found.trend.is_held else "NOT HELD"
    return "\n".join([f"{load.name}: {load.rate:,.0f} tuples/s with {load.keys} keys for {load.seconds:.0f} s, "
                      f"windows of {load.window_ms} ms; {held}; {verdict}",
                      *(f"  {name:<14} ms  {spread.text()}" for name, spread in spreads),
                      f"  cores in use: {sum(found.cores.values()):.2f} ({cores})"])


def picture(found: list[Found]) -> str:
    """Bars of freshness and of closing for each load."""
    names = [f"{each.load.name.replace('_', ' ')} ({plot.number(each.load.rate)}/s)" for each in found]
    series: dict[str, Sequence[float]] = {f"{what} {of}": [getattr(getattr(each, key), of) for each in found]
              for what, key in (("fresh", "freshness"), ("closed", "window_closed")) for of in ("p50", "p99")}
    return plot.bars(TITLE, "ms", names, series)


def loads(shares: list[float], rates: list[float], limit: float, seconds: float, window_ms: int,
          keys: str = UNIFORM) -> list[Load]:
    """The loads that were asked for; shares are of `limit`."""
    wanted = [(f"share_{round(share * 100)}", share * limit) for share in shares]
    wanted += [(f"rate_{round(rate)}", rate) for rate in rates]
    return [Load(name, rate, seconds, window_ms, keys=keys) for name, rate in wanted]


def find_limit(bench: Bench) -> tuple[Limit, float]:
    """The limit, and the burst that its search began from."""
    burst = bench.burst()
    print(f"burst without readers: {burst:,.0f} tuples/s", flush=True)
    limit = search(lambda rate: bench.offer(rate, TRY_S), FIRST_SHARE * burst, say=lambda text: print(text, flush=True))
    print(f"limit: {limit.text()}", flush=True)
    return limit, burst


def measure(bench: Bench, loads: list[Load]) -> list[Found]:
    """Each load, told at once."""
    found = []
    for load in loads:
        found.append(bench.measure(load))
        print(describe(found[-1]), flush=True)
    return found


def main() -> None:
    """The benchmark; exit code 1 if any result is not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.latency", description=__doc__.splitlines()[0])
    parser.add_argument("--share", default="0.1,0.5,0.8", help="loads as shares of the limit, or nothing")
    parser.add_argument("--rate", default="40000", help="loads in tuples per second, or nothing")
    parser.add_argument("--limit", type=float, help="the limit, if it is known; else it is searched")
    parser.add_argument("--seconds", type=float, default=40.0, help="for each load")
    parser.add_argument("--warm", type=float, default=15.0, help="seconds before the first load that are not measured")
    parser.add_argument("--window-ms", type=int, default=1_000)
    parser.add_argument("--keys", choices=KEYS, default=UNIFORM, help="are all groups as frequent?")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    given = parser.parse_args()
    shares, rates = ([float(part) for part in text.split(",") if part] for text in (given.share, given.rate))
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder:
        config = configuration.load({"data": Path(folder)})
        run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
        try:
            with Bench(run, config, Path(folder), given.keys) as bench:
                if given.warm:
                    bench.warm(given.warm)
                limit, burst = find_limit(bench) if shares and not given.limit else (Limit(given.limit or 0.0, None), None)
                found = measure(bench, loads(shares, rates, limit.rate, given.seconds, given.window_ms, given.keys))
        finally:
            up.down(config.data)
    if given.json:
        answer = {"machine": machine(), "command": command(), "title": TITLE, "keys": given.keys, "limit": limit.json(),
                  "burst": burst, "loads": [each.json() for each in found]}
        given.json.write_text(json.dumps(answer, indent=1))
        given.json.with_suffix(".svg").write_text(picture(found))
    sys.exit(0 if all(each.exact for each in found) else 1)


if __name__ == "__main__":
    main()
