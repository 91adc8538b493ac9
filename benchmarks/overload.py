"""What happens when there is more load than the machine holds, and when Mars is stopped under load.

`python -m benchmarks.overload` starts an instance with a broker of its own and measures
  limits    how many tuples a second 1, 50 and 200 different queries on one stream take of a producer that sends all it can;
  twice     --queries queries, and for --minutes a producer at twice what they can read: memory of each part, how far
            they get behind, how long until everything is read; one more query, which keeps all windows open, must stop
            itself at its limit of GROUPS_MAX groups;
  restart   at half of what they can read, `mars down` and `mars up`: how long each takes, when work goes on.
The answers of all queries are compared with the count that was made while the tuples were made.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import overload_table
from benchmarks.generator import UNIFORM
from benchmarks.machine import command, machine
from benchmarks.overload_figures import Growth, behind_most, growths
from benchmarks.overload_queries import shapes
from benchmarks.overload_run import Loaded, started, watch
from benchmarks.side_by_side import need_room

TITLE = "Load and limits"
EVENT_RATE = 5_000
EVENT_SPEED = 5  # seconds of event time in a second, so that the longest windows close soon
RESTART_S, RESTART_SHARE = 60.0, 0.5
GREEDY_TUPLES = 20  # for each group that a query may have, before one must have had too many


@dataclass(frozen=True)
class Limit:
    """How `queries` queries took `tuples` tuples. The rate is that of the last two thirds."""

    queries: int
    created_s: float
    tuples: int
    tuples_per_s: int
    memory_mb: dict[str, float]
    wrong: list[str]


@dataclass(frozen=True)
class Twice:
    """How `queries` queries did while `rate` tuples a second were produced, for `seconds`; what became of the one that
    holds too much, if it was there."""

    queries: int
    rate: int
    seconds: float
    tuples: int
    growths: list[Growth]
    behind_most: int
    read_after_s: float
    memory_after_mb: dict[str, float]
    wrong: list[str]
    greedy: str = ""


@dataclass(frozen=True)
class Restart:
    """How stop and start went while `rate` tuples a second were produced. `resumed_s` runs from the start of `mars up`
    until the first new commit, `caught_up_s` until nothing waits any more."""

    rate: int
    down_s: float
    up_s: float
    resumed_s: float
    caught_up_s: float
    wrong: list[str]


def limit(loaded: Loaded, queries: int, tuples: int) -> Limit:
    """Let a producer send all it can, beside the queries or, where they are slower, before them."""
    name, wanted = f"limit{queries}", shapes(queries)
    began = time.monotonic()
    with loaded.queries(name, wanted) as names:
        created_s = time.monotonic() - began
        with loaded.produce(name, tuples, EVENT_RATE) as producer:
            def reached(share: float) -> tuple[int, float]:
                return loaded.await_tuples(names[0], lambda: share * tuples), time.monotonic()

            marks = [reached(1 / 3), reached(1)]
            producer.wait()
        for query in names:
            loaded.await_tuples(query, lambda: tuples)
        (first, began), (last, ended) = marks
        return Limit(queries, round(created_s, 2), tuples, round((last - first) / (ended - began)), loaded.memory_mb(),
                       loaded.wrong(name, names, wanted))


def twice(loaded: Loaded, queries: int, rate: float, seconds: float) -> Twice:
    """Produce more than can be read, then wait until all is read."""
    wanted = shapes(queries)
    tuples = round(rate * seconds)
    need_room(loaded.folder, tuples, copies=1.1)
    is_enough = loaded.groups_max is not None and tuples > GREEDY_TUPLES * loaded.groups_max
    with (loaded.queries("twice", wanted) as names, loaded.greedy("twice", is_enough) as greedy,
          loaded.produce("twice", tuples, rate / EVENT_SPEED, rate) as producer):
        samples, ended_s, read_s = watch(loaded, names[0], producer, seconds, tuples)
        producer.wait()
        for query in names:
            loaded.await_tuples(query, lambda: tuples)
        wrong, fate = loaded.wrong("twice", names, wanted), loaded.fate(greedy)
        if is_enough and not fate.startswith("LIMIT_EXCEEDED"):
            wrong.append(f"{greedy}: {fate}")
        return Twice(queries, round(rate), round(ended_s, 1), tuples, growths(samples, ended_s), behind_most(samples),
                     round(read_s - ended_s, 1), loaded.memory_mb(), wrong, fate)


def restart(loaded: Loaded, queries: int, rate: float, seconds: float) -> Restart:
    """Stop and start while tuples go on coming."""
    wanted = shapes(queries)
    tuples = round(rate * seconds)
    with loaded.queries("restart", wanted) as names, loaded.produce("restart", tuples, rate / EVENT_SPEED, rate) as producer:
        producer.begun.wait()
        time.sleep(seconds / 3)
        at = [time.monotonic()]
        loaded.down()
        at.append(time.monotonic())
        loaded.up()
        at.append(time.monotonic())
        before = loaded.committed(names[0])
        loaded.await_tuples(names[0], lambda: before + 1)
        at.append(time.monotonic())
        loaded.await_tuples(names[0], lambda: producer.sent - rate)
        at.append(time.monotonic())
        producer.wait()
        for query in names:
            loaded.await_tuples(query, lambda: tuples)
        down_s, up_s, resumed_s, caught_up_s = (round(at[to] - at[frm], 2) for frm, to in ((0, 1), (1, 2), (1, 3), (1, 4)))
        return Restart(round(rate), down_s, up_s, resumed_s, caught_up_s, loaded.wrong("restart", names, wanted))


def measure(folder: Path, counts: list[int], tuples: int, queries: int, seconds: float) -> dict:
    """All three, one after the other, in one instance; each is told at once."""
    def told(found: Limit | Twice | Restart) -> dict:
        print(found, file=sys.stderr, flush=True)
        return asdict(found)

    with started(folder) as loaded:
        limits = [told(limit(loaded, count, tuples)) for count in sorted({*counts, queries})]
        rate = next(found["tuples_per_s"] for found in limits if found["queries"] == queries)
        return {"limits": limits, "twice": told(twice(loaded, queries, 2 * rate, seconds)),
                "restart": told(restart(loaded, queries, RESTART_SHARE * rate, min(seconds, RESTART_S)))}


def main() -> None:
    """The benchmark; exit code 1 if any answer is not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.overload", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the load lasts")
    parser.add_argument("--queries", type=int, default=50, help="queries under twice the load; more of them read less")
    parser.add_argument("--counts", default="1,50,200", help="how many queries, for the limits")
    parser.add_argument("--tuples", type=int, default=3_000_000, help="tuples for each limit")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started must be stopped
    with tempfile.TemporaryDirectory(prefix="mars-overload-", dir=given.folder) as folder:
        found = measure(Path(folder), [int(count) for count in given.counts.split(",")], given.tuples, given.queries,
                        60 * given.minutes)
    answer = {"title": TITLE, "command": command(), "machine": machine(), "keys": UNIFORM, **found}
    if given.json:
        given.json.write_text(json.dumps(answer, indent=1) + "\n")
    print("\n".join(overload_table.figure(answer)))
    wrong = [line for part in (*found["limits"], found["twice"], found["restart"]) for line in part["wrong"]]
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
