"""Runs over queries whose last windows are closed by the clock (EMIT FINAL TIMEOUT), and what must hold of those."""

from __future__ import annotations

from collections.abc import Iterator

from mars.model.commits import QueryCommit, ResultSegment
from mars.model.registry import RUNNING, Query
from tests.simulate import cells
from tests.simulate.cells import WINDOW_MS
from tests.simulate.check import Broken
from tests.simulate.late import KeepingChecker

TIMEOUT_MS = 250


class TimedChecker(KeepingChecker):
    """The clock may close a window only where all logs have stood still for so long, and the key part has read them to
    their ends; its rows say so, and no other rows do. Only tuples that come after that may be late for it."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)
        self.judged: set[tuple] = set()

    def held(self, entry: QueryCommit) -> list[int]:
        return sorted(cell & ~cells.TIMED_OUT for cell in super().held(entry))

    def rests(self, query: Query) -> Iterator[tuple[tuple[int, ...], int]]:
        """(the ends of all logs, the end of the last window that the clock may close) of each time for which they stood
        still for so long, the last one first."""
        until = self.topic.scheduler.now
        for move in reversed(self.topic.moves):
            time = self._greatest(query, move.ends)
            if until - move.at_s > TIMEOUT_MS / 1000 and move.is_stable and time is not None:
                yield move.ends, time // WINDOW_MS * WINDOW_MS + WINDOW_MS
            until = move.at_s

    def _greatest(self, query: Query, ends: tuple[int, ...]) -> int | None:
        """The greatest event time up to there, as the watermark counts it."""
        left_out, limit = self._ahead(query) | self.topic.unreadable, self.topic.written
        return max((min(record[1], limit[record[0]]) for p, end in enumerate(ends)
                    for record in self.topic.logs[p].records[query.start.get(p, 0):end]
                    if record and record[0] not in left_out), default=None)

    def _is_prefix(self, k: int, query: str, entry: QueryCommit, ends: bool = False) -> None:
        super()._is_prefix(k, query, entry, ends)
        if any(log.cuts for log in self.topic.logs):
            return  # of a query that has counted what a log has lost nothing is promised
        for result in entry.results:
            if (k, result.segment) not in self.judged:
                self.judged.add((k, result.segment))
                self._judge(k, self.queries.queries[query], entry, result)

    def _judge(self, k: int, query: Query, entry: QueryCommit, result: ResultSegment) -> None:
        table, reached = self._table(result.segment), max(entry.max_event_time.values(), default=0)
        closed = {(cell >> cells.ID_BITS) + WINDOW_MS for cell in table if cell & cells.TIMED_OUT}
        others = {(cell >> cells.ID_BITS) + WINDOW_MS for cell in table if not cell & cells.TIMED_OUT}
        if others and max(others) > reached:
            raise Broken(f"I11: {query.id} in key part {k}: the window that ends at {max(others)} is closed, at event time "
                         f"{reached}, and its rows do not say that the clock has closed it")
        if closed and not any(self._has_read(query, entry, ends) and max(closed) <= end for ends, end in self.rests(query)):
            raise Broken(f"I11: {query.id} in key part {k}: the clock has closed the window that ends at {max(closed)}, at "
                         f"positions {entry.positions}, where logs did not stand still or were not read: {self.topic.moves}")

    def _has_read(self, query: Query, entry: QueryCommit, ends: tuple[int, ...]) -> bool:
        return all(entry.positions.get(p, query.start.get(p, 0)) >= end for p, end in enumerate(ends))

    def _may_be_late(self, query: str, place: tuple[int, int, int]) -> bool:
        p, offset, time = place
        rests = self.rests(self.queries.queries[query])
        return super()._may_be_late(query, place) or any(
            offset >= (ends[p] if p < len(ends) else 0) and time // WINDOW_MS * WINDOW_MS < end for ends, end in rests)

    def is_closed(self) -> bool:
        """Has the clock closed the last windows of all queries, in each key part at the same watermark?"""
        if any(log.cuts for log in self.topic.logs):
            return True
        for id_, query in self.queries.queries.items():
            time = self._greatest(query, tuple(len(log.records) for log in self.topic.logs))
            marks = {self.manifests[k].queries[id_].watermark for k in range(self.key_parts)}
            if query.state == RUNNING and time is not None and marks != {time // WINDOW_MS * WINDOW_MS + WINDOW_MS}:
                return False
        return True
