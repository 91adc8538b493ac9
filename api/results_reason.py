"""Why a result is empty: one true sentence, from the first cause that explains it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from api.context import Context
from api.pages import Selection
from api.results_format import timestamp_text
from api.results_partial import open_rows
from api.results_snapshot import Snapshot
from mars.errors import MarsError
from mars.identifiers import identifier
from mars.registry import RUNNING, Query


def why_empty(context: Context, snapshot: Snapshot, selection: Selection) -> str:
    """The sentence for a query that has no row of this selection."""
    query, counters = snapshot.query, snapshot.counters()
    gone_us = context.tables.gone_us(snapshot)
    spans = [(r.first_start_us if gone_us is None else max(r.first_start_us, gone_us), r.last_start_us)
             for part in snapshot.committed() for r in context.tables.segments(part)
             if r.rows and (gone_us is None or r.last_end_us > gone_us)]
    if spans and snapshot.watermark is not None and _narrowed(selection):
        first_us, last_us = min(s[0] for s in spans), max(s[1] for s in spans)
        is_tail = selection.where is None and selection.end_us is None  # then it is empty as nothing begins there
        if selection.first_us is not None and (is_tail or selection.first_us > last_us):
            return (f"No closed window with rows begins at {timestamp_text(selection.first_us)} or later: "
                    f"{what_it_waits_for(snapshot)}.")
        return (f"No row matches: windows with rows begin from {timestamp_text(first_us)} "
                f"to {timestamp_text(last_us)}, and from, to or where leave them out.")
    if query.state != RUNNING:
        return f"{_stopped(query)}."
    if counters["tuples"] == 0:
        return _nothing_read(context, snapshot)
    lost = {name: counters[name] for name in ("bad", "late", "future", "filtered") if counters[name]}
    if counters["tuples"] == sum(lost.values()):
        return _nothing_counted(snapshot, counters["tuples"], lost)
    rows = open_rows(context.tables, snapshot)
    if len(rows):
        return _not_closed(snapshot, rows)
    return (f"The windows up to {timestamp_text(snapshot.watermark_us)} are closed and gave no row that is still kept: "
            f"HAVING left them out, or they are older than {context.config.result_retention_days} days.")


def what_it_waits_for(snapshot: Snapshot) -> str:
    """Why no further window is closed, as half a sentence: the query has stopped, or its watermark and what holds it."""
    if snapshot.query.state != RUNNING:
        return _stopped(snapshot.query)
    mark = timestamp_text(snapshot.watermark_us) or "not known yet"
    return f"the watermark is {mark}, and {_behind(snapshot, *holding_partition(snapshot))}"


def _stopped(query: Query) -> str:
    return f"{query.name} is {query.state}: {query.reason or f'RESUME QUERY {identifier(query.name)} lets it go on'}"


def _narrowed(selection: Selection) -> bool:
    return selection.first_us is not None or selection.end_us is not None or selection.where is not None


def _nothing_read(context: Context, snapshot: Snapshot) -> str:
    topic, positions = snapshot.stream.topic, snapshot.positions()
    try:
        ends = context.ends.read(snapshot.stream, positions)
    except MarsError as error:
        return f"No tuple has been counted yet, and the topic cannot be looked at: {error.title}."
    waiting = sum(max(0, ends[p] - position) for p, position in positions.items())
    if waiting:
        return f"No tuple has been committed yet: about {waiting:,} of topic '{topic}' wait to be read."
    earlier = "" if snapshot.query.plan.start == "EARLIEST" else \
        f" (it starts FROM {snapshot.query.plan.start}; FROM EARLIEST counts all that the topic holds)"
    return f"No tuple has come yet: topic '{topic}' holds none after the place where the query starts{earlier}."


def _nothing_counted(snapshot: Snapshot, tuples: int, lost: dict[str, int]) -> str:
    parts = ", ".join(f"{count:,} {name}" for name, count in lost.items())
    reasons = sorted(snapshot.bad_reasons().items(), key=lambda item: -item[1])
    most = f" (most often: {reasons[0][0]})" if reasons else ""
    return f"None of the {tuples:,} tuples read so far counts: {parts}{most}."


def _not_closed(snapshot: Snapshot, rows: pa.Table) -> str:
    """Open windows, the watermark, the partition that holds it, and what closes the next."""
    plan, topic = snapshot.query.plan, snapshot.stream.topic
    ends = rows["window_end"].cast(pa.int64())
    count, first_end = pc.count_distinct(ends).as_py(), pc.min(ends).as_py()
    needed = first_end + (plan.grace_ms + plan.watermark_ms) * 1000
    windows = "1 window is open" if count == 1 else f"{count:,} windows are open"
    mark = timestamp_text(snapshot.watermark_us) or "not known yet"
    holder, time = holding_partition(snapshot)
    if time is not None and snapshot.stream.micros(time) >= needed:
        return (f"No window is closed yet: {windows}, the watermark is {mark}, and partition {holder} of topic '{topic}', "
                f"the last one, has passed {timestamp_text(needed)}, so that one of the next commits closes the first.")
    behind = _behind(snapshot, holder, time)
    return (f"No window is closed yet: {windows}, and the next closes once the event time of every active partition has "
            f"reached {timestamp_text(needed)}; the watermark is {mark}, and {behind}.")


def _behind(snapshot: Snapshot, partition: int, time: int | None) -> str:
    """What keeps the watermark where it is."""
    place, idle_ms = f"partition {partition} of topic '{snapshot.stream.topic}'", snapshot.query.plan.idle_ms
    if time is not None:
        return f"{place} holds it, with {timestamp_text(snapshot.stream.micros(time))}"
    idle = "IDLE is OFF, so it is waited for" if idle_ms is None \
        else f"it is left out once it has been idle for {idle_ms / 1000:g} s"
    return f"{place} has brought no tuple yet ({idle})"


def holding_partition(snapshot: Snapshot) -> tuple[int, int | None]:
    """The partition that holds the watermark back and the greatest event time in it (None: no tuple yet)."""
    times = snapshot.max_event_times()
    missing = [p for p, time in times.items() if time is None]
    known = {p: time for p, time in times.items() if time is not None}
    if missing and (snapshot.watermark is None or not known):
        return missing[0], None
    # Partitions behind the published watermark are left out as idle.
    delay = snapshot.stream.units(snapshot.query.plan.watermark_ms)
    mark = min(known.values()) - delay if snapshot.watermark is None else snapshot.watermark
    active = {p: time for p, time in known.items() if time - delay >= mark} or known
    holder = min(active, key=active.get)
    return holder, active[holder]
