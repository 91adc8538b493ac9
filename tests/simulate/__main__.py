"""`python -m tests.simulate SEED [--rounds N] [--bug NAME]` replays one run, `--seeds A..B` runs many, `--campaign` runs
seeds for hours from where the last campaign stopped, `--hints` looks for seeds that show planted bugs, `--report` writes the
campaigns' totals into docs/reliability.md."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter

import click

from tests.simulate import campaign as campaigns
from tests.simulate import hints as hints_file
from tests.simulate import hunt as hunts
from tests.simulate.bugs import BUGS, RARE
from tests.simulate.run import ROUNDS, run


@click.command()
@click.argument("seed", type=int, required=False)
@click.option("--seeds", help="A..B: every seed from A to B")
@click.option("--rounds", default=ROUNDS, show_default=True, help="how many things happen before everything heals")
@click.option("--bug", default="", type=click.Choice(["", *BUGS]), help="a planted bug")
@click.option("--campaign", is_flag=True, help="seeds that no campaign has had; end it when you like")
@click.option("--hours", default=1.0, show_default=True, help="how long the campaign lasts")
@click.option("--jobs", default=1, show_default=True, help="how many processes it has")
@click.option("--hunt", type=int, help="how many seeds each planted bug takes, at most so many")
@click.option("--hints", is_flag=True, help="look anew for seeds that show what the tests want to see, and keep them")
@click.option("--report", is_flag=True, help="write the totals of all campaigns into docs/reliability.md")
def main(seed: int | None, seeds: str | None, rounds: int, bug: str, campaign: bool, hours: float, jobs: int,
         hunt: int | None, hints: bool, report: bool) -> None:
    """Deterministic runs of the real mappers, reducers and leaders. Exit code 1 if an invariant was broken."""
    if sum((seed is not None, seeds is not None, campaign, hunt is not None, hints, report)) != 1:
        raise click.UsageError("give a seed, or --seeds A..B, or --campaign, or --hunt N, or --hints, or --report")
    if report:
        print(campaigns.report())
    elif hints:
        hints_file.write([bug for bug in BUGS if bug not in RARE])
    elif hunt is not None:
        hunts.hunt([bug] if bug else BUGS, hunt, 3)
    elif campaign:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        sys.exit(1 if campaigns.campaign(hours, jobs).broken else 0)
    else:
        first, last = map(int, seeds.split("..")) if seeds else (seed, seed)
        sys.exit(1 if many(range(first, last + 1), rounds, bug) else 0)


def many(seeds: range, rounds: int, bug: str) -> list[int]:
    """The seeds that are broken, after telling their stories, and that of a single seed in any case."""
    began, broken, steps, simulated, faults = time.process_time(), [], 0, 0.0, Counter()
    for seed in seeds:
        result = run(seed, rounds, bug)
        steps, simulated = steps + result.steps, simulated + result.virtual_s
        faults.update(result.faults)
        if result.broken:
            broken.append(seed)
        if result.broken or len(seeds) == 1:
            print(result, flush=True)
    seconds = time.process_time() - began
    print(f"{len(seeds)} seeds, {steps} steps, {simulated:.0f} s simulated in {seconds:.1f} s of the processor "
          f"({len(seeds) / seconds:.1f} seeds/s); broken: {broken or 'none'}")
    print(", ".join(f"{count} x {kind}" for kind, count in sorted(faults.items())))
    return broken


if __name__ == "__main__":
    main()
