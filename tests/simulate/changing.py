"""Runs over queries whose rows change: with real cells, since rows of several tuples are what changes.

A row is one of a window and of a key, which some ids share. It lists its ids, so here too a loss and a double do not cancel
each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import orjson
import pyarrow as pa

from mapper.batch import TaskCells
from mapper.steps import Steps
from mars.algebra import cells as algebra
from mars.algebra.cells_wire import decode, encode
from mars.model.commits import QueryCommit, ResultSegment, Segment
from mars.model.expressions import Column
from mars.model.partials import AggregateCall, kept_once
from mars.model.plan import Key, Output, Presentation, QueryPlan, Stream, Window
from tests.plans import made
from tests.simulate import cells
from tests.simulate.cells import WINDOW_MS
from tests.simulate.check import Broken, Checker

KEYS = 1  # rows of a window in each key part
LATE_MS = 12 * WINDOW_MS
IDS = AggregateCall("array_agg", Column("id", "BIGINT"), None, "STRING", options=(1_000,))
Row = tuple[int, int]  # start of the window in ms, key


def _plan(shown: AggregateCall, emission: str, **policy: object) -> QueryPlan:
    calls = (IDS, shown)
    outputs = (Output("k", Column("k0", "BIGINT"), "BIGINT"), Output("ids", Column("a0", "STRING"), "STRING"),
               Output(shown.function, Column("a1", shown.type), shown.type))
    plan = made(("t", "id"), (Key("k", Column("k", "BIGINT"), "BIGINT"),), (), window=Window("tumbling", WINDOW_MS),
                watermark_ms=0, idle_ms=400, **policy)
    kept = kept_once((*calls, AggregateCall("changed", None, None, "BIGINT")))
    kept_plan = plan.aggregation.__class__(**{**plan.aggregation.__dict__, "partials": kept})
    return QueryPlan("", kept_plan, Presentation(calls, outputs, emission=emission))


CHANGES = _plan(AggregateCall("final", None, None, "BOOLEAN"), "CHANGES")
REVISED = _plan(AggregateCall("revision", None, None, "BIGINT"), "FINAL", late="UPDATE", late_for_ms=LATE_MS)


def aggregate_task(plan: QueryPlan, stream: Stream, batch: cells.Batch, partition: int) -> TaskCells:
    """Stands for mapper.aggregate.aggregate_task: the real cells of each key part, in which the ids have their own."""
    limit, parts = plan.aggregation.max_ahead_ms, list[pa.Table]()
    timely = batch.timely(limit)
    for part in range(stream.key_parts):
        chosen = [record for record in timely if record[1] % stream.key_parts == part]
        offsets, ids, times = (np.array([record[i] for record in chosen], np.int64) for i in range(3))
        columns = {"id": pa.array(ids), "k": pa.array(key_of(ids, stream.key_parts))}
        parts.append(algebra.aggregate(plan.aggregation, stream, columns, times, None, partition, offsets,
                                       np.zeros(len(chosen), np.int32)))
    return TaskCells(parts, len(batch), 0, len(batch) - len(timely), 0, len(timely),
                     max_event_time=batch.judged[limit].max_event_time)


def key_of(ids: np.ndarray, key_parts: int) -> np.ndarray:
    """The key of each id; all ids of a key are in one key part."""
    return ids % (KEYS * key_parts)


STEPS = Steps(cells.Parser, cells.judge, aggregate_task, encode)


class ChangingChecker(Checker):
    """Finds ids in real cells, of results in the newest revision of each row; and no revision may be published in two
    forms."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)
        self.arrow: dict[Segment, pa.Table] = {}
        self.published: dict[tuple, list[int]] = {}

    def _cells(self, segment: Segment) -> pa.Table:
        table = self.arrow.get(segment)
        if table is None:
            table = self.arrow[segment] = decode(self.storage.peek(segment))
        return table

    def _table(self, segment: Segment) -> cells.Table:
        return cells.Table(sorted(cell for _, found in self._rows(self._cells(segment)) for cell in found))

    def _rows(self, table: pa.Table) -> Iterator[tuple[Row, list[int]]]:
        """Each row, and its ids as cells."""
        ids = next(name for name in table.schema.names if name.startswith("array_agg") or name.endswith("_values"))
        for window, key, found in zip(*(table[name].to_pylist() for name in ("w", "k0", ids)), strict=True):
            yield (window, key), [window << cells.ID_BITS | id_ for id_ in found]

    def held(self, entry: QueryCommit) -> list[int]:
        found = [cell for _, ids, _ in self.results(entry).values() for cell in ids]
        return sorted(found + [cell for _, ids in self.open(entry) for cell in ids])

    def results(self, entry: QueryCommit) -> dict[Row, tuple[int, list[int], int]]:
        """The newest revision of each row: (commit, ids, number of the revision). Of EMIT CHANGES there is one of each."""
        newest: dict[Row, tuple[int, list[int], int]] = {}
        for result in self._results(entry):
            for row, ids, changed, number in self._versions(result):
                if changed > newest.get(row, (0, [], 0))[0]:
                    newest[row] = changed, ids, number
        return newest

    def open(self, entry: QueryCommit) -> list[tuple[Row, list[int]]]:
        """The rows of open windows, one for each table of the state that has some of their ids."""
        found = [row for segment in entry.state for row in self._rows(self._cells(segment))]
        return [(row, ids) for row, ids in found
                if entry.watermark is None or row[0] + WINDOW_MS > entry.watermark]

    def _versions(self, result: ResultSegment) -> list[tuple[Row, list[int], int, int]]:
        table = self._cells(result.segment)
        stamps = {name.rstrip("0123456789_at"): table[name].to_pylist() for name in table.schema.names
                  if name.endswith("_at")}
        last = next(values for name, values in stamps.items() if name != "changed")
        return [(row, ids, changed, number) for (row, ids), changed, number in
                zip(self._rows(table), stamps["changed"], last, strict=True)]

    def _is_prefix(self, k: int, query: str, entry: QueryCommit, ends: bool = False) -> None:
        super()._is_prefix(k, query, entry, ends)
        for result in entry.results:
            for row, ids, changed, number in self._versions(result):
                if changed > entry.commits:
                    raise Broken(f"I5: {query} in key part {k} has a change of commit {changed} at commit {entry.commits}")
                before = self.published.setdefault((query, k, row, number), ids)
                if self.queries.queries[query].plan.aggregation.late == "UPDATE" and sorted(before) != sorted(ids):
                    raise Broken(f"I2: {query} in key part {k}: revision {number} of {row} was {before}, and is {ids}")

    def _is_shown_again(self, query: str, start: int, before: QueryCommit) -> bool:
        revised = self.queries.queries[query].plan.aggregation.late == "UPDATE"
        return not revised and super()._is_shown_again(query, start, before)


def shown_row(row: dict) -> tuple[Row, tuple[tuple[int, ...], object]]:
    """A row as a reader gets it: (row, (ids, its last column))."""
    start = int(row["window_start"].timestamp() * 1000 + 0.5)
    *_, last = row.values()
    return (start, row["k"]), (tuple(sorted(orjson.loads(row["ids"]))), last)
