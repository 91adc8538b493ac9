"""One query applied to one parsed batch: which tuples count, and their cells per key part."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from mapper.batch import REASONS, ParsedBatch, TaskCells
from mapper.timing import time_reasons
from mars.algebra import cells
from mars.algebra.evaluate import evaluate
from mars.model.plan import QueryPlan, Stream

log = logging.getLogger("mars.mapper")


@dataclass(frozen=True)
class Read:
    """Which tuples of a batch can be read for a query, and are `timely`: not future either. `reasons` tells the number of
    the others that cannot be read, each by its first reason."""

    reads: np.ndarray
    timely: np.ndarray
    reasons: dict[str, int]

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many tuples can be read, and how many are timely."""
        return int(np.count_nonzero(self.reads)), int(np.count_nonzero(self.timely))

    @property
    def all_timely(self) -> bool:
        """Are all tuples timely?"""
        return self.counts[1] == len(self.timely)

    def result(self, parts: list[pa.Table], counted: int, max_event_time: int | None) -> TaskCells:
        """The result of a task that counts so many of the timely tuples."""
        (read, timely), length = self.counts, len(self.reads)
        return TaskCells(parts, length, length - read, read - timely, timely - counted, counted, self.reasons,
                         max_event_time)


def aggregate_task(plan: QueryPlan, stream: Stream, batch: ParsedBatch, partition: int) -> TaskCells:
    """The cells and counters of one query for one batch.

    A tuple is tested in this order: bad, future (as the batch says), filtered (WHERE is not true). The rest counts.
    """
    if batch.common is not None:
        try:
            return batch.common(plan.aggregation)
        except Exception:
            # What cannot be computed may be another query's: by itself, each fails by its own fault alone.
            log.exception("what queries have in common cannot be computed; each is computed by itself")
            batch.common = None
    length, kept = len(batch), plan.aggregation
    read = reading(kept.columns, kept.max_ahead_ms, stream, batch)
    counts = read.timely
    if kept.where is not None:
        holds = evaluate(kept.where, batch.columns, length).fill_null(False)
        counts = counts & holds.to_numpy(zero_copy_only=False)
    table = cells.aggregate(kept, stream, batch.columns, batch.event_time, counts, partition, batch.offset, batch.line)
    return read.result(cells.split(table, stream.key_parts), int(np.count_nonzero(counts)),
                       batch.judged[kept.max_ahead_ms].max_event_time)


def reading(columns: Iterable[str], max_ahead_ms: int | None, stream: Stream, batch: ParsedBatch) -> Read:
    """Which tuples read in these columns, and are not future by this limit."""
    reads = np.ones(len(batch), np.bool_)
    found: dict[str, int] = {}
    others = [(f"{name}: ", batch.bad[name]) for name in columns if name in batch.bad and name != stream.time_column]
    for prefix, reasons in [*time_reasons(stream, batch), *others]:
        numbers = np.bincount(reasons[reads], minlength=1)
        for reason in np.flatnonzero(numbers[1:]) + 1:
            found[prefix + REASONS[reason]] = found.get(prefix + REASONS[reason], 0) + int(numbers[reason])
        reads &= reasons == 0
    future = batch.judged[max_ahead_ms].future
    return Read(reads, reads if future is None else reads & ~future, found)
