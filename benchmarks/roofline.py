"""What each step must cost at least on this machine, what it does cost, and where the largest gap is.

`python -m benchmarks.roofline` starts Kafka, Redis and ZooKeeper alone, and runs every step of the way by itself, on
claims of 100,000 of the paper's tuples. A floor is measured too: a minimal program that does only what cannot be left
out, on the plain case, with no check but the checksum (benchmarks/floors.py). Costs are CPU time, of clients and servers
apart; the broker, Redis and ZooKeeper run on the same cores, so all of it counts. The sums give the tuples per second
that two cores could do if nothing waited for anything.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from api.instance.services import Services, start_all
from benchmarks import roofline_mapper, roofline_reducer
from benchmarks.generator import UNIFORM
from benchmarks.machine import command, machine
from benchmarks.steps import BATCH, BATCHES, Step, least_ms
from mars import config as configuration

CORES = 2


def measure(services: Services, folder: Path, batches: int = BATCHES) -> list[Step]:
    """All steps in the order of the way."""
    mapper = roofline_mapper.Steps(services, folder, batches)
    return mapper.all() + roofline_reducer.Steps(services, folder, mapper).all()


def copied_gb_per_s() -> float:
    """How fast memory that is in no cache is copied."""
    source = np.ones(64 << 20, np.uint8)
    target = np.empty_like(source)
    return len(source) / least_ms(lambda: np.copyto(target, source)) / 1e6


def describe(steps: list[Step]) -> str:
    """The table, its sums, and the largest gap."""
    lines = [f"CPU ms per {BATCH:,} tuples", f"{'step':<28}{'floor':>8}{'cost':>8}{'ratio':>7}{'gap':>8}   the floor"]
    lines += [f"{step.name:<28}{step.floor_ms:>8.2f}{step.cost_ms:>8.2f}{step.ratio:>7}"
              f"{step.gap_ms:>8.2f}   {step.what}" for step in steps]
    floor, cost = sum(step.floor_ms for step in steps), sum(step.cost_ms for step in steps)
    lines.append(f"{'all':<28}{floor:>8.2f}{cost:>8.2f}{cost / floor:>7.1f}{cost - floor:>8.2f}")
    lines.append(f"CPU s per M tuples: {floor / BATCH * 1e3:.3f} at least, {cost / BATCH * 1e3:.3f} now; {CORES} cores "
                 f"full: {rate(floor):.1f} M tuples/s at most, {rate(cost):.1f} now")
    worst = max(steps, key=lambda step: step.gap_ms)
    lines.append(f"largest gap: {worst.name}, {worst.gap_ms:.2f} ms, {worst.gap_ms / cost:.0%} of all")
    return "\n".join(lines)


def rate(ms: float) -> float:
    """M tuples per second that CORES cores do at this cost."""
    return CORES * 1e3 / ms * BATCH / 1e6


def main() -> None:
    """The benchmark."""
    parser = argparse.ArgumentParser(prog="benchmarks.roofline", description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as name:
        folder = Path(name)
        services = start_all(configuration.load({"data": folder}), folder)
        try:
            steps = measure(services, folder)
        finally:
            services.stop()
    print(f"memory is copied at {copied_gb_per_s():.1f} GB/s; {describe(steps)}")
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(), "command": command(), "batch": BATCH, "keys": UNIFORM,
                                          "steps": [asdict(s) for s in steps]}, indent=1))


if __name__ == "__main__":
    main()
