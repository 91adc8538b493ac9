"""Batches of a claim by both ways of reading: what the kernel takes, and beside it what only mapper/parse.py reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from mapper.batch import CountedBatch, Judged, Messages, ParsedBatch, TaskCells, TaskResult
from mapper.fused import FusedReader, Taken
from mapper.fused_cells import CellTable
from mapper.parse import Parser
from mapper.records import Records
from mapper.steps import Steps
from mars.algebra import cells
from mars.model.plan import QueryPlan


@dataclass
class Rest:
    """What mapper/parse.py has read of a batch, as messages and as a batch: no other tuple does not read."""

    messages: Messages
    batch: ParsedBatch


class FusedBatches:
    """Batches of one stream and some of its columns, read by `reader` and `parser`; one thread at a time."""

    def __init__(self, reader: FusedReader, parser: Parser, steps: Steps) -> None:
        self.reader, self.parser, self.steps = reader, parser, steps
        self._tables: dict[bytes, CellTable] = {}

    def parse(self, records: Records) -> tuple[ParsedBatch, Rest | None] | None:
        """The batch, judged (mapper.timing), and what of it the parser has read; None if all of it is for the parser.
        Raises CorruptRecords."""
        taken = self.reader.read(records)
        if taken is None:
            return None
        batch, rest = self.reader.batch(taken), self._rest(taken)
        return together(batch, rest.batch) if rest else batch, rest

    def count(self, records: Records, plans: dict[str, QueryPlan],
              partition: int) -> tuple[CountedBatch, Rest | None] | None:
        """As `parse`, with the cells of these queries, each of which `can_count`, in place of the tuples."""
        tables = self._tables_of(plans)
        if not all(table.fits for table in tables.values()):
            return None
        taken = self.reader.read(records, list(tables.values()))
        if taken is None or not all(table.fits for table in tables.values()):
            return None
        rest = self._rest(taken)
        made = {name: self._result(table, taken, rest, partition) for name, table in tables.items()}
        results = {query: replace(made[plan.aggregation.cells_name], query=query) for query, plan in plans.items()}
        tuples, greatest = taken.tuples, taken.greatest
        if rest is not None:
            tuples, greatest = tuples + len(rest.batch), greatest_of(greatest, rest.batch.max_event_time)
        return CountedBatch(results, tuples, greatest), rest

    def _tables_of(self, plans: dict[str, QueryPlan]) -> dict[bytes, CellTable]:
        """An empty table for all queries that compute the same, by the name of their cells."""
        wanted = {plan.aggregation.cells_name: plan for plan in plans.values()}
        self._tables = {name: self._tables.get(name) or CellTable(plan, self.reader) for name, plan in wanted.items()}
        self.reader.dictionaries.trim()  # before it is asked how many texts they hold
        for table in self._tables.values():
            table.clear()
        return self._tables

    def _rest(self, taken: Taken) -> Rest | None:
        """What the kernel left aside, if anything."""
        if not len(taken.aside):
            return None
        batch = self.parser.parse(taken.aside)
        return Rest(taken.aside, self.steps.judge(self.reader.stream, batch, taken.aside, self.reader.limits))

    def _result(self, table: CellTable, taken: Taken, rest: Rest | None, partition: int) -> TaskResult:
        """The cells of both, for whichever query."""
        stream = self.reader.stream
        parts = cells.split(table.cells(), stream.key_parts)
        done = TaskCells(parts, taken.tuples, counted=taken.tuples, max_event_time=taken.greatest)
        if rest is not None:
            other = self.steps.aggregate(table.plan, stream, rest.batch, partition)
            parts = [cells.merge(table.plan.aggregation, stream, both) for both in zip(parts, other.parts, strict=True)]
            done = TaskCells(parts, done.tuples + other.tuples, other.bad, other.future, other.filtered,
                             done.counted + other.counted, other.bad_reasons,
                             greatest_of(done.max_event_time, other.max_event_time))
        return self.steps.result("", done)


def together(one: ParsedBatch, other: ParsedBatch) -> ParsedBatch:
    """One batch of two that hold tuples of different messages, in the order of their offsets."""
    order = np.argsort(np.concatenate([one.offset, other.offset]), kind="stable")

    def both(left: np.ndarray | None, right: np.ndarray | None, type_: type = np.uint8) -> np.ndarray:
        left = np.zeros(len(one), type_) if left is None else left
        right = np.zeros(len(other), type_) if right is None else right
        return np.concatenate([left, right])[order]

    def either(left: np.ndarray | None, right: np.ndarray | None, type_: type = np.uint8) -> np.ndarray | None:
        return None if left is None and right is None else both(left, right, type_)

    return ParsedBatch(
        {name: pa.concat_arrays([column, other.columns[name]]).take(pa.array(order))
         for name, column in one.columns.items()},
        both(one.event_time, other.event_time), both(one.offset, other.offset), both(one.line, other.line),
        {name: both(one.bad.get(name), other.bad.get(name)) for name in [*other.bad, *one.bad]},
        either(one.tuple_bad, other.tuple_bad),
        {limit: Judged(either(judged.future, other.judged[limit].future, np.bool_),
                       greatest_of(judged.max_event_time, other.judged[limit].max_event_time))
         for limit, judged in one.judged.items()})


def greatest_of(*times: int | None) -> int | None:
    """The greatest of event times, of which some may be none."""
    return max((time for time in times if time is not None), default=None)
