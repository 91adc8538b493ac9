"""A summary of numbers for quantiles, which any way of merging gives alike: counts in bins of equal relative width.

A bin holds the doubles whose bits agree but for the last `shift`. At shift 0 each value has a bin of its own; each step more
joins two neighbours, and so halves the resolution. A cell has the least shift at which at most MOST bins are filled. Parts
of a cell fill no more bins than the cell, so their shifts are not greater, and merging them loses nothing that the cell has.

The bins are those of DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with relative-error
guarantees", VLDB 2019) with the exponent and first bits of the mantissa in place of a logarithm, as in HdrHistogram. They
are joined as in UDDSketch (Epicoco et al., "UDDSketch: accurate tracking of quantiles in data streams", IEEE Access 2020).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import numbers, order_keys
from mars.algebra.partials.kind import Columns, Input, Kind, without_nulls
from mars.kernel_cache import kernel
from mars.model.partials import Partial

MOST = 4_096
INFINITE = 0x7FF << 52


def _columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("shift", pa.int32()), ("bins", pa.list_(pa.int64())), ("counts", pa.list_(pa.int64()))]


def _update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    keys = order_keys(values.cast(pa.float64(), safe=False))
    ones = np.ones(len(keys), np.int64)
    return _filled(ids, keys, ones, np.zeros(given.groups, np.int32), given.groups)


def _merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    shifts = numbers(held[0])
    rows = pc.list_parent_indices(held[1]).to_numpy()
    coarsest = np.zeros(groups, np.int32)
    np.maximum.at(coarsest, ids, shifts)
    owners = ids[rows]
    bins = numbers(held[1].flatten()) >> (coarsest[owners] - shifts[rows])
    return _filled(owners, bins, numbers(held[2].flatten()).copy(), coarsest, groups)


def _filled(ids: np.ndarray, bins: np.ndarray, counts: np.ndarray, shifts: np.ndarray, groups: int) -> Columns:
    offsets, bins, counts = fill(ids, bins, counts, shifts, groups, MOST)
    lists = (pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat)) for flat in (bins, counts))
    return [pa.array(shifts), *lists]


@kernel
def fill(ids: np.ndarray, bins: np.ndarray, counts: np.ndarray, shifts: np.ndarray, groups: int,
         most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(offsets int32[groups + 1], bins, counts) of bins and counts per row, at the shift that each group has in `shifts`.
    Bins ascend in a group. Where more than `most` would be filled, the shift in `shifts` grows as far as it must."""
    starts = np.zeros(groups + 1, np.int64)
    for row in range(len(ids)):
        starts[ids[row] + 1] += 1
    for group in range(groups):
        starts[group + 1] += starts[group]
    place, sorted_bins, sorted_counts = starts[:-1].copy(), np.empty_like(bins), np.empty_like(counts)
    for row in range(len(ids)):
        at = place[ids[row]]
        place[ids[row]] += 1
        sorted_bins[at], sorted_counts[at] = bins[row], counts[row]
    offsets, kept = np.zeros(groups + 1, np.int32), 0
    for group in range(groups):
        start, end = starts[group], starts[group + 1]
        sort_together(sorted_bins[start:end], sorted_counts[start:end])
        more = steps_needed(sorted_bins[start:end], most)
        shifts[group] += more
        first = kept
        for row in range(start, end):
            bin_, count = sorted_bins[row] >> more, sorted_counts[row]
            if kept > first and sorted_bins[kept - 1] == bin_:
                sorted_counts[kept - 1] += count
            else:  # what is written lies before what is still read
                sorted_bins[kept], sorted_counts[kept] = bin_, count
                kept += 1
        offsets[group + 1] = kept
    return offsets, sorted_bins[:kept].copy(), sorted_counts[:kept].copy()


@kernel
def sort_together(bins: np.ndarray, counts: np.ndarray) -> None:
    """Sorts both by `bins`, in place."""
    ascending = True
    ones = True
    for row in range(len(bins)):
        ones = ones and counts[row] == 1
        ascending = ascending and (row == 0 or bins[row - 1] <= bins[row])
    if ascending:
        return
    if ones:
        bins.sort()
        return
    order = np.argsort(bins, kind="mergesort")
    bins[:], counts[:] = bins[order], counts[order]


@kernel
def steps_needed(bins: np.ndarray, most: int) -> int:
    """By how many bits sorted bins must be shifted so that at most `most` different ones are left."""
    if len(bins) <= most:
        return 0
    apart = np.zeros(65, np.int64)  # by the number of low bits in which neighbours differ
    for row in range(1, len(bins)):
        differing, length = np.uint64(bins[row - 1] ^ bins[row]), 0
        while differing:
            differing >>= np.uint64(1)
            length += 1
        apart[length] += 1
    left = 1 + len(bins) - 1 - apart[0]
    steps = 0
    while left > most:
        steps += 1
        left -= apart[steps]
    return steps


def quantile(shifts: np.ndarray, offsets: np.ndarray, bins: np.ndarray, counts: np.ndarray, share: float) -> np.ndarray:
    """The value of each group below or at which a share of its values lies; undefined for a group without values. `bins` and
    `counts` are flat, those of group i from offsets[i] on."""
    keys = quantile_keys(shifts, offsets, bins, counts, share)
    return np.where(keys < 0, keys ^ np.int64(0x7FFFFFFFFFFFFFFF), keys).view(np.float64)


@kernel
def quantile_keys(shifts: np.ndarray, offsets: np.ndarray, bins: np.ndarray, counts: np.ndarray,
                  share: float) -> np.ndarray:
    """As `quantile`, as order keys: of the middle of the bin, where it has more than one value."""
    found = np.zeros(len(shifts), np.int64)
    for group in range(len(shifts)):
        start, end = offsets[group], offsets[group + 1]
        total = 0
        for row in range(start, end):
            total += counts[row]
        left = max(1, int(np.ceil(share * total)))
        for row in range(start, end):
            left -= counts[row]
            if left <= 0:
                found[group] = middle(bins[row], shifts[group])
                break
    return found


@kernel
def middle(bin_: int, shift: int) -> int:
    """The order key that stands for a bin: the value itself, 0 for the two bins beside it, an infinity, or the middle."""
    low = bin_ << shift
    if shift == 0 or low >= INFINITE:
        return low
    if bin_ == 0 or bin_ == -1:
        return 0
    if low + (1 << shift) - 1 <= -INFINITE - 1:
        return -INFINITE - 1
    return low + (1 << (shift - 1))


def warm() -> None:
    """Compiles the kernels of this module for fresh arrays and for Arrow's read-only ones, or loads them."""
    ids, keys, held = np.zeros(1, np.int32), np.zeros(1, np.int64), numbers(pa.array([1]))
    fill(ids, keys, keys.copy(), np.zeros(1, np.int32), 1, MOST)
    quantile_keys(numbers(pa.array([0], pa.int32())), np.array([0, 1]), held, held, 0.5)


KINDS = {"bins": Kind(_columns, _update, _merge)}
