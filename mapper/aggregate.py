"""One query applied to one parsed batch: which tuples count, and their cells per key part."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from mapper.batch import REASONS, ParsedBatch
from mars import cells
from mars.evaluate import evaluate
from mars.plan import UNITS_PER_SECOND, QueryPlan, Stream

# The calendar ends with years 1 and 9999; a year is left at both ends for the bounds of windows.
FIRST_SECOND, END_SECOND = -62_104_060_800, 253_370_764_800
MARGIN_S = 100 * 366 * 86_400
NO_OBJECT = [REASONS.index("not JSON"), REASONS.index("not a JSON object")]  # nothing of such a tuple reads
NO_CALENDAR_TIME = REASONS.index("out of range")


@dataclass
class TaskCells:
    """What one task makes of one batch.

    parts: the cells of each key part, tables that may be empty. tuples = bad + future + filtered + counted, exactly.
    bad_reasons: '{column}: {reason}', or the reason alone for a tuple that does not read at all, to a number of tuples.
    """

    parts: list[pa.Table]
    tuples: int = 0
    bad: int = 0
    future: int = 0
    filtered: int = 0
    counted: int = 0
    bad_reasons: dict[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """The counters by the names that a query shows them under."""
        return {"tuples": self.tuples, "bad": self.bad, "future": self.future, "filtered": self.filtered}


def aggregate_task(plan: QueryPlan, stream: Stream, batch: ParsedBatch, partition: int, now_ms: int,
                   future_limit_ms: int) -> TaskCells:
    """The cells and counters of one query for one batch.

    A tuple is tested in this order: bad, future (more than `future_limit_ms` ahead of `now_ms`, the claim's time),
    filtered (WHERE is not true); what is left counts.
    """
    length = len(batch)
    reads, bad_reasons = _reading(plan, stream, batch)
    timely = reads & ~(batch.event_time > stream.units(now_ms + future_limit_ms))
    counts = timely
    if plan.where is not None:
        holds = evaluate(plan.where, batch.columns, length).fill_null(False)
        counts = timely & holds.to_numpy(zero_copy_only=False)
    table = cells.aggregate(plan, stream, batch.columns, batch.event_time, counts, partition, batch.offset, batch.line)
    parts = cells.split(table, stream.key_parts)
    read, on_time, counted = (int(np.count_nonzero(mask)) for mask in (reads, timely, counts))
    return TaskCells(parts, length, length - read, read - on_time, on_time - counted, counted, bad_reasons)


def max_event_time(stream: Stream, batch: ParsedBatch, now_ms: int, future_limit_ms: int) -> int | None:
    """The batch's part in its partition's watermark, in stream units: the greatest min(event time, now) of the tuples
    whose event time reads and is not future, though they may be bad for other reasons; None if there is none."""
    timely = ~(batch.event_time > stream.units(now_ms + future_limit_ms))
    for prefix, reasons in time_reasons(stream, batch):
        timely &= (reasons == 0) if prefix else ~np.isin(reasons, NO_OBJECT)
    if not timely.any():
        return None
    return min(int(batch.event_time[timely].max()), stream.units(now_ms))


def _reading(plan: QueryPlan, stream: Stream, batch: ParsedBatch) -> tuple[np.ndarray, dict[str, int]]:
    """(bool[n]: the tuple reads for this plan, tuples per reason that do not): each tuple by its first reason."""
    reads = np.ones(len(batch), np.bool_)
    found: dict[str, int] = {}
    others = [(f"{name}: ", batch.bad[name]) for name in plan.columns
              if name in batch.bad and name != stream.time_column]
    for prefix, reasons in [*time_reasons(stream, batch), *others]:
        numbers = np.bincount(reasons[reads], minlength=1)
        for reason in np.flatnonzero(numbers[1:]) + 1:
            found[prefix + REASONS[reason]] = found.get(prefix + REASONS[reason], 0) + int(numbers[reason])
        reads &= reasons == 0
    return reads, found


def time_reasons(stream: Stream, batch: ParsedBatch) -> list[tuple[str, np.ndarray]]:
    """(prefix, reason per tuple) of everything that keeps a tuple's event time from being read."""
    name, time = stream.time_column, batch.event_time
    reasons = []
    if batch.tuple_bad is not None:
        reasons.append(("", batch.tuple_bad))
    if name in batch.bad:
        reasons.append((f"{name}: ", batch.bad[name]))
    second = UNITS_PER_SECOND[stream.time_unit]
    # In ns the calendar is longer than int64: there the ends of windows must still fit.
    first, end = max(FIRST_SECOND * second, -2**63 + MARGIN_S * second), min(END_SECOND * second, 2**63 - MARGIN_S * second)
    if len(time) and not first <= int(time.min()) <= int(time.max()) < end:
        reasons.append((f"{name}: ", ((time < first) | (time >= end)) * np.uint8(NO_CALENDAR_TIME)))
    return reasons
