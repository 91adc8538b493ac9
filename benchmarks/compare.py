"""Two runs, or two checkouts, figure by figure.

`python -m benchmarks.compare A.json B.json` sets two runs of benchmarks.side_by_side beside each other.
`python -m benchmarks.compare --before DIR --turns 5 steady --rate 40000` runs a benchmark (throughput or steady, with its
own words) on the checkout in DIR and on this one, in alternating turns.

A difference counts only if the ranges of both runs' turns do not touch. Machines drift: runs are best compared that were
made on the same machine, shortly after each other or in turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from math import comb
from pathlib import Path

from benchmarks import turns
from benchmarks.generator import SKEWED
from benchmarks.side_by_side_table import by_contender, markdown, middle
from benchmarks.turns import Side

# What is compared, how it is told, and whether more is better.
FIGURES = (("tuples_per_s", "tuples/s", True), ("cpu_s_per_million", "CPU s per M tuples", False),
           ("peak_bytes", "peak bytes", False))
HEAD = ("contender", "figure", "A", "B", "B / A", "B is")


def compare(before: dict, after: dict) -> list[tuple[str, ...]]:
    """Rows under HEAD, for each contender that both runs have."""
    first, second = by_contender(before), by_contender(after)
    return [(name, *_row(first[name], second[name], *figure)) for name in first if name in second for figure in FIGURES]


def compare_turns(benchmark: str, before: list[dict], after: list[dict]) -> list[tuple[str, ...]]:
    """Rows under HEAD without the contender, for each figure that all turns of a benchmark have."""
    first, second = ([turns.figures(benchmark, answer) for answer in answers] for answers in (before, after))
    names = [name for name in first[0] if all(name in found for found in (*first, *second))]
    return [_row(first, second, name, name.replace("_", " "), name == turns.MORE_IS_BETTER) for name in names]


def warnings(before: dict, after: dict) -> list[str]:
    """Why the two may not be comparable."""
    told = [f"{what}: {before.get(what)} and {after.get(what)}" for what in ("tuples", "warm", "seed", "machine")
            if before.get(what) != after.get(what)]
    for label, document in (("A", before), ("B", after)):
        told += [f"{label}: an answer of {turn['contender']} was wrong" for turn in document["turns"]
                 if turn["exactness"]["wrong"]]
    keys = [document.get("keys", SKEWED) for document in (before, after)]  # earlier runs, which do not say it, had these
    return told + ([f"keys: {keys[0]} and {keys[1]}"] if keys[0] != keys[1] else [])


def _row(first: list[dict], second: list[dict], field: str, label: str, more_is_better: bool) -> tuple[str, ...]:
    a, b = middle(first, field), middle(second, field)
    return label, f"{a:,.3g}" if a < 1000 else f"{a:,.0f}", f"{b:,.3g}" if b < 1000 else f"{b:,.0f}", \
        f"{b / a:.2f}" if a else "-", _verdict([turn[field] for turn in first], [turn[field] for turn in second],
                                               more_is_better)


def _verdict(first: list[float], second: list[float], more_is_better: bool) -> str:
    if min(len(first), len(second)) < 2:
        return "one turn says nothing"
    if min(second) > max(first):
        return "better" if more_is_better else "worse"
    if max(second) < min(first):
        return "worse" if more_is_better else "better"
    return "not to be told apart"


def in_turns(before: Path, own: bool, count: int, benchmark: str, words: list[str]) -> str:
    """The table of a benchmark on the checkout in `before` and on this one."""
    with tempfile.TemporaryDirectory(prefix="mars-compare-") as name:
        sides = (Side.of("before", before, Path(name), own), Side.of("after", turns.ROOT, Path(name), own))
        found = turns.alternate(sides, benchmark, words, count, lambda text: print(text, file=sys.stderr, flush=True))
    return f"{markdown([HEAD[1:], *compare_turns(benchmark, *found)])}\n{chance(count)}"


def chance(count: int) -> str:
    """How much a verdict on so many turns of each says."""
    if count < 2:
        return "One turn of each says nothing."
    return f"Of figures that do not differ, 1 in {comb(2 * count, count) // 2:,} is told apart by chance."


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="benchmarks.compare", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="DIR", help="another checkout, to compare this one with")
    parser.add_argument("--turns", type=int, default=5, help="of each checkout")
    parser.add_argument("--own", action="store_true", help="each checkout with its own benchmarks")
    parser.add_argument("what", nargs=argparse.REMAINDER, metavar="A.json B.json | NAME [words]")
    given = parser.parse_args()
    if given.before:
        if not given.what or given.what[0] not in turns.FIGURES:
            parser.error(f"--before wants the name of a benchmark: {' or '.join(turns.FIGURES)}")
        print(in_turns(given.before, given.own, given.turns, given.what[0], given.what[1:]))
        return
    if len(given.what) != 2:
        parser.error("two files are compared, A.json and B.json")
    before, after = (json.loads(Path(file).read_text()) for file in given.what)
    for warning in warnings(before, after):
        print(f"note: {warning}")
    print(markdown([HEAD, *compare(before, after)]))


if __name__ == "__main__":
    main()
