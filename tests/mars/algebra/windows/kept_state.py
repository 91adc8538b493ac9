"""A query's state with the files that commits make of it: what is closed stays in them until they are written anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count

import pyarrow as pa

from mars.algebra import cells
from mars.model.commits import Segment
from mars.model.plan import QueryPlan
from reducer.state.merge import QueryState
from tests.reducer.pieces import QUERY, STREAM, fresh, piece

Rows = dict[tuple[int, int, int], tuple[int, int]]  # (start, end, key) -> count(*), sum(k)


def rows_of(plan: QueryPlan, tables: list[pa.Table]) -> Rows:
    """The rows of cells of windows."""
    found = cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, tables)).to_pylist()
    rows = {(int(row["window_start"].timestamp()), int(row["window_end"].timestamp()), row["k"]): (row["count"], row["sum"])
            for row in found}
    assert len(rows) == len(found)
    assert list(rows) == sorted(rows)
    return rows


@dataclass
class Kept:
    """`rows` are those of the windows that were closed when it was committed; `offset` is the next tuple's, and its key the
    rest by 3."""

    plan: QueryPlan
    state: QueryState = field(init=False)
    files: dict[Segment, bytes] = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)
    offset: int = 0
    numbers: Iterable[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.query = replace(QUERY, plan=self.plan)
        self.state = fresh(self.query)

    def accept(self, times: list[int]) -> list[tuple[int, int]]:
        """One batch; (time, key) of its tuples."""
        self.state.accept(piece(self.offset, 0, self.offset, times, plan=self.plan))
        tuples = [(time, (self.offset + i) % 3) for i, time in enumerate(times)]
        self.offset += len(times)
        return tuples

    @property
    def late(self) -> int:
        return self.state.commit.counters["late"]

    def commit(self, tables_max: int = 4) -> None:
        entry = self.state.commit.copy()
        held, new = self.state.to_write(tables_max)
        for table in new:
            segment = Segment(f"{next(self.numbers)}", 0, 0, 0)
            self.files[segment] = cells.encode(table)
            held.append((segment, table))
        entry.state = [segment for segment, _ in held]
        closed = self.state.closed_cells()
        for window, row in (rows_of(self.plan, [closed]) if closed is not None else {}).items():
            assert window not in self.rows
            self.rows[window] = row
        self.state.adopt(entry, [table for _, table in held])

    def restart(self) -> None:
        """As of the last commit."""
        commit = self.state.commit
        self.state = QueryState.resume(self.query, STREAM, commit, [cells.decode(self.files[s]) for s in commit.state])

    def partial(self) -> Rows:
        """What readers of open windows make of the last commit's files."""
        aggregation, commit = self.plan.aggregation, self.state.commit
        merged = cells.merge(aggregation, STREAM, [cells.decode(self.files[s]) for s in commit.state])
        if commit.watermark is not None:
            [merged] = cells.unclosed(aggregation, STREAM, [merged], commit.watermark)
        return rows_of(self.plan, [cells.of_windows(aggregation, STREAM, merged, before=commit.watermark)])
