"""What commits keep of closed windows: their cells, of which readers make rows. So queries that have the same cells keep
them once, whatever each shows of them, and a query may show its past in another way.

Of partials that grow with the tuples, such as the set of a count(DISTINCT ..), rows are kept instead: for as long as results
are kept they would take many times the room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import cells, cells_finish, cells_late, cells_stamps, windows
from mars.algebra.cells_finish import instants
from mars.algebra.cells_layout import lasts_of, panes_of
from mars.model.commits import ChangingResults, ResultSegment, Segment
from mars.model.plan import QueryPlan, Stream
from reducer.state.once import Once


@dataclass(frozen=True)
class Closed:
    """Closed windows of a query as they are kept. `table` are their cells, or the rows that `plan` makes of them."""

    plan: QueryPlan
    stream: Stream
    table: pa.Table
    is_cells: bool

    @staticmethod
    def of(plan: QueryPlan, stream: Stream, closed: pa.Table, once: Once) -> Closed:
        """What is to be kept of the cells of closed windows."""
        if not plan.aggregation.grows or plan.aggregation.is_changelog:  # the stamps of cells are not in rows
            return Closed(plan, stream, closed, is_cells=True)
        rows = once.get("finish", plan.aggregation, [plan, closed], lambda: cells_finish.finish(plan, stream, closed))
        return Closed(plan, stream, rows, is_cells=False)

    def together(self, blobs: list[bytes], are_cells: bool) -> Closed:
        """What `blob` gave of others of the same query, in one; all of them must have one form."""
        tables = [cells.decode(data) if are_cells else pa.ipc.open_stream(data).read_all() for data in blobs]
        return replace(self, table=pa.concat_tables(tables), is_cells=are_cells)

    def none(self) -> Closed:
        """No window of the query."""
        return replace(self, table=self.table.slice(0, 0))

    def blob(self) -> bytes:
        """As it is stored in a file."""
        if self.is_cells:
            return cells.encode(self.table.combine_chunks())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return sink.getvalue().to_pybytes()

    def describe(self, segment: Segment, now_ms: int) -> ResultSegment:
        """The description of a segment that holds it and is committed now; there must be a window."""
        if self.is_cells:
            kind = windows.of(self.plan.aggregation, self.stream)
            times = [instants(self.stream, edge) for edge in kind.bounds(panes_of(self.table), lasts_of(self.table))]
        else:
            times = [self.table[name] for name in ("window_start", "window_end")]
        starts, ends = (pc.min_max(column.cast(pa.int64())) for column in times)
        place = (segment, len(self.table), starts["min"].as_py(), starts["max"].as_py(), ends["max"].as_py(), now_ms,
                 ends["min"].as_py(), self.is_cells)
        if not self.plan.aggregation.is_changelog:
            return ResultSegment(*place)
        changed = cells_stamps.stamps_of(self.plan.aggregation, self.table, "changed")
        return ChangingResults(*place, changes=(int(changed.min()), int(changed.max())))


@dataclass(frozen=True)
class Late(Closed):
    """Late cells of a query (mars/algebra/cells_late.py), which are kept like closed windows. They are described by the
    windows that their tuples have missed."""

    @staticmethod
    def of_tables(plan: QueryPlan, stream: Stream, tables: list[pa.Table], once: Once) -> Late:
        """Those of some tables."""
        kept = plan.aggregation
        return Late(plan, stream, once.get("late", kept, tables, lambda: cells_late.together(kept, stream, tables)), True)

    def describe(self, segment: Segment, now_ms: int) -> ResultSegment:
        starts, ends, _ = cells_late.missed(windows.of(self.plan.aggregation, self.stream), self.table)
        first, last, last_end, first_end = (self.stream.micros(int(time)) for time in
                                            (starts.min(), starts.max(), ends.max(), ends.min()))
        return ResultSegment(segment, len(self.table), first, last, last_end, now_ms, first_end, True)
