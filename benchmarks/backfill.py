"""How fresh a live query stays beside a backfill of the same stream.

`python -m benchmarks.backfill` starts an instance of its own, fills a topic with old tuples, and runs a live query
(FROM LATEST) over what a producer adds at a steady rate. Then a second query reads the topic from its beginning. At
given shares of that backfill the live query is paused and resumed, another live query is created, and Redis is emptied,
which forces a recovery. Freshness is that of benchmarks.latency: from the making of a tuple until it counts in a result
that a client has read. It is told for the tuples that were made in each phase; those that were made while the query was
paused have waited for its resumption. All answers are compared with the producers' counts.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from api.instance import up
from api.instance.runfile import Run
from benchmarks.backfill_figures import Fresh
from benchmarks.backfill_run import Scene
from benchmarks.generator import UNIFORM
from benchmarks.machine import command, machine
from benchmarks.side_by_side import need_room
from mars import config as configuration
from mars.config import Config

TITLE = "A live query beside a backfill"


@dataclass(frozen=True)
class Found:
    """What a run gave: `seconds` is the backfill's time; `along` has freshness by the second of making; `wrong` is empty if
    all answers are exact."""

    tuples: int
    rate: float
    seconds: float
    fresh: list[Fresh]
    along: dict[str, list]
    wrong: list[str]

    @property
    def tuples_per_s(self) -> float:
        return self.tuples / self.seconds

    def json(self) -> dict:
        """As it is written to a file."""
        return {**vars(self), "fresh": [each.json() for each in self.fresh], "tuples_per_s": round(self.tuples_per_s)}


def measure(run: Run, config: Config, folder: Path, tuples: int, rate: float, warm_s: float, alone_s: float) -> Found:
    """One run on an instance that is up."""
    with Scene(run, config, folder, tuples, rate) as scene:
        seconds = scene.play(warm_s, alone_s)
        fresh, along = scene.fresh()
        return Found(tuples, rate, round(seconds, 2), fresh, along, scene.wrong())


def describe(found: Found) -> str:
    """The figures for people."""
    verdict = "EXACT" if not found.wrong else f"NOT EXACT: {'; '.join(found.wrong)}"
    return "\n".join([f"{'freshness of tuples made in':<34} {'done':>5} {'for':>9}  query   ms",
                      *(each.text() for each in found.fresh),
                      f"backfill: {found.tuples:,} tuples in {found.seconds:.1f} s, "
                      f"{found.tuples_per_s / 1e6:.2f} M tuples/s, beside {found.rate:,.0f} new ones a second; "
                      f"all answers: {verdict}"])


def main() -> None:
    """The benchmark; exit code 1 if an answer is not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.backfill", description=__doc__.splitlines()[0])
    parser.add_argument("--tuples", type=int, default=30_000_000, help="old tuples")
    parser.add_argument("--rate", type=float, default=40_000, help="new tuples per second")
    parser.add_argument("--warm", type=float, default=30.0, help="seconds before all that are not told")
    parser.add_argument("--alone", type=float, default=10.0, help="seconds without a backfill, before it and after it")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started must be stopped
    with tempfile.TemporaryDirectory(prefix="mars-backfill-", dir=given.folder) as folder:
        need_room(Path(folder), given.tuples)
        config = configuration.load({"data": Path(folder) / "mars"})
        run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
        try:
            found = measure(run, config, Path(folder), given.tuples, given.rate, given.warm, given.alone)
        finally:
            up.down(config.data)
    if given.json:
        given.json.write_text(json.dumps({"title": TITLE, "command": command(), "machine": machine(), "keys": UNIFORM,
                                          **found.json()}, indent=1) + "\n")
    print(describe(found))
    sys.exit(1 if found.wrong else 0)


if __name__ == "__main__":
    main()
