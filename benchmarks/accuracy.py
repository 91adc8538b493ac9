"""Are the sums right when nodes are cut off? Table 1 of the paper: tuples lost, tuples doubled, and what recovery takes.

`python -m benchmarks.accuracy` gives each system a cluster of three nodes in turn. A producer fills a topic of its own at
a fixed rate; three times, another node is cut off (benchmarks/clusters/node.py says how) for longer than the system needs
to notice, and brought back, the last one when the last tuple is made. Every group is then compared with the count
that was made while the tuples were made.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks import accuracy_table
from benchmarks.accuracy_run import Plan, Say, Turn, turn
from benchmarks.clusters import packets
from benchmarks.clusters.entrants import CLUSTERS, Cluster, chosen
from benchmarks.clusters.node import NETWORK, PAUSE, WAYS
from benchmarks.generator import UNIFORM
from benchmarks.machine import command, machine
from benchmarks.side_by_side import need_room
from mars import config as configuration
from mars.errors import MarsError


def run(clusters: list[Cluster], plan: Plan, seed: int, folder: Path,
        say: Say = lambda text: None) -> tuple[list[Turn], dict[str, str]]:
    """All turns, and why a system is missing; the folder is left without running processes."""
    need_room(folder, plan.tuples)
    config = configuration.load({"data": folder / "broker"}, environment={})
    turns, left_out = [], {}
    for cluster in clusters:
        place = folder / cluster.name
        try:
            cluster.prepare(config)
            turns.append(turn(cluster, plan.slowed(cluster.rate_max), seed, place, say))
            say(f"{cluster.name:<8} {turns[-1].exactness}; {turns[-1].cuts}; all read after {turns[-1].all_read_s} s")
        except (MarsError, OSError, subprocess.SubprocessError) as error:
            left_out[cluster.name] = str(error)
            say(f"{cluster.name} failed: {error}")
        shutil.rmtree(place, ignore_errors=True)
    return turns, left_out


def main() -> None:
    """The benchmark; exit code 1 if a system that promises exactly once is not exact, or if one is missing."""
    parser = argparse.ArgumentParser(prog="benchmarks.accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--tuples", type=int, default=40_000_000)
    parser.add_argument("--rate", type=int, default=250_000, help="tuples a second; slower systems get theirs, and fewer")
    parser.add_argument("--cuts", type=int, default=3, choices=range(1, 4), help="nodes that are cut off, one by one")
    parser.add_argument("--cut-seconds", type=float, default=20.0, help="how long each is away")
    parser.add_argument("--way", choices=WAYS, help="how; the default is network where that can be had, else pause")
    parser.add_argument("--only", default="", help=f"some of {','.join(CLUSTERS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started must be stopped
    plan = Plan(given.tuples, given.rate, given.cuts, given.cut_seconds,
                given.way or (PAUSE if packets.why_not() else NETWORK))
    if plan.starts_s()[0] <= 0:
        parser.error("the cuts take longer than the tuples: give more --tuples, a smaller --rate or shorter cuts")
    try:
        clusters = chosen([name for name in given.only.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory(prefix="mars-accuracy-", dir=given.folder) as folder:
        turns, left_out = run(clusters, plan, given.seed, Path(folder),
                              lambda text: print(text, file=sys.stderr, flush=True))
    about = {cluster.name: {"title": cluster.title, "guarantee": cluster.guarantee} for cluster in clusters}
    answer = {"title": accuracy_table.TITLE, "command": command(), **asdict(plan), "keys": UNIFORM, "machine": machine(),
              "contenders": about, "turns": [asdict(turn) for turn in turns], "left_out": left_out}
    if given.json:
        given.json.write_text(json.dumps(answer, indent=1) + "\n")
    print("\n".join(accuracy_table.figure(answer)))
    promised = {cluster.name for cluster in clusters if cluster.guarantee == "exactly once"}
    sys.exit(1 if left_out or any(turn.contender in promised and not turn.exactness.exact for turn in turns) else 0)


if __name__ == "__main__":
    main()
