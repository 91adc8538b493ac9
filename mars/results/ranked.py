"""Queries with ORDER BY and LIMIT n, which show the first n rows of each window. Pure.

A window's rows come from all key parts, so which of them are its first is known only where they are read together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import numbers, order_keys, single
from mars.model.plan import QueryPlan
from mars.results.pieces import Piece
from mars.results.schema import order_of

WINDOW = ("window_start", "window_end")


def of_pieces(plan: QueryPlan, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, which load only rows that their windows show. Together they must have all rows of each window."""
    if plan.presentation.window_limit is None:
        return list(pieces)
    return [replace(piece, load=partial(_shown_of, plan, piece, pieces)) for piece in pieces]


def shown(plan: QueryPlan, table: pa.Table) -> pa.Table:
    """The rows of whole windows that the query shows: of each window the first ones by ORDER BY, then by the keys."""
    return table if plan.presentation.window_limit is None else table.take(pa.array(_first(plan, table)))


def _shown_of(plan: QueryPlan, piece: Piece, pieces: Sequence[Piece]) -> pa.Table:
    """The rows of a piece that are among the first of their windows, whichever piece the others are in."""
    own = piece.load()
    beside = [other.load() for other in pieces
              if other is not piece and other.first_us <= piece.last_us and piece.first_us <= other.last_us]
    return own.take(pa.array([row for row in _first(plan, pa.concat_tables([own, *beside])).tolist() if row < len(own)],
                             pa.int64()))


def _first(plan: QueryPlan, table: pa.Table) -> np.ndarray:
    """The places of the rows that are shown, ascending."""
    limit = plan.presentation.window_limit
    assert limit is not None, plan.sql
    windows = [numbers(single(table[name].cast(pa.int64()))) for name in WINDOW]
    terms = [(table.column(index + len(WINDOW)), descending) for index, descending in plan.presentation.order_by]
    keys = [(table[name], False) for name in order_of(plan)]
    levels = [level for column, descending in (*terms, *keys) for level in _levels(column, descending)]
    order = np.lexsort([*windows, *levels][::-1])
    starts, ends = (window[order] for window in windows)
    begins = np.flatnonzero(np.append(True, (np.diff(starts) != 0) | (np.diff(ends) != 0)))[:len(order)]
    lengths = np.diff(np.append(begins, len(order)))
    return np.sort(order[np.arange(len(order)) - np.repeat(begins, lengths) < limit])


def _levels(column: pa.ChunkedArray, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers for each value, by which rows ascend. NULL is the least value."""
    array = single(column)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    values = np.where(valid, order_keys(array), 0)
    return (~valid, ~values) if descending else (valid, values)
