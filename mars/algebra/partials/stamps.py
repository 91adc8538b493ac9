"""What reducers write into cells: nothing of it comes from tuples, so it begins with 0, and the greatest counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import numbers
from mars.algebra.partials.kind import Columns, Input, Kind
from mars.model.partials import STAMPS, Partial


def _columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    return [("at", pa.int64())]


def _update(partial: Partial, given: Input) -> Columns:
    return [pa.array(np.zeros(given.groups, np.int64))]


def _merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    greatest = np.zeros(groups, np.int64)
    np.maximum.at(greatest, ids, numbers(held[0]))
    return [pa.array(greatest)]


KINDS = {kind: Kind(_columns, _update, _merge) for kind in STAMPS}
