"""A query's state with the files that commits make of it: what is closed stays in them until they are written anew.

Whoever reads them again, a new owner or a reader of open windows, must not count it twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import pyarrow as pa

from mars.algebra import cells
from mars.model.commits import QueryCommit, Segment
from mars.model.plan import QueryPlan
from mars.results.open_windows import OpenWindows
from mars.results.snapshot import Snapshot
from reducer.state.merge import QueryState
from tests.reducer.pieces import QUERY, STREAM, fresh, piece

Rows = dict[tuple[int, int, int], tuple[int, int]]  # (start, end, key) -> count(*), sum(k)


def rows_of(plan: QueryPlan, tables: list[pa.Table]) -> Rows:
    """The rows of cells of windows, which are in order."""
    rows = shown(cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, tables)))
    assert list(rows) == sorted(rows)
    return rows


def shown(table: pa.Table) -> Rows:
    """Rows by their window and key."""
    found = table.to_pylist()
    rows = {(int(row["window_start"].timestamp()), int(row["window_end"].timestamp()), row["k"]): (row["count"], row["sum"])
            for row in found}
    assert len(rows) == len(found)
    return rows


@dataclass
class Kept:
    """`rows` are those of the windows that were closed when it was committed; `times` are those of all tuples ever sent, and
    the key of each is the rest of its offset by 3. `commits` are the last ones."""

    plan: QueryPlan
    state: QueryState = field(init=False)
    files: dict[Segment, bytes] = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)
    times: list[int] = field(default_factory=list)
    commits: list[QueryCommit] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.query = replace(QUERY, plan=self.plan)
        self.state = fresh(self.query)
        self.readers = OpenWindows(self)  # which reads nothing but files

    def read(self, segment: Segment) -> bytes:
        """A file's content."""
        return self.files[segment]

    def accept(self, times: list[int]) -> list[tuple[int, int]]:
        """One batch; (time, key) of its tuples."""
        first = len(self.times)
        self.times += times
        self._merge(first, len(self.times))
        return [(time, (first + i) % 3) for i, time in enumerate(times)]

    def _merge(self, start: int, end: int) -> None:
        self.state.accept(piece(start, 0, start, self.times[start:end], plan=self.plan))

    @property
    def late(self) -> int:
        return self.state.commit.counters["late"]

    def commit(self, tables_max: int = 4) -> None:
        entry = self.state.commit.copy()
        entry.commits += 1
        held, new = self.state.to_write(tables_max)
        for table in new:
            segment = Segment(f"{next(self.numbers)}", 0, 0, 0)
            self.files[segment] = cells.encode(table)
            held.append((segment, table))
        entry.state = [segment for segment, _ in held]
        closed = self.state.closed_cells()
        for window, row in (rows_of(self.plan, [closed]) if closed is not None else {}).items():
            assert self.rows.setdefault(window, row) == row
        self.state.adopt(entry, [table for _, table in held])
        self.commits = [*self.commits[-3:], entry]

    def restart(self, back: int = 0) -> None:
        """As of the last commit, or `back` commits before it; what came since is merged again, in other batches."""
        commit = self.commits[max(-len(self.commits), -1 - back)]
        commit = replace(commit.copy(), commits=self.state.commit.commits + 1, fell_at=self.state.commit.commits + 1)
        self.state = QueryState.resume(self.query, STREAM, commit, [cells.decode(self.files[s]) for s in commit.state])
        at = commit.positions.get(0, 0)
        while at < len(self.times):
            self._merge(at, min(at + 1 + at % 7, len(self.times)))
            at = self.state.commit.positions[0]

    def partial(self) -> Rows:
        """What readers of open windows make of the last commit: one that goes on from what it has, and one that begins."""
        commit = self.commits[-1]
        snapshot = Snapshot(STREAM, self.query, (commit,))
        rows = shown(self.readers.rows(snapshot, 0, commit))
        assert rows == shown(OpenWindows(self).rows(snapshot, 0, commit))
        return rows
