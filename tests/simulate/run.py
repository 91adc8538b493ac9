"""One run by a seed: load and faults for a while, then everything heals, and then nothing may be missing or twice."""

from __future__ import annotations

import atexit
import gc
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from zlib import crc32

from tests.simulate import changing, patches
from tests.simulate.bugs import BUGS
from tests.simulate.check import Broken
from tests.simulate.driver import Driver
from tests.simulate.scheduler import Stuck
from tests.simulate.world import KEEPING, PLAN, TIMED, World

ROUNDS, STEPS_MAX = 12, 120_000
TURNS, CHANGING = 16, {5: changing.CHANGES, 7: changing.REVISED}  # of so many seeds these two have rows that change
OTHERS = {11: TIMED, 13: KEEPING}  # here the clock closes windows, and late tuples are kept; and here these alone
gc.freeze()  # what is loaded stays: collections need not look at it after each run
atexit.register(gc.unfreeze)


@dataclass
class Run:
    """What a run was: None in `broken` if everything held."""

    seed: int
    broken: str | None = None
    steps: int = 0
    commits: int = 0
    virtual_s: float = 0.0
    seconds: float = 0.0
    faults: Counter = field(default_factory=Counter)
    story: list[str] = field(default_factory=list)
    fingerprint: int = 0

    def __str__(self) -> str:
        head = (f"seed {self.seed}: {self.steps} steps, {self.commits} commits, {self.virtual_s:.1f} s simulated in "
                f"{self.seconds:.2f} s")
        return f"{head}: holds" if self.broken is None else "\n".join([f"{head}: BROKEN", *self.story, f"  {self.broken}"])


def run(seed: int, rounds: int = ROUNDS, bug: str = "") -> Run:
    """The run of this seed, the same each time. `bug` names a planted one."""
    gc.disable()  # all that is garbage is so together, at the end
    try:
        return _run(seed, rounds, bug)
    finally:
        gc.enable()
        if seed % TURNS in CHANGING:  # little garbage of Python's, but megabytes of Arrow's, which it does not count
            gc.collect()


def _run(seed: int, rounds: int, bug: str) -> Run:
    began = time.process_time()
    plan = {**CHANGING, **OTHERS}.get(seed % TURNS, PLAN)
    world = World(seed, STEPS_MAX, plan)
    result = Run(seed)
    with ExitStack() as stack:
        stack.enter_context(patches.installed(world))
        if bug:
            stack.enter_context(BUGS[bug](world))
        try:
            world.begin()
            Driver(world).drive(rounds)
        except (Broken, Stuck) as error:
            result.broken = f"{type(error).__name__}: {error}"
        finally:
            world.scheduler.close()
    result.steps, result.virtual_s = world.scheduler.steps, world.scheduler.now - 1_000.0
    result.commits, result.faults, result.story = world.checker.commits, world.network.counts, world.story
    result.seconds = time.process_time() - began
    result.fingerprint = crc32(repr((result.steps, result.virtual_s, result.commits, result.story)).encode())
    return result
