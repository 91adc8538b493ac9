"""The state of a query with EMIT FINAL TIMEOUT d: if nothing comes for d by the clock, its last windows are closed without
the next tuple, and their cells say so. Pure: time comes in facts."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from mars.algebra import cells_stamps
from reducer.state.close import Facts, clock_watermark, watermark_of
from reducer.state.merge import QueryState


@dataclass
class TimedState(QueryState):
    """`by_time` is the watermark that event times alone have reached, as of the last `pass_check`."""

    by_time: int | None = None

    def pass_check(self, partitions: tuple[int, ...], heard: Facts | None, facts: Facts) -> int | None:
        given = (self.query.plan, self.stream, partitions, self.commit, self.query.start, heard)
        self.by_time, by_clock = watermark_of(*given), clock_watermark(*given)
        reached = max((mark for mark in (self.by_time, by_clock) if mark is not None), default=None)
        return self.checked.offer(reached, facts)

    def close(self, watermark: int) -> None:
        """As for any query; the cells of windows that event times alone would not close are stamped."""
        if self.by_time is not None and self.by_time < watermark:
            super().close(self.by_time)
        before, closed = self.commit.watermark, len(self.closed)
        super().close(watermark)
        if self.by_time is None or self.by_time < watermark:
            self.closed[closed:] = [self._stamped(table, (before, watermark)) for table in self.closed[closed:]]

    def _stamped(self, table: pa.Table, marks: tuple[int | None, int]) -> pa.Table:
        kept = self.query.plan.aggregation
        return self._made("timed out", [table], lambda: cells_stamps.stamped(kept, table, timed_out=1), marks)
