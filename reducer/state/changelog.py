"""States of queries whose rows change after they were given out (EMIT CHANGES, LATE UPDATE FOR d). Pure.

Each cell of theirs carries the number of the commit that changed it last, the one under which readers get it. The number
is that of the query's next commit here; what is not committed is merged again, under the number of the commit that then has
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from mars.algebra import cells, cells_stamps, windows
from mars.algebra.cells_layout import panes_of
from mars.model.commits import QueryCommit, ResultSegment
from mars.model.plan import Aggregation, Stream
from mars.model.registry import Query
from reducer.state.merge import Piece, QueryState
from reducer.state.once import Once
from reducer.state.timed import TimedState

T = TypeVar("T")


def resumed(query: Query, stream: Stream, committed: QueryCommit | None, tables: list[pa.Table], once: Once | None = None
            ) -> QueryState:
    """The state as of a commit, as QueryState.resume gives it; that of LATE UPDATE then wants the closed windows too."""
    kept = query.plan.aggregation
    if kept.timeout_ms is not None:
        return TimedState.resume(query, stream, committed, tables, once)
    kind = QueryState if not kept.is_changelog else RevisedState if kept.late == "UPDATE" else ChangingState
    return kind.resume(query, stream, committed, tables, once)


class ChangingState(QueryState):
    """The state of a query with EMIT CHANGES: open cells have the number of the commit that changed them, and the cells of
    closed windows that of the commit that closed them."""

    def _cells(self, piece: Piece) -> pa.Table:
        kept, table, number = self.query.plan.aggregation, super()._cells(piece), self.commit.commits + 1
        return self._made("stamp", [table], lambda: cells_stamps.stamped(kept, table, changed=number), number)

    def closed_cells(self) -> pa.Table | None:
        kept, closed, number = self.query.plan.aggregation, super().closed_cells(), self.commit.commits + 1
        if closed is None:
            return None
        return self._made("final", [closed], lambda: cells_stamps.stamped(kept, closed, changed=number, final=1), number)


@dataclass
class RevisedState(QueryState):
    """The state of a query with LATE UPDATE FOR d. Panes are held as for any query. Beside them `published` are the newest
    cells of the windows that have closed less than d ago, which results hold too: from there a restart reads them (`keep`).
    `late` are cells of such windows, of tuples that have come since the last commit."""

    published: pa.Table | None = None
    late: list[pa.Table] = field(default_factory=list)
    _next: pa.Table | None = None

    def keep(self, tables: Sequence[pa.Table]) -> None:
        """Take over the cells of closed windows from results, all revisions of them."""
        kept = self.query.plan.aggregation
        self.published = self._young(cells_stamps.newest(kept, self.stream, tables)[0])

    def first_kept(self) -> int | None:
        """Windows that end at or before this are not changed any more; None if none has closed."""
        return first_kept(self.query.plan.aggregation, self.stream, self.commit.watermark)

    def judged(self, judge: Callable[[], T]) -> T:
        return judge()

    def held_beside(self) -> list[pa.Table]:
        return [] if self.published is None else [self.published]

    def _late_split(self, table: pa.Table, watermark: int) -> tuple[pa.Table, pa.Table, bool]:
        kept = self.query.plan.aggregation
        mark = watermark - self.stream.units(kept.late_for_ms)
        late, others = cells.late_split(kept, self.stream, table, mark)
        if (again := cells.of_windows(kept, self.stream, others, mark, watermark)).num_rows:
            self.late.append(again)
        return late, cells.late_split(kept, self.stream, others, watermark)[1], False

    def closed_cells(self) -> pa.Table | None:
        """The cells of the windows that close with the next commit, and the next revisions of those that have closed."""
        closed, self._next = super().closed_cells(), self.published
        more = [*([] if closed is None else [closed]), *self.late]
        if not more:
            return None
        kept, stream, published = self.query.plan.aggregation, self.stream, self.published
        if published is None:
            published = cells.schema(kept, stream).empty_table()
        changed, others = cells_stamps.revised(kept, stream, published, more)
        changed = cells_stamps.stamped(kept, changed, revision=self._revisions(changed), changed=self.commit.commits + 1)
        self._next = self._young(cells_stamps.together(kept, stream, [others, changed]))
        return changed

    def _revisions(self, changed: pa.Table) -> np.ndarray:
        """The number of each revision: the next one, or 0 of a row that was never published. Of windows that readers knew
        before a fall-back it is greater than any that they may have seen."""
        kept, commit = self.query.plan.aggregation, self.commit
        known = cells_stamps.stamps_of(kept, changed, "changed") > 0
        numbers = np.where(known, cells_stamps.stamps_of(kept, changed, "revision") + 1, 0)
        if commit.revised_until is None:
            return numbers
        kind = windows.of(kept, self.stream)
        again = kind.end(panes_of(changed)) <= kind.closed_time(commit.revised_until)
        return np.where(again, np.maximum(numbers, commit.revised_from), numbers)

    def adopt(self, commit: QueryCommit, tables: list[pa.Table]) -> None:
        super().adopt(commit, tables)
        self.published, self.late, self._next = self._next, [], None

    def _young(self, table: pa.Table) -> pa.Table:
        """Those that late tuples may still change."""
        kind, first = windows.of(self.query.plan.aggregation, self.stream), self.first_kept()
        return table if first is None else table.filter(pa.array(kind.end(panes_of(table)) > first))


def first_kept(aggregation: Aggregation, stream: Stream, watermark: int | None) -> int | None:
    """Of a query with LATE UPDATE: windows that end at or before this are not changed any more; None before the first
    watermark."""
    if watermark is None:
        return None
    return windows.of(aggregation, stream).closed_time(watermark - stream.units(aggregation.late_for_ms))


def still_revised(aggregation: Aggregation, stream: Stream, watermark: int | None, results: Sequence[ResultSegment]
                  ) -> list[ResultSegment]:
    """Those results that have windows which late tuples may still change; none of a query without LATE UPDATE."""
    first = first_kept(aggregation, stream, watermark) if aggregation.late == "UPDATE" else None
    return [] if first is None else [r for r in results if r.rows and r.last_end_us > stream.micros(first)]
