"""Chooses and orders the rows of a result that a request asks for, on whole Arrow tables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluate import evaluate
from mars.algebra.evaluation.arrays import masked, numbers, order_keys, single
from mars.errors import GoneError
from mars.model.expressions import Expression
from mars.model.plan import QueryPlan
from mars.results import emitted
from mars.results.cursors import Selection
from mars.results.formats import timestamp_text
from mars.results.pieces import Piece, strata
from mars.results.places import Place
from mars.results.schema import columns_of, order_of, schema_of

CHUNKS_MAX = 64
# Compiles a condition over (name, type) columns into an expression; SqlError, with its place in the text, if it is
# refused.
CompileCondition = Callable[[str, tuple[tuple[str, str], ...]], Expression]


@dataclass(frozen=True)
class Choice:
    """The rows of a selection from `after` on; None for all of them. Creating one raises SqlError for a condition that is
    refused. `by_end`: windows come in the order of their ends, in which they close, instead of their starts."""

    plan: QueryPlan
    selection: Selection
    after: Place | None
    condition: Expression | None
    by_end: bool = False

    @staticmethod
    def of(plan: QueryPlan, selection: Selection, compile_condition: CompileCondition, after: Place | None = None,
           by_end: bool = False) -> Choice:
        """The choice, its condition compiled."""
        return Choice(plan, selection, after, None if selection.where is None else
                      compile_condition(selection.where, tuple(columns_of(plan))), by_end)

    def of_piece(self, piece: Piece) -> Piece:
        """The piece, which then loads only chosen rows, in no order."""
        return replace(piece, load=lambda: self._chosen_of(piece.load(), self._is_within(piece)))

    def _is_within(self, piece: Piece) -> bool:
        """Is every window of the piece within the selection, so that no row must be left out?"""
        first, end = self.selection.first_us, self.selection.end_us
        return self.after is None and (first is None or first <= piece.first_us) and (end is None or piece.last_us < end)

    def _chosen_of(self, table: pa.Table, is_within: bool) -> pa.Table:
        # Choose chunk by chunk: mostly few rows are chosen, and joining all chunks first would cost more than choosing.
        table = table.combine_chunks() if table.column(0).num_chunks > CHUNKS_MAX else table
        return pa.Table.from_batches([self._chosen(batch, is_within) for batch in table.to_batches()], table.schema)

    def _chosen(self, batch: pa.RecordBatch, is_within: bool) -> pa.RecordBatch:
        if not is_within:
            batch = batch.filter(self._within(*(numbers(batch[name]) for name in ("window_start", "window_end"))))
        if self.condition is None or not len(batch):
            return batch
        rows = emitted.shown(self.plan, batch)
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        return batch.filter(evaluate(self.condition, columns, len(batch)), null_selection_behavior="drop")

    def _within(self, starts: np.ndarray, ends: np.ndarray) -> pa.Array:
        selection, after = self.selection, self.after
        chosen = np.ones(len(starts), np.bool_)
        if selection.first_us is not None:
            chosen &= starts >= selection.first_us
        if selection.end_us is not None:
            chosen &= starts < selection.end_us
        if after:
            (one, at), (two, next_) = [(starts, after.start_us), (ends, after.end_us)][::-1 if self.by_end else 1]
            chosen &= (one < at) | ((one == at) & (two <= next_)) if selection.descending else \
                (one > at) | ((one == at) & (two >= next_))
        return pa.array(chosen)

    def ordered(self, table: pa.Table) -> pa.Table:
        """Ordered by window, then by the keys, NULL first; all of it reversed if that is asked for."""
        if len(table) < 2:
            return table
        way, nulls = ("descending", "at_end") if self.selection.descending else ("ascending", "at_start")
        window = ("window_end", "window_start") if self.by_end else ("window_start", "window_end")
        levels = [single(table[name]) for name in (*window, *order_of(self.plan))]
        sortable = {str(place): _sortable(level) for place, level in enumerate(levels)}
        return table.take(pc.sort_indices(pa.table(sortable), [(name, way, nulls) for name in sortable]))


def first_rows(choice: Choice, pieces: Iterable[Piece], count: int) -> pa.Table:
    """The first `count` chosen rows of the pieces, in result order. GoneError as all_rows."""
    held, taken = 0, [schema_of(choice.plan).empty_table()]
    for table in all_rows(choice, pieces):
        taken.append(table)
        held += len(table)
        if held >= count:
            break
    return pa.concat_tables(taken).slice(0, count)


def all_rows(choice: Choice, pieces: Iterable[Piece]) -> Iterator[pa.Table]:
    """All chosen rows of the pieces in result order, table by table; all rows of a window are in one table. GoneError if
    the first window has fewer rows than are to be skipped, because then nobody knows where the rows begin."""
    found = strata(map(choice.of_piece, pieces), choice.selection.descending, choice.by_end)
    tables = map(choice.ordered, found)
    return tables if choice.after is None else _behind(choice.after, tables)


def _behind(place: Place, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    left = place.skip
    for table in tables:
        passed = table.slice(0, left)
        if any(np.any(times(passed, name) != at) for name, at in (("window_start", place.start_us),
                                                                  ("window_end", place.end_us))):
            break
        left -= len(passed)
        yield table.slice(len(passed))
    if left:
        raise gone(place, None)


def times(table: pa.Table, name: str) -> np.ndarray:
    """The values of a TIMESTAMP column without NULL, in microseconds."""
    return table[name].cast(pa.int64()).to_numpy()


def gone(place: Place, gone_us: int | None = None) -> GoneError:
    """The error for a place after which rows are missing. Windows up to `gone_us` have lost rows, if that is known."""
    rest = "" if gone_us is None else f"; windows from {timestamp_text(gone_us)} on are still complete"
    return GoneError("the rows after this place are no longer kept",
                     f"result_retention_days have passed for the window from {timestamp_text(place.start_us)} to "
                     f"{timestamp_text(place.end_us)}{rest}", "begin again without cursor or Last-Event-ID")


def _sortable(level: pa.Array) -> pa.Array:
    """A column that sorts as its values do: floats with NaN greatest and -0 = 0."""
    if not pa.types.is_floating(level.type):
        return level
    valid = level.is_valid().to_numpy(zero_copy_only=False) if level.null_count else None
    return masked(order_keys(level), valid, pa.int64())
