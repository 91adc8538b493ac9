"""One query applied to one parsed batch: which tuples count, and their cells per key part."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from mapper.batch import REASONS, ParsedBatch
from mapper.timing import time_reasons
from mars.algebra import cells
from mars.algebra.evaluate import evaluate
from mars.model.plan import QueryPlan, Stream


@dataclass
class TaskCells:
    """The result of one task for one batch.

    parts: the cells of each key part, tables that may be empty. tuples = bad + future + filtered + counted, exactly.
    max_event_time: the batch's part in the watermark, by the query's limit of the future.
    bad_reasons: number of tuples by '{column}: {reason}', or by the reason alone for a tuple that cannot be read at all.
    """

    parts: list[pa.Table]
    tuples: int = 0
    bad: int = 0
    future: int = 0
    filtered: int = 0
    counted: int = 0
    bad_reasons: dict[str, int] = field(default_factory=dict)
    max_event_time: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The counters, by the names under which a query shows them."""
        return {"tuples": self.tuples, "bad": self.bad, "future": self.future, "filtered": self.filtered}


def aggregate_task(plan: QueryPlan, stream: Stream, batch: ParsedBatch, partition: int) -> TaskCells:
    """The cells and counters of one query for one batch.

    A tuple is tested in this order: bad, future (as the batch says), filtered (WHERE is not true). The rest counts.
    """
    length, kept = len(batch), plan.aggregation
    judged = batch.judged[kept.max_ahead_ms]
    reads, bad_reasons = _reading(plan, stream, batch)
    timely = reads if judged.future is None else reads & ~judged.future
    counts = timely
    if kept.where is not None:
        holds = evaluate(kept.where, batch.columns, length).fill_null(False)
        counts = timely & holds.to_numpy(zero_copy_only=False)
    table = cells.aggregate(kept, stream, batch.columns, batch.event_time, counts, partition, batch.offset, batch.line)
    parts = cells.split(table, stream.key_parts)
    read, on_time, counted = (int(np.count_nonzero(mask)) for mask in (reads, timely, counts))
    return TaskCells(parts, length, length - read, read - on_time, on_time - counted, counted, bad_reasons,
                     judged.max_event_time)


def _reading(plan: QueryPlan, stream: Stream, batch: ParsedBatch) -> tuple[np.ndarray, dict[str, int]]:
    """(bool[n]: the tuple can be read for this plan; the number of other tuples by reason, each by its first reason)."""
    reads = np.ones(len(batch), np.bool_)
    found: dict[str, int] = {}
    others = [(f"{name}: ", batch.bad[name]) for name in plan.aggregation.columns
              if name in batch.bad and name != stream.time_column]
    for prefix, reasons in [*time_reasons(stream, batch), *others]:
        numbers = np.bincount(reasons[reads], minlength=1)
        for reason in np.flatnonzero(numbers[1:]) + 1:
            found[prefix + REASONS[reason]] = found.get(prefix + REASONS[reason], 0) + int(numbers[reason])
        reads &= reasons == 0
    return reads, found

