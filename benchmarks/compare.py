"""`python -m benchmarks.compare A.json B.json`: two runs of benchmarks.side_by_side, figure by figure.

A difference counts only if the ranges of both runs' turns do not touch. Machines drift: a run is best compared with one
that was made on the same machine shortly before.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.side_by_side_table import by_contender, markdown, middle

# What is compared, how it is told, and whether more is better.
FIGURES = (("tuples_per_s", "tuples/s", True), ("cpu_s_per_million", "CPU s per M tuples", False),
           ("peak_bytes", "peak bytes", False))
HEAD = ("contender", "figure", "A", "B", "B / A", "B is")


def compare(before: dict, after: dict) -> list[tuple[str, ...]]:
    """Rows under HEAD, for each contender that both runs have."""
    first, second = by_contender(before), by_contender(after)
    return [_row(name, first[name], second[name], *figure) for name in first if name in second for figure in FIGURES]


def warnings(before: dict, after: dict) -> list[str]:
    """Why the two may not be comparable."""
    told = [f"{what}: {before.get(what)} and {after.get(what)}" for what in ("tuples", "warm", "seed", "machine")
            if before.get(what) != after.get(what)]
    for label, document in (("A", before), ("B", after)):
        told += [f"{label}: an answer of {turn['contender']} was wrong" for turn in document["turns"]
                 if turn["exactness"]["wrong"]]
    return told


def _row(name: str, first: list[dict], second: list[dict], field: str, label: str, more_is_better: bool) -> tuple[str, ...]:
    a, b = middle(first, field), middle(second, field)
    return name, label, f"{a:,.3g}" if a < 1000 else f"{a:,.0f}", f"{b:,.3g}" if b < 1000 else f"{b:,.0f}", \
        f"{b / a:.2f}", _verdict([turn[field] for turn in first], [turn[field] for turn in second], more_is_better)


def _verdict(first: list[float], second: list[float], more_is_better: bool) -> str:
    if min(len(first), len(second)) < 2:
        return "one turn says nothing"
    if min(second) > max(first):
        return "better" if more_is_better else "worse"
    if max(second) < min(first):
        return "worse" if more_is_better else "better"
    return "not to be told apart"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="benchmarks.compare", description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, metavar="A.json")
    parser.add_argument("after", type=Path, metavar="B.json")
    given = parser.parse_args()
    before, after = (json.loads(file.read_text()) for file in (given.before, given.after))
    for warning in warnings(before, after):
        print(f"note: {warning}")
    print(markdown([HEAD, *compare(before, after)]))


if __name__ == "__main__":
    main()
