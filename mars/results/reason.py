"""Why a result is empty: one true sentence, from the first cause that explains it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mars.errors import MarsError
from mars.model.registry import RUNNING
from mars.results.cursors import Selection
from mars.results.formats import timestamp_text
from mars.results.partial_pages import open_rows
from mars.results.snapshot import Snapshot
from mars.results.source import ResultSource
from mars.results.waits import by_clock, held_by, holder, last_closed_us, later_windows, mark, stopped, what_it_waits_for


def why_empty(source: ResultSource, snapshot: Snapshot, selection: Selection) -> str:
    """The sentence for a query that has no row of this selection."""
    query, counters = snapshot.query, snapshot.counters()
    if _narrowed(selection) and (spans := _visible(source, snapshot)):
        return _left_out(snapshot, selection, *spans)
    if query.state != RUNNING:
        return f"{stopped(query)}."
    if counters["tuples"] == 0:
        return _nothing_read(source, snapshot)
    lost = {name: counters[name] for name in ("bad", "late", "future", "filtered") if counters[name]}
    if counters["tuples"] == sum(lost.values()):
        return _nothing_counted(snapshot, counters["tuples"], lost)
    rows = open_rows(source.tables, snapshot)
    if len(rows):
        none_left_out = source.tables.gone_us(snapshot) is None and query.plan.presentation.having is None
        return _not_closed(snapshot, rows, none_left_out)
    return (f"The windows up to {timestamp_text(snapshot.watermark_us)} are closed, but none of their rows is kept: "
            f"HAVING left them out, or they are older than {source.retention_days} days.")


def _narrowed(selection: Selection) -> bool:
    return selection.first_us is not None or selection.end_us is not None or selection.where is not None


def _visible(source: ResultSource, snapshot: Snapshot) -> tuple[int, int] | None:
    """The least and the greatest begin of all closed windows that have rows; None if there is none."""
    gone_us, closed_us = source.tables.gone_us(snapshot), last_closed_us(snapshot)
    if closed_us is None:
        return None
    spans = [(r.first_start_us if gone_us is None else max(r.first_start_us, gone_us), min(r.last_start_us, closed_us))
             for part in snapshot.committed() for r in source.tables.segments(part)
             if r.rows and r.first_start_us <= closed_us and (gone_us is None or r.last_end_us > gone_us)]
    return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None


def _left_out(snapshot: Snapshot, selection: Selection, first_us: int, last_us: int) -> str:
    """There are rows, but none that was asked for: the request left them out, or their window is not closed yet."""
    closed_us = last_closed_us(snapshot)
    assert closed_us is not None, snapshot.query.name  # else no window with rows is closed
    if selection.first_us is not None and selection.first_us > closed_us:
        return (f"No window that begins at {timestamp_text(selection.first_us)} or later is closed yet: "
                f"{what_it_waits_for(snapshot)}.")
    by = "from, to or where" if snapshot.query.plan.presentation.having is None else "from, to, where or HAVING"
    left_out = (f"No row matches: the windows that are kept begin between {timestamp_text(first_us)} and "
                f"{timestamp_text(last_us)}, but {by} leaves them out.")
    asks_for_later = selection.end_us is None or selection.end_us - 1 > closed_us
    return f"{left_out} {later_windows(snapshot)}" if asks_for_later else left_out


def _nothing_read(source: ResultSource, snapshot: Snapshot) -> str:
    topic, positions = snapshot.stream.topic, snapshot.positions()
    try:
        ends = source.ends.read(snapshot.stream, positions)
    except MarsError as error:
        return f"No tuple has been counted yet, and the topic cannot be read: {error.title}."
    waiting = sum(max(0, ends[p] - position) for p, position in positions.items())
    if waiting:
        return f"No tuple has been committed yet: topic '{topic}' has about {waiting:,} more to read."
    earlier = "" if snapshot.query.plan.start == "EARLIEST" else \
        f" (it starts FROM {snapshot.query.plan.start}; FROM EARLIEST counts all that the topic holds)"
    return f"No tuple has come yet: topic '{topic}' holds none after the place where the query starts{earlier}."


def _nothing_counted(snapshot: Snapshot, tuples: int, lost: dict[str, int]) -> str:
    parts = ", ".join(f"{count:,} {name}" for name, count in lost.items())
    reasons = sorted(snapshot.bad_reasons().items(), key=lambda item: -item[1])
    most = f" (most often: {reasons[0][0]})" if reasons else ""
    return f"None of the {tuples:,} tuples read so far counts: {parts}{most}."


def _not_closed(snapshot: Snapshot, rows: pa.Table, is_first: bool) -> str:
    """The open windows, the watermark, the partition that holds it back, and what closes the next window. `is_first`: no
    window has closed before."""
    plan, topic = snapshot.query.plan, snapshot.stream.topic
    ends = rows["window_end"].cast(pa.int64())
    count, first_end = pc.count_distinct(ends).as_py(), pc.min(ends).as_py()
    needed = first_end + snapshot.delay_us + plan.aggregation.watermark_ms * 1000
    none = "No window is closed yet" if is_first else "No closed window has a row that is still kept"
    windows = "1 window is open" if count == 1 else f"{count:,} windows are open"
    found = holder(snapshot)
    if found.time is not None and found.behind is None and snapshot.stream.micros(found.time) >= needed:
        return (f"{none}: {windows}, the watermark is {mark(snapshot)}, and partition {found.partition} of topic '{topic}', "
                f"the last one to wait for, has passed {timestamp_text(needed)}, so one of the next commits will close the "
                "first window.")
    return (f"{none}: {windows}, and the next one closes once the event time of every active partition has "
            f"reached {timestamp_text(needed)}; the watermark is {mark(snapshot)}, and {held_by(snapshot, found)}"
            f"{by_clock(snapshot)}.")
