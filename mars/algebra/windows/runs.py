"""Runs: tuples of one group of which each lies within a gap of the one before. Kernels over whole arrays. Pure."""

from __future__ import annotations

import numpy as np

from mars.algebra.evaluation.arrays import read_only
from mars.kernel_cache import kernel


@kernel
def numbered(ids: np.ndarray, first: np.ndarray, last: np.ndarray, gap: int, most: int) -> np.ndarray:
    """int64[n]: the number of each interval's run, from 0 on. The intervals are ordered by group and first time. A run
    also ends where it would begin more than `most` before an interval; there is no such limit below 0."""
    numbers = np.empty(len(ids), np.int64)
    number, start, end = -1, 0, 0
    for row in range(len(ids)):
        if row == 0 or ids[row] != ids[row - 1] or first[row] > end + gap or (most >= 0 and first[row] > start + most):
            number += 1
            start, end = first[row], last[row]
        elif last[row] > end:
            end = last[row]
        numbers[row] = number
    return numbers


@kernel
def roughly(ids: np.ndarray, groups: int, first: np.ndarray, last: np.ndarray, gap: int
            ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(run of each interval int64[n], row of each run's first interval, its first and last time). An interval joins the
    newest run of its group if it is within the gap. So those that come in the order of time are in their runs; where others
    do, one run is several."""
    newest = np.full(groups, -1, np.int64)
    numbers, rows = np.empty(len(ids), np.int64), np.empty(len(ids), np.int64)
    begins, ends = np.empty(len(ids), np.int64), np.empty(len(ids), np.int64)
    count = 0
    for row in range(len(ids)):
        run = newest[ids[row]]
        if run < 0 or first[row] > ends[run] + gap or begins[run] > last[row] + gap:
            run = count
            newest[ids[row]] = run
            rows[run], begins[run], ends[run] = row, first[row], last[row]
            count += 1
        else:
            begins[run] = min(begins[run], first[row])
            ends[run] = max(ends[run], last[row])
        numbers[row] = run
    return numbers, rows[:count].copy(), begins[:count].copy(), ends[:count].copy()


@kernel
def greatest_of(ids: np.ndarray, values: np.ndarray, groups: int) -> np.ndarray:
    """As `greatest`."""
    found = np.full(groups, -2**63, np.int64)
    for row in range(len(ids)):
        found[ids[row]] = max(found[ids[row]], values[row])
    return found


def greatest(ids: np.ndarray, values: np.ndarray, groups: int) -> np.ndarray:
    """int64[groups]: the greatest value of each group; each has one."""
    return greatest_of(ids, read_only(values.view()), groups)


def joined(ids: np.ndarray, groups: int, first: np.ndarray, last: np.ndarray, gap: int
           ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(run of each interval int32[n], a row of each run, its first and last time): intervals of a group that lie within the
    gap of each other, and those between them, are one run."""
    numbers, rows, begins, ends = roughly(ids, groups, read_only(first.view()), read_only(last.view()), gap)
    of = ids[rows]
    order = np.lexsort((begins, of))
    sorted_ = numbered(of[order], begins[order], ends[order], gap, -1)
    found = np.empty(len(rows), np.int64)
    found[order] = sorted_
    begin = np.flatnonzero(np.diff(sorted_, prepend=-1))
    lasts = np.maximum.reduceat(ends[order], begin) if len(begin) else ends
    return found[numbers].astype(np.int32), rows[order][begin], begins[order][begin], lasts


def warm() -> None:
    """Compiles the kernels of this module, or loads them from the cache."""
    ids, times = np.zeros(1, np.int32), np.zeros(1, np.int64)
    joined(ids, 1, times, times, 1)
    greatest(ids, times, 1)
