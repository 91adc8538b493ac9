"""Comoments of pairs, of which covariances and correlations are made, and the third and fourth moments, of which skewness
and kurtosis are.

They are merged as Pébay does ("Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
statistical moments", Sandia report SAND2008-6212), which is Chan, Golub and LeVeque's way for variances (moments.py). Means
are kept as distances from the group's first mean, as there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import numbers
from mars.algebra.partials.kind import Columns, Input, Kind, without_nulls
from mars.kernel_cache import kernel
from mars.model.partials import Partial

DOUBLE = pa.float64()


def _pair_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("n", pa.int64()), *((suffix, DOUBLE) for suffix in ("x", "y", "xx", "yy", "xy"))]


def _pair_update(partial: Partial, given: Input) -> Columns:
    (first, second), ids = without_nulls([given.values, given.second], given.ids)
    (second, first), ids = without_nulls([second, first], ids)
    x, y = (numbers(column.cast(DOUBLE, safe=False)) for column in (first, second))
    with np.errstate(invalid="ignore"):
        xx, yy = x - x, y - y  # 0, and NaN for an infinite value, as Spark has it
    ones = np.ones(len(ids), np.int64)
    return _arrays(merge_comoments(ids, ones, x, y, xx, yy, xx + yy, given.groups))


def _pair_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    n, x, y, xx, yy, xy = (numbers(column) for column in held)
    return _arrays(merge_comoments(ids, n, x, y, xx, yy, xy, groups))


def _shape_columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("n", pa.int64()), *((suffix, DOUBLE) for suffix in ("mean", "m2", "m3", "m4"))]


def _shape_update(partial: Partial, given: Input) -> Columns:
    (values,), ids = without_nulls([given.values], given.ids)
    means = numbers(values.cast(DOUBLE, safe=False))
    with np.errstate(invalid="ignore"):
        zeros = means - means
    return _arrays(merge_shapes(ids, np.ones(len(ids), np.int64), means, zeros, zeros, zeros, given.groups))


def _shape_merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    n, mean, m2, m3, m4 = (numbers(column) for column in held)
    return _arrays(merge_shapes(ids, n, mean, m2, m3, m4, groups))


def _arrays(columns: tuple[np.ndarray, ...]) -> Columns:
    return [pa.array(column) for column in columns]


@kernel
def merge_comoments(ids: np.ndarray, counts: np.ndarray, x: np.ndarray, y: np.ndarray, xx: np.ndarray, yy: np.ndarray,
                    xy: np.ndarray, groups: int) -> tuple[np.ndarray, ...]:
    """(counts, means of x and y, sums of (x - mean)^2, (y - mean)^2 and their product) per group, of such partials per row;
    rows with count 0 add nothing."""
    count, first_x, first_y = np.zeros(groups, np.int64), np.zeros(groups), np.zeros(groups)
    mean_x, mean_y, sum_xx, sum_yy, sum_xy = (np.zeros(groups), np.zeros(groups), np.zeros(groups), np.zeros(groups),
                                              np.zeros(groups))
    for row in range(len(ids)):
        group, added = ids[row], counts[row]
        before = count[group]
        count[group] = total = before + added
        if before == 0:
            first_x[group], first_y[group] = x[row], y[row]
            sum_xx[group], sum_yy[group], sum_xy[group] = xx[row], yy[row], xy[row]
        elif added > 0:
            dx = x[row] - first_x[group] - mean_x[group]
            dy = y[row] - first_y[group] - mean_y[group]
            weight = float(before) * added / total
            mean_x[group] += dx * added / total
            mean_y[group] += dy * added / total
            sum_xx[group] += xx[row] + dx * dx * weight
            sum_yy[group] += yy[row] + dy * dy * weight
            sum_xy[group] += xy[row] + dx * dy * weight
    return count, first_x + mean_x, first_y + mean_y, sum_xx, sum_yy, sum_xy


@kernel
def merge_shapes(ids: np.ndarray, counts: np.ndarray, means: np.ndarray, m2: np.ndarray, m3: np.ndarray, m4: np.ndarray,
                 groups: int) -> tuple[np.ndarray, ...]:
    """(counts, means, sums of the second, third and fourth power of the distance from the mean) per group, of such partials
    per row; rows with count 0 add nothing."""
    count, first, mean = np.zeros(groups, np.int64), np.zeros(groups), np.zeros(groups)
    second, third, fourth = np.zeros(groups), np.zeros(groups), np.zeros(groups)
    for row in range(len(ids)):
        group = ids[row]
        a, b = float(count[group]), float(counts[row])
        count[group] += counts[row]
        if a == 0:
            first[group], second[group], third[group], fourth[group] = means[row], m2[row], m3[row], m4[row]
        elif b > 0:
            n = a + b
            delta = means[row] - first[group] - mean[group]
            share = delta / n
            both = delta * share * a * b  # delta^2 a b / n
            fourth[group] += (m4[row] + both * share * share * (a * a - a * b + b * b)
                              + 6 * share * share * (a * a * m2[row] + b * b * second[group])
                              + 4 * share * (a * m3[row] - b * third[group]))
            third[group] += m3[row] + both * share * (a - b) + 3 * share * (a * m2[row] - b * second[group])
            second[group] += m2[row] + both
            mean[group] += share * b
    return count, first + mean, second, third, fourth


def warm() -> None:
    """Compiles the kernels of this module for fresh arrays and for Arrow's read-only ones, or loads them."""
    ids, ones, held = np.zeros(1, np.int32), np.ones(1, np.int64), numbers(pa.array([1.0]))
    fresh, counts = np.zeros(1), numbers(pa.array([1]))
    merge_comoments(ids, ones, held, held, fresh, fresh, fresh, 1)
    merge_comoments(ids, counts, held, held, held, held, held, 1)
    merge_shapes(ids, ones, held, fresh, fresh, fresh, 1)
    merge_shapes(ids, counts, held, held, held, held, 1)


KINDS = {"comoments": Kind(_pair_columns, _pair_update, _pair_merge),
         "shape": Kind(_shape_columns, _shape_update, _shape_merge)}
