"""How soon planted bugs are found: the figure of merit of faults and of their mixture."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from tests.simulate.bugs import OF_CHANGES, OF_LATE, OF_TIMEOUT
from tests.simulate.run import CHANGING, OTHERS, ROUNDS, TURNS, Run, run

# How the end of a worker by a mistake in the code reads, as of a planted bug whose patch does not fit any more.
MISTAKE = re.compile(r"^Broken: I9: \S+ ended by "
                     r"(TypeError|AttributeError|KeyError|IndexError|NameError|UnboundLocalError|ImportError)\(")


def is_shown(result: Run) -> bool:
    """Does an invariant show the bug? A mistake in the code that plants it breaks a run too, and shows nothing."""
    return result.broken is not None and not MISTAKE.match(result.broken)


def first_broken(bug: str, first: int, most: int, rounds: int = ROUNDS) -> int | None:
    """The first of `most` seeds from `first` on that shows the bug by an invariant, and holds without it. Only those are
    tried that can show it: with rows that change, with windows that the clock closes, with late tuples that are kept, or
    without rows that change."""
    turns = set(CHANGING if bug in OF_CHANGES else OTHERS if bug in OF_LATE else range(TURNS))
    turns = {11} if bug in OF_TIMEOUT else turns if bug in OF_CHANGES else turns - CHANGING.keys()
    return next((seed for seed in range(first, first + most)
                 if seed % TURNS in turns
                 and is_shown(run(seed, rounds, bug)) and run(seed, rounds).broken is None), None)


def hunt(bugs: Iterable[str], most: int, times: int) -> dict[str, list[int | None]]:
    """For each bug how many seeds it took, `times` over with other seeds; None where `most` did not show it. Prints them,
    and how many were found in each second of the processor."""
    found, began = {}, time.process_time()
    for bug in bugs:
        at = time.process_time()
        took = []
        for number in range(times):
            seed = first_broken(bug, number * most, most)
            took.append(None if seed is None else seed - number * most + 1)
        found[bug] = took
        print(f"{bug:52} {' '.join(f'{count or 0:>6}' for count in took)}   {time.process_time() - at:6.1f} s", flush=True)
    seconds, count = time.process_time() - began, sum(1 for took in found.values() for one in took if one)
    print(f"{count} of {times * len(found)} found in {seconds:.1f} s: {count / seconds:.2f} a second")
    return found
