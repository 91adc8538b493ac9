"""Kinds of partials: what is kept of tuples, and how that is merged. mars/model/partials.py says which aggregate needs which
of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra import murmur
from mars.algebra.partials import bins, comoments, counts, earliest, hll, moments, picks, sets, stamps, sums
from mars.algebra.partials.kind import Columns, Input, Kind, Order
from mars.model.partials import Partial

__all__ = ["KINDS", "Input", "Order", "columns", "merge", "update", "warm"]

KINDS: dict[str, Kind] = {**sums.KINDS, **moments.KINDS, **picks.KINDS, **sets.KINDS, **comoments.KINDS,
                         **earliest.KINDS, **counts.KINDS, **bins.KINDS, **hll.KINDS, **stamps.KINDS}


def columns(partial: Partial) -> list[tuple[str, pa.DataType]]:
    """(suffix, Arrow type) of the columns that hold the partial; strings are dictionary-coded in them."""
    return KINDS[partial.kind].columns(partial)


def update(partial: Partial, given: Input) -> Columns:
    """Partials of tuples that the filter let through, each column of length `given.groups`."""
    return KINDS[partial.kind].update(partial, given)


def merge(partial: Partial, held: Columns, ids: np.ndarray, groups: int) -> Columns:
    """Partials of `groups` groups from partials of rows, row i belonging to group ids[i]."""
    return KINDS[partial.kind].merge(partial, held, ids, groups)


def warm() -> None:
    """Compiles the kernels of all kinds, or loads them from the cache."""
    for module in (sums, moments, picks, comoments, bins, murmur, hll):
        module.warm()
