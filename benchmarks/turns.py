"""A benchmark on two checkouts in alternating turns: both have the same tuples and clocks, those of this checkout.

A turn is a process of its own, which takes `benchmarks` from here and all else from the checkout. Where another checkout's
code has changed too far for that, its own benchmarks can be taken; then they must measure the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mars.errors import ConfigurationError, MarsError

ROOT = Path(__file__).resolve().parents[1]
# What is compared of each benchmark's JSON: a figure, or figures by part.
FIGURES = {"throughput": ("tuples_per_s", "cpu_s_per_million", "peak_megabytes"), "steady": ("idle", "loaded", "freshness")}
BROKER, MORE_IS_BETTER = "kafka", "tuples_per_s"
SUMMED = "cpu_s_per_million"


@dataclass(frozen=True)
class Side:
    """A checkout, as turns see it: `place` has the benchmarks that are taken."""

    label: str
    checkout: Path
    place: Path

    @staticmethod
    def of(label: str, checkout: Path, folder: Path, own: bool) -> Side:
        """With its own benchmarks, or with those from here, which get a folder of theirs. Raises ConfigurationError if
        Python would not take Mars from there."""
        place = checkout.resolve() if own else folder / label
        if not own:
            place.mkdir()
            (place / "benchmarks").symlink_to(ROOT / "benchmarks")
        side = Side(label, checkout.resolve(), place)
        found = side.run("-c", "import mars; print(mars.__file__)").stdout.strip()
        if not found or not Path(found).resolve().is_relative_to(side.checkout):
            raise ConfigurationError(f"{checkout} is no checkout of Mars", f"Python finds {found or 'no mars'}")
        return side

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Python with these words."""
        path = os.pathsep.join(map(str, dict.fromkeys((self.place, self.checkout))))
        return subprocess.run([sys.executable, *words], cwd=self.place, env={**os.environ, "PYTHONPATH": path},
                              stdout=subprocess.PIPE, text=True)


def alternate(sides: tuple[Side, Side], benchmark: str, words: list[str], turns: int,
              say: Callable[[str], None] = lambda text: None) -> tuple[list[dict], list[dict]]:
    """What each turn of either side gave. The one that begins changes, so that a drift of the machine favours none. Raises
    MarsError if a turn fails or is not exact."""
    found: dict[str, list[dict]] = {side.label: [] for side in sides}
    for side in order(sides, turns):
        done = side.run("-m", f"benchmarks.{benchmark}", *words, "--json")
        if done.returncode:
            raise MarsError(f"A turn of {side.label} failed", f"exit code {done.returncode}: {done.stdout.strip()}")
        found[side.label].append(json.loads(done.stdout))
        say(f"{side.label} {len(found[side.label])} of {turns}: {figures(benchmark, found[side.label][-1])}")
    return found[sides[0].label], found[sides[1].label]


def order(sides: tuple[Side, Side], turns: int) -> Iterator[Side]:
    """A, B, B, A, A, B ..."""
    for turn in range(turns):
        yield from sides if turn % 2 == 0 else sides[::-1]


def figures(benchmark: str, answer: dict) -> dict[str, float]:
    """The numbers of one turn that are compared, by name."""
    found: dict[str, float] = {}
    for name in FIGURES[benchmark]:
        value = answer[name]
        if not isinstance(value, dict):
            found[name] = value
            continue
        found |= {f"{name} {part}": number for part, number in value.items()}
        if name == SUMMED:
            found[f"{name} all but {BROKER}"] = round(sum(cpu for part, cpu in value.items() if part != BROKER), 3)
    return found
