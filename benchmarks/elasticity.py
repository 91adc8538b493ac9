"""The load laboratory of scaling: curves of load, replayed against the rules under a simulated clock.

`python -m benchmarks.elasticity` compares, for each curve, worker-seconds and the share of the time within the latency goal
of Mars's rules, of a reactive scaler, of fixed numbers for the mean and for the peak, and of the least plan. The first
days teach the forecasts; the last one counts. No service runs, and no clock is waited for.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.elasticity_curves import CURVES, DAY_S, Rates, curve
from benchmarks.elasticity_least import Least, least
from benchmarks.elasticity_plant import KINDS, SPEEDS, Figures, Plant, figures, fixed_for
from benchmarks.elasticity_scalers import Fixed, Predictive, Reactive, Scaler
from benchmarks.side_by_side_table import markdown

PERIOD_S = 60
GOAL_WITHIN, GOAL_COST, GOAL_CHANGES = 0.95, 1.25, 2
NAMES = ("predictive", "reactive", "fixed for the mean", "fixed for the peak")


def run(rates: Rates, name: str, days: int) -> Figures:
    """One scaler over the curve; the figures are those of the last day."""
    last = rates[-DAY_S:]
    scalers: dict[str, Scaler] = {"predictive": Predictive(DAY_S // PERIOD_S if days > 1 else 1), "reactive": Reactive()}
    rate = float(last.max()) if name.endswith("peak") else float(last.mean())
    plant = Plant(len(rates), fixed_for(rates, rate if name.startswith("fixed") else float(rates[:PERIOD_S].mean())))
    scaler, first, changes = scalers.get(name, Fixed()), len(rates) - DAY_S, 0
    for second, arrived in enumerate(rates.tolist()):
        if second == first:
            changes = plant.changes
        plant.second(arrived)
        scaler.second(plant, arrived)
    return figures(plant, first, changes)


def is_met(found: Figures, bound: Least) -> bool:
    """Is the goal met: on time, at a cost near the least (and one worker of each kind), with few changes?"""
    return (found.within >= GOAL_WITHIN and found.worker_s <= GOAL_COST * bound.worker_s + len(KINDS) * DAY_S
            and found.changes <= GOAL_CHANGES * max(bound.changes, 1))


def table(results: dict[str, dict]) -> str:
    """All figures in Markdown."""
    lines: list[tuple[str, ...]] = [("load", "workers by", "worker-hours", "of the least", "within the goal", "mean wait, s",
                                     "95 %, s", "changes")]
    for name, result in results.items():
        bound = Least(**result["least"])
        lines.append((name, "least plan", f"{bound.worker_s / 3600:.0f}", "1.00", "100.0 %", "", "", f"{bound.changes}"))
        for scaler, found in ((scaler, Figures(**found)) for scaler, found in result["scalers"].items()):
            lines.append(("", scaler, f"{found.worker_s / 3600:.0f}", f"{found.worker_s / bound.worker_s:.2f}",
                          f"{found.within:.1%}".replace("%", " %"), f"{found.mean_s:.2f}", f"{found.p95_s:.1f}",
                          f"{found.changes}"))
    return markdown(lines)


def main(arguments: list[str] | None = None) -> None:
    """Print the table; exit code 1 if the rules miss the goal on a curve."""
    parser = argparse.ArgumentParser(prog="benchmarks.elasticity", description=__doc__)
    parser.add_argument("--only", help="names of curves, separated by commas")
    parser.add_argument("--days", type=int, default=3, help="of which the last one counts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args(arguments)
    results, missed = {}, []
    for name in given.only.split(",") if given.only else CURVES:
        rates = curve(name, given.days, given.seed)
        bound = least(rates[-DAY_S:])
        found = {scaler: run(rates, scaler, given.days) for scaler in NAMES}
        results[name] = {"least": asdict(bound), "scalers": {scaler: asdict(one) for scaler, one in found.items()}}
        if not is_met(found["predictive"], bound):
            missed.append(name)
    print(f"a worker does {', '.join(f'{speed:,.0f}/s ({kind})' for kind, speed in SPEEDS.items())}; seed {given.seed}\n")
    print(table(results))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))
    if missed:
        print(f"the goal is missed on: {', '.join(missed)}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
