"""Moments, of which variances are made: count, mean and the sum of squared differences from it, merged as Chan, Golub and
LeVeque (1979) do, which stays exact where the sum of squares cancels. A tuple is a partial with count 1."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import numbers
from mars.algebra.partials.kind import Columns, Input, Kind, without_nulls
from mars.kernel_cache import kernel
from mars.model.partials import Partial

DOUBLE = pa.float64()


def _columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("n", pa.int64()), ("mean", DOUBLE), ("m2", DOUBLE)]


def _update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    means = numbers(values.cast(DOUBLE, safe=False))
    with np.errstate(invalid="ignore"):
        squares = means - means  # 0, and NaN for an infinite value, as Spark has it
    return _arrays(merge_moments(ids, np.ones(len(ids), np.int64), means, squares, given.groups))


def _merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    counts, means, squares = (numbers(column) for column in held)
    return _arrays(merge_moments(ids, counts, means, squares, groups))


def _arrays(columns: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Columns:
    return [pa.array(column) for column in columns]


@kernel
def merge_moments(ids: np.ndarray, counts: np.ndarray, means: np.ndarray, squares: np.ndarray,
                  groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(counts, means, squares) per group, of partials per row; rows with count 0 add nothing.

    Means are kept as distances from the group's first mean, so that a large mean is rounded once and not at each row.
    """
    count, first, mean, square = np.zeros(groups, np.int64), np.zeros(groups), np.zeros(groups), np.zeros(groups)
    for row in range(len(ids)):
        group, added = ids[row], counts[row]
        total = count[group] + added
        if count[group] == 0:
            first[group], square[group] = means[row], squares[row]
        elif added > 0:
            delta = means[row] - first[group] - mean[group]
            mean[group] += delta * added / total
            square[group] += squares[row] + delta * delta * (float(count[group]) * added / total)
        count[group] = total
    return count, first + mean, square


def warm() -> None:
    """Compiles the kernel of this module for fresh arrays and for Arrow's read-only ones, or loads it."""
    ids, ones, doubles = np.zeros(1, np.int32), np.ones(1, np.int64), np.zeros(1)
    merge_moments(ids, ones, numbers(pa.array([1.0])), doubles, 1)
    merge_moments(ids, numbers(pa.array([1])), numbers(pa.array([1.0])), numbers(pa.array([1.0])), 1)


KINDS = {"moments": Kind(_columns, _update, _merge)}
