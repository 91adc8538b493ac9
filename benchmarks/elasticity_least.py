"""The least plan: who knows the whole curve beforehand, and wants as few worker-seconds as may be with no wait above the
goal. By dynamic programming over minutes, numbers of workers, and what waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.elasticity_curves import Rates
from benchmarks.elasticity_plant import GOAL_S, KINDS, LEAST, MOST, SPEEDS

STEP_S = 60
PARTS = 4  # of a second's work of one worker: what waits is counted in these, rounded up
CHANGE_S = 300.0  # worker-seconds that a change is worth, for the number of changes that the curve asks for


@dataclass(frozen=True)
class Least:
    """`worker_s` of the least plan when changes are free; `changes` of the least plan when each costs CHANGE_S."""

    worker_s: float
    changes: int


def least(rates: Rates) -> Least:
    """Of both kinds. Each is bounded by itself with the whole goal, so no plan for both together can need fewer."""
    free = sum(_plan(rates, kind, 0.0).sum() * STEP_S for kind in KINDS)
    plans = [_plan(rates, kind, CHANGE_S) for kind in KINDS]
    changed = np.zeros(len(plans[0]) - 1, dtype=bool)
    for plan in plans:
        changed |= np.diff(plan) != 0
    return Least(float(free), int(changed.sum()))


def _plan(rates: Rates, kind: str, change_s: float) -> np.ndarray:
    """Workers in each step. The value of a state (workers, what waits) is the least cost so far; from a state only the number
    of workers can be chosen."""
    speed, counts = SPEEDS[kind], np.arange(LEAST[kind], MOST[kind] + 1)
    waits = np.arange(int(GOAL_S * MOST[kind] * PARTS) + 1)  # in parts
    steps = rates[:len(rates) // STEP_S * STEP_S].reshape(-1, STEP_S) / speed * PARTS
    value = np.full((len(counts), len(waits)), np.inf)
    value[:, 0] = 0.0
    came_from: list[tuple[np.ndarray, np.ndarray]] = []
    for arrivals in steps:
        stays, best = value, value.argmin(axis=0)
        switches = value.min(axis=0) + change_s
        entered = np.minimum(stays, switches)
        parent = np.where(stays <= switches, np.arange(len(counts))[:, None], best[None, :])
        left, ok = _after(counts, waits, arrivals)
        cost = np.where(ok, entered + counts[:, None] * STEP_S, np.inf)
        value = np.full_like(value, np.inf)
        origin = np.zeros(value.shape, dtype=np.int32)
        for row in range(len(counts)):
            order = np.argsort(-cost[row], kind="stable")  # the cheapest is written last
            value[row, left[row, order]], origin[row, left[row, order]] = cost[row, order], order
        came_from.append((origin, parent.astype(np.int16)))
    row, wait = np.unravel_index(int(value.argmin()), value.shape)
    plan = []
    for origin, parent in reversed(came_from):
        plan.append(counts[row])
        before = origin[row, wait]
        row, wait = parent[row, before], before
    return np.array(plan[::-1])


def _after(counts: np.ndarray, waits: np.ndarray, arrivals: Rates) -> tuple[np.ndarray, np.ndarray]:
    """What waits after a step, and whether nothing waited longer than the goal in it, for each number and each start."""
    capacity, left = counts[:, None] * PARTS, np.broadcast_to(waits, (len(counts), len(waits))).astype(float)
    ok = np.ones(left.shape, dtype=bool)
    for arrived in arrivals:
        left = np.maximum(left + arrived - capacity, 0.0)
        ok &= left <= GOAL_S * capacity
    return np.minimum(np.ceil(left), waits[-1]).astype(np.int64), ok
