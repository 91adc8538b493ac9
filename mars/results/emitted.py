"""Rows of queries with EMIT EVERY, which gives windows out before they are closed, too. Pure.

Inside, window_end of such a row is the time at which it is given out: that is its place, by which readers, events and sinks
come to it, like that of a window that ends there. What is shown in its stead is the end of its window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import numbers, single
from mars.algebra.grouping import group
from mars.model.plan import QueryPlan
from mars.results.pieces import Piece
from mars.results.schema import order_of, schema_of

WINDOW_END, FINAL = "window_end", "final"


def is_emitted(plan: QueryPlan) -> bool:
    """Are windows given out while they are open?"""
    return plan.presentation.emission == "EVERY"


def _length_us(plan: QueryPlan) -> int:
    assert plan.aggregation.window is not None, plan.sql
    return plan.aggregation.window.size_ms * 1_000


def shown(plan: QueryPlan, table: pa.Table) -> pa.Table:
    """The rows as they are shown."""
    if not is_emitted(plan):
        return table
    at = table.schema.get_field_index(WINDOW_END)
    ends = pc.add(table["window_start"].cast(pa.int64()), pa.scalar(_length_us(plan), pa.int64()))
    return table.set_column(at, table.schema.field(at), ends.cast(table.schema.field(at).type))


def whole(plan: QueryPlan, pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces without rows of windows that were still open; of another query they stay as they are."""
    if not is_emitted(plan):
        return list(pieces)
    return [replace(piece, load=partial(_final, piece)) for piece in pieces]


def newest(plan: QueryPlan, pieces: Iterable[Piece], closed_us: int) -> list[Piece]:
    """As `whole`, and of windows that end behind `closed_us`, and so are open, the newest row of each window and keys, as it
    is shown."""
    pieces, begin_us = list(pieces), closed_us - _length_us(plan)
    found = whole(plan, pieces)
    held = _newest(plan, [piece for piece in pieces if piece.last_us > begin_us], begin_us)
    return [*found, Piece.of(shown(plan, held))] if len(held) else found


def still_open(table: pa.Table) -> pa.Table:
    """Rows of whole windows, marked as not final."""
    at = table.schema.get_field_index(FINAL)
    return table.set_column(at, table.schema.field(at), pa.array(np.zeros(len(table), np.bool_)))


def _newest(plan: QueryPlan, pieces: list[Piece], begin_us: int) -> pa.Table:
    """The rows that no later one replaces, from the last pieces to the first, so that only what is newest is held."""
    names = ["window_start", *order_of(plan)]
    known = schema_of(plan).empty_table()
    for piece in sorted(pieces, key=lambda piece: piece.last_end_us, reverse=True):
        table = piece.load()
        open_ = pc.and_(pc.invert(table[FINAL]), pc.greater(table["window_start"].cast(pa.int64()), pa.scalar(begin_us)))
        known = _last(pa.concat_tables([known, table.filter(open_)]), names)
    return known


def _last(table: pa.Table, names: list[str]) -> pa.Table:
    """Of rows that agree in these columns the one that was given out last."""
    if not len(table):
        return table
    table = table.combine_chunks()
    table = table.take(pa.array(np.argsort(-numbers(single(table[WINDOW_END].cast(pa.int64()))), kind="stable")))
    found = group([single(table[name]) for name in names], np.zeros(len(table), np.int64))
    return table.take(pa.array(np.sort(found.first_row)))


def _final(piece: Piece) -> pa.Table:
    table = piece.load()
    return table.filter(table[FINAL])
