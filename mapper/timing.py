"""The time of a batch: which event times can be read, which tuples are future, how far the watermark may follow. Pure.

A tuple is judged by the Kafka timestamp of its own record (rule 26). That is the same for every reader at any time, so a
range that is read again gives the same cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mapper.batch import REASONS, Judged, Messages, ParsedBatch
from mars.model.plan import UNITS_PER_SECOND, QueryPlan, Stream

# The calendar ends with years 1 and 9999; a year is left at both ends for the bounds of windows.
FIRST_SECOND, END_SECOND = -62_104_060_800, 253_370_764_800
MARGIN_S = 100 * 366 * 86_400
NO_OBJECT = [REASONS.index("not JSON"), REASONS.index("not a JSON object")]  # nothing of such a tuple reads
NO_CALENDAR_TIME = REASONS.index("out of range")
NEVER = 2**63 - 1


@dataclass(frozen=True)
class Limits:
    """How far ahead of its record's time a tuple may be: the setting's, and those of queries that have their own (MAXAHEAD),
    ascending."""

    setting_ms: int
    own_ms: tuple[int, ...] = ()

    @staticmethod
    def of(plans: Iterable[QueryPlan], setting_ms: int) -> Limits:
        """The limits that these queries have."""
        own = {plan.aggregation.max_ahead_ms for plan in plans}
        return Limits(setting_ms, tuple(sorted(ms for ms in own if ms is not None)))

    @property
    def least_ms(self) -> int:
        """What is no further ahead is future for no query."""
        return min((self.setting_ms, *self.own_ms))

    def alike(self, judged: Judged) -> dict[int | None, Judged]:
        """What all limits say of a batch without a future tuple."""
        return dict.fromkeys((None, *self.own_ms), judged)


def judge(stream: Stream, batch: ParsedBatch, messages: Messages, limits: Limits) -> ParsedBatch:
    """Enter what each limit says into the batch that was parsed from these messages, and return it.

    A tuple is future if its event time can be read and is further than the limit after its record's timestamp. A
    record without a timestamp (Kafka's -1; some producers write 0) sets no limit.
    """
    reads = _time_reads(stream, batch)
    times = batch.event_time if reads is None else batch.event_time[reads]
    if not len(times):
        batch.judged = limits.alike(Judged())
        return batch
    greatest = int(times.max())
    written = _in_units(stream, messages.time_ms)
    if greatest <= int(written.min()):  # no tuple is ahead of any record: in a backlog this is the only work
        batch.judged = limits.alike(Judged(None, greatest))
        return batch
    written = _of_tuples(written, messages, batch)
    lengths: list[tuple[int | None, int]] = [(None, limits.setting_ms), *((ms, ms) for ms in limits.own_ms)]
    batch.judged = {limit: _judged(batch, reads, written, stream.units(ms)) for limit, ms in lengths}
    return batch


def _judged(batch: ParsedBatch, reads: np.ndarray | None, written: np.ndarray, limit: int) -> Judged:
    """What one limit says. `reads` are the tuples whose event time reads (None: all), `written` their records' times."""
    future = batch.event_time > np.minimum(written, NEVER - limit) + limit
    if reads is not None:
        future &= reads
    found = future if future.any() else None
    timely = reads if found is None else ~future if reads is None else reads & ~future
    seen = np.minimum(batch.event_time, written)
    seen = seen if timely is None else seen[timely]
    return Judged(found, int(seen.max()) if len(seen) else None)


def _in_units(stream: Stream, time_ms: np.ndarray) -> np.ndarray:
    """Kafka timestamps in the stream's unit; NEVER if there is none, or none that the unit can hold."""
    per_second = UNITS_PER_SECOND[stream.time_unit]
    units = time_ms // (1_000 // per_second) if per_second < 1_000 else time_ms * (per_second // 1_000)
    outside = (time_ms <= 0) | (time_ms > (2**63 - 1) // max(per_second // 1_000, 1))
    return np.where(outside, NEVER, units) if outside.any() else units


def _of_tuples(written: np.ndarray, messages: Messages, batch: ParsedBatch) -> np.ndarray:
    """The timestamps of the tuples' records: a message may hold many tuples, or none."""
    if len(batch) == len(messages) and np.array_equal(batch.offset, messages.offset):
        return written
    firsts = np.flatnonzero(np.append(True, batch.offset[1:] != batch.offset[:-1]))
    at = np.searchsorted(messages.offset, batch.offset[firsts])
    return np.repeat(written[at], np.diff(np.append(firsts, len(batch))))


def _time_reads(stream: Stream, batch: ParsedBatch) -> np.ndarray | None:
    """bool[n]: the tuple's event time can be read, even if the tuple is bad for other reasons; None if all can."""
    reads = None
    for prefix, reasons in time_reasons(stream, batch):
        reading = (reasons == 0) if prefix else ~np.isin(reasons, NO_OBJECT)
        reads = reading if reads is None else reads & reading
    return reads


def time_reasons(stream: Stream, batch: ParsedBatch) -> list[tuple[str, np.ndarray]]:
    """(prefix, reason per tuple) of everything that keeps a tuple's event time from being read."""
    name, time = stream.time_column, batch.event_time
    reasons = []
    if batch.tuple_bad is not None:
        reasons.append(("", batch.tuple_bad))
    if name in batch.bad:
        reasons.append((f"{name}: ", batch.bad[name]))
    first, end = calendar(stream)
    if len(time) and not first <= int(time.min()) <= int(time.max()) < end:
        reasons.append((f"{name}: ", ((time < first) | (time >= end)) * np.uint8(NO_CALENDAR_TIME)))
    return reasons


def calendar(stream: Stream) -> tuple[int, int]:
    """The first event time that there is, and the first one after all, in the stream's unit."""
    second = UNITS_PER_SECOND[stream.time_unit]
    # In ns the calendar does not fit int64, and the ends of windows must still fit.
    return max(FIRST_SECOND * second, -2**63 + MARGIN_S * second), min(END_SECOND * second, 2**63 - MARGIN_S * second)
