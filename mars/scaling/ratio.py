"""How many workers of each following stage one worker of the first stage keeps busy.

n_i = n_(i-1) * v_generate / (sigma * v_proc): a worker of the stage before generates v_generate in a busy second, and one of
this stage processes v_proc in one; at most the share sigma of it is used. The ratios do not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mars.scaling.load import Stage, whole


@dataclass(frozen=True)
class Link:
    """From one stage to the next: `generates` is what one worker of the stage before gives in a busy second, `processes`
    what one of this stage takes in one, both in the same unit."""

    generates: float
    processes: float


def ratios(links: Iterable[Link], sigma: float) -> list[float]:
    """Workers of each stage for one of the first, which is the first number."""
    found = [1.0]
    for link in links:
        found.append(found[-1] * link.generates / (sigma * link.processes))
    return found


def links(stages: Sequence[Stage]) -> list[Link]:
    """The links between stages that were measured over the same period, in offsets of the source. A stage without a speed
    is left as small as may be: it had nothing to do."""
    return [Link(before.speed or 1.0, after.speed or float("inf")) for before, after in zip(stages, stages[1:], strict=False)]


def following(first: int, found: Sequence[float]) -> list[int]:
    """Whole workers of all stages if the first has so many."""
    return [first, *(whole(first * one) for one in found[1:])]


def processes(workers: int, each: int) -> int:
    """Processes of which each holds so many workers. Mars has one worker in each."""
    return whole(workers / each)
