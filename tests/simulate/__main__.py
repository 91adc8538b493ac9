"""`python -m tests.simulate SEED [--rounds N] [--bug NAME]` replays one run, `--seeds A..B` runs many."""

from __future__ import annotations

import sys
import time
from collections import Counter

import click

from tests.simulate.bugs import BUGS
from tests.simulate.run import ROUNDS, run


@click.command()
@click.argument("seed", type=int, required=False)
@click.option("--seeds", help="A..B: every seed from A to B")
@click.option("--rounds", default=ROUNDS, show_default=True, help="how many things happen before everything heals")
@click.option("--bug", default="", type=click.Choice(["", *BUGS]), help="a planted bug")
def main(seed: int | None, seeds: str | None, rounds: int, bug: str) -> None:
    """Deterministic runs of the real mappers, reducers and leaders. Exit code 1 if an invariant was broken."""
    if (seed is None) == (seeds is None):
        raise click.UsageError("give a seed, or --seeds A..B")
    first, last = map(int, seeds.split("..")) if seeds else (seed, seed)
    began, broken, steps, simulated, faults = time.perf_counter(), [], 0, 0.0, Counter()
    for number in range(first, last + 1):
        result = run(number, rounds, bug)
        steps, simulated, faults = steps + result.steps, simulated + result.virtual_s, faults + result.faults
        if result.broken:
            broken.append(number)
        if result.broken or seed is not None:
            print(result, flush=True)
    seconds = time.perf_counter() - began
    print(f"{last - first + 1} seeds, {steps} steps, {simulated:.0f} s simulated in {seconds:.1f} s "
          f"({(last - first + 1) / seconds:.1f} seeds/s); broken: {broken or 'none'}")
    print(", ".join(f"{count} x {kind}" for kind, count in sorted(faults.items())))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
