"""What the next window of a query waits for: its watermark, and the partition that holds it back. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from mars.algebra import windows
from mars.model.durations import format_duration
from mars.model.identifiers import identifier
from mars.model.registry import RUNNING, Query
from mars.results.formats import timestamp_text
from mars.results.snapshot import Snapshot


@dataclass(frozen=True)
class Holder:
    """The partition that the watermark waits for, and the greatest event time that it has shown (None: none yet).
    `behind` is a partition that the watermark has passed. It holds the watermark back too, unless it is idle; commits do
    not tell which."""

    partition: int
    time: int | None
    behind: int | None = None


def what_it_waits_for(snapshot: Snapshot) -> str:
    """Why no further window is closed, as half a sentence."""
    if snapshot.query.state != RUNNING:
        return stopped(snapshot.query)
    if not snapshot.is_whole:
        return "windows whose rows were lost are computed again"
    return f"the watermark is {mark(snapshot)}, and {held_by(snapshot, holder(snapshot))}{by_clock(snapshot)}"


def last_closed_us(snapshot: Snapshot) -> int | None:
    """No window that begins after it is closed; None before the first watermark."""
    if snapshot.watermark_us is None:
        return None
    kind = windows.of(snapshot.query.plan.aggregation, snapshot.stream)
    return snapshot.watermark_us - kind.delay_us - kind.shortest_us


def later_windows(snapshot: Snapshot) -> str:
    """A sentence about the windows that are not closed yet; there must be a watermark."""
    begin = timestamp_text(last_closed_us(snapshot))
    return f"Windows of {snapshot.query.name} that begin after {begin} are not closed yet: {what_it_waits_for(snapshot)}."


def stopped(query: Query) -> str:
    """The state of a query that does not run, as half a sentence."""
    return f"{query.name} is {query.state}: {query.reason or f'RESUME QUERY {identifier(query.name)} continues it'}"


def mark(snapshot: Snapshot) -> str:
    """The watermark as text."""
    return timestamp_text(snapshot.watermark_us) or "not known yet"


def held_by(snapshot: Snapshot, found: Holder) -> str:
    """What holds the watermark back, as half a sentence."""
    plan, stream = snapshot.query.plan, snapshot.stream
    place = f"partition {found.partition} of topic '{stream.topic}'"
    if found.time is None:
        idle = "IDLE is OFF, so the query waits for it" if plan.aggregation.idle_ms is None \
            else f"the query waits for it until it has been idle for {plan.aggregation.idle_ms / 1000:g} s"
        return f"{place} has shown no event time yet ({idle})"
    time = timestamp_text(stream.micros(found.time))
    if found.behind is not None and plan.aggregation.idle_ms is not None:
        return (f"{place} holds it back (newest event time: {time}); so does partition {found.behind}, which is further "
                f"behind, unless it has been idle for {plan.aggregation.idle_ms / 1000:g} s")
    if snapshot.watermark is not None and found.time - stream.units(plan.aggregation.watermark_ms) > snapshot.watermark:
        return f"{place}, the last one to wait for, has reached {time}, so one of the next commits will move it"
    return f"{place} holds it back (newest event time: {time})"


def by_clock(snapshot: Snapshot) -> str:
    """When the clock closes the last windows, as a clause behind what else does; empty if it never does."""
    timeout_ms = snapshot.query.plan.aggregation.timeout_ms
    return "" if timeout_ms is None else (
        f"; once nothing has come to topic '{snapshot.stream.topic}' for {format_duration(timeout_ms)} by the clock and all "
        "of it is read, the windows of its last tuple are closed too")


def holder(snapshot: Snapshot) -> Holder:
    """The partition to name; the query must have one."""
    times, idle_ms, reached = snapshot.max_event_times(), snapshot.query.plan.aggregation.idle_ms, snapshot.watermark
    known = {p: time for p, time in times.items() if time is not None}
    missing = [p for p in times if p not in known]
    if missing and (idle_ms is None or reached is None or not known):
        return Holder(missing[0], None)
    if idle_ms is None or reached is None:
        return Holder(*min(known.items(), key=lambda item: item[1]))
    delay = snapshot.stream.units(snapshot.query.plan.aggregation.watermark_ms)
    active = {p: time for p, time in known.items() if time - delay >= reached}
    behind = [p for p in times if p not in active] if active else []
    return Holder(*min((active or known).items(), key=lambda item: item[1]), *behind[:1])
