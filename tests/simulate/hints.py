"""Seeds that showed something when it was last looked for: where a test looks first. `python -m tests.simulate --hints`
looks anew and writes them down; any change of the code may move them, so a test that finds nothing there goes on looking.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.simulate.hunt import first_broken, is_shown
from tests.simulate.reach import reached
from tests.simulate.run import run
from tests.simulate.unreached import SEEDS_MAX, missing

FILE = Path(__file__).with_name("hints.json")
TRIES = 1500  # seeds for each planted bug


def known() -> dict:
    """`bugs`: by planted bug a seed that shows it. `reach`: seeds that together call what workers do."""
    return json.loads(FILE.read_text()) if FILE.exists() else {"bugs": {}, "reach": []}


def seed_showing(bug: str) -> int | None:
    """A seed that shows the bug and holds without it: the known one, or the first one of TRIES; None if there is none."""
    hint = known()["bugs"].get(bug)
    if hint is not None and is_shown(run(hint, bug=bug)) and run(hint).broken is None:
        return hint
    return first_broken(bug, 0, TRIES)


def write(bugs: Iterable[str]) -> None:
    """Look for both anew, with the known seeds first."""
    names = sorted(bugs)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        found = dict(zip(names, pool.map(seed_showing, names), strict=True))
    kept: list[int] = []
    seen: set[str] = set()
    for seed in [*known()["reach"], *range(SEEDS_MAX)]:
        left = missing(seen)
        if not left:
            break
        more = seen | reached([seed])
        if len(missing(more)) < len(left):
            kept.append(seed)
            seen = more
    FILE.write_text(json.dumps({"bugs": {name: seed for name, seed in found.items() if seed is not None}, "reach": kept},
                               indent=1) + "\n")
