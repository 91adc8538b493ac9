"""Which partition is told to hold a watermark, over snapshots as commits leave them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mars.model.commits import QueryCommit, ResultSegment
from mars.model.plan import Stream
from mars.model.registry import Query
from mars.results.cursors import Selection
from mars.results.reason import why_empty
from mars.results.snapshot import Snapshot
from mars.results.waits import what_it_waits_for
from tests.plans import made

S = 1_000_000
NO_TIME = None


def snapshot(times, watermark, idle_ms=30_000, state="RUNNING", reason="", published=None, segments=((), ())):
    """Of two key parts, seconds, windows of 60 s and 5 s of delay; `times` by partition; the second part is the one of
    `published`; `segments` are (first start, last start) of each part."""
    plan = replace(made(("time",), idle_ms=idle_ms), start="EARLIEST")
    parts = []
    for spans, known in zip(segments, (None, published), strict=True):
        part = QueryCommit(1, positions=dict.fromkeys(times, 5), watermark=watermark, published=known,
                           max_event_time={p: time for p, time in times.items() if time is not NO_TIME})
        part.results = [ResultSegment(None, 3, first * S, last * S, (last + 60) * S, 0) for first, last in spans]
        part.counters["tuples"] = 9
        parts.append(part)
    stream = Stream("s", 1, "topic", "id", (), "CSV", "time", "s")
    return Snapshot(stream, Query("q", "q", plan, 1, dict.fromkeys(times, 0), state, reason), tuple(parts))


@pytest.mark.parametrize(("given", "told"), [
    ({"times": {0: 3600, 1: 3700}, "watermark": 3595},
     "partition 0 of topic 'topic' holds it back (newest event time: 1970-01-01T01:00:00Z)"),
    ({"times": {0: 3700, 1: 3600}, "watermark": 3595},
     "partition 1 of topic 'topic' holds it back (newest event time: 1970-01-01T01:00:00Z)"),
    ({"times": {0: 3600, 1: 300}, "watermark": 595, "idle_ms": None},
     "partition 1 of topic 'topic' holds it back (newest event time: 1970-01-01T00:05:00Z)"),
    ({"times": {0: 3600, 1: NO_TIME}, "watermark": 595, "idle_ms": None},
     "partition 1 of topic 'topic' has shown no event time yet (IDLE is OFF, so the query waits for it)"),
    ({"times": {0: 3600, 1: NO_TIME}, "watermark": None},
     "partition 1 of topic 'topic' has shown no event time yet (the query waits for it until it has been idle for 30 s)"),
    ({"times": {0: 3600, 1: 1800}, "watermark": 3595},
     "partition 0 of topic 'topic' holds it back (newest event time: 1970-01-01T01:00:00Z); so does partition 1, which is "
     "further behind, unless it has been idle for 30 s"),
    ({"times": {0: 3600, 1: NO_TIME}, "watermark": 3595},
     "partition 0 of topic 'topic' holds it back (newest event time: 1970-01-01T01:00:00Z); so does partition 1, which is "
     "further behind, unless it has been idle for 30 s"),
    ({"times": {0: 3600}, "watermark": 125},
     "partition 0 of topic 'topic', the last one to wait for, has reached 1970-01-01T01:00:00Z, so one of the next commits "
     "will move it")])
def test_the_partition_that_holds_the_watermark_is_named(given, told):
    assert what_it_waits_for(snapshot(**given)).partition(", and ")[2] == told


@pytest.mark.parametrize(("given", "told"), [
    ({"state": "PAUSED"}, "q is PAUSED: RESUME QUERY q continues it"),
    ({"state": "DATA_LOSS", "reason": "[3, 5) of partition 0"}, "q is DATA_LOSS: [3, 5) of partition 0"),
    ({"published": 3595}, "windows whose rows were lost are computed again")])
def test_no_partition_is_named_where_none_is_to_blame(given, told):
    assert what_it_waits_for(snapshot({0: 3600}, 3590, **given)) == told


CONTEXT = SimpleNamespace(tables=SimpleNamespace(segments=lambda part: part.results, gone_us=lambda _: None))
ROWS = "No row matches: the windows that are kept begin between 1970-01-01T00:00:00Z and 1970-01-01T00:01:00Z, but from, "
LATER = "Windows of q that begin after 1970-01-01T00:01:00Z are not closed yet: "


@pytest.mark.parametrize(("selection", "begins", "has_later"), [
    (Selection(first_us=120 * S), "No window that begins at 1970-01-01T00:02:00Z or later is closed yet: ", False),
    (Selection(first_us=120 * S, end_us=180 * S), "No window that begins at 1970-01-01T00:02:00Z or later is ", False),
    (Selection(first_us=120 * S, where="true"), "No window that begins at 1970-01-01T00:02:00Z or later is ", False),
    (Selection(first_us=60 * S, where="false"), ROWS, True),
    (Selection(where="false"), ROWS, True),
    (Selection(where="false", end_us=60 * S + 2), ROWS, True),
    (Selection(where="false", end_us=60 * S + 1), ROWS, False),
    (Selection(first_us=30 * S, end_us=40 * S), ROWS, False)])
def test_what_is_left_out_and_what_is_not_closed_are_told_apart(selection, begins, has_later):
    """The second key part has closed one window more, which nobody sees yet."""
    given = snapshot({0: 125}, 120, segments=([(0, 60)], [(0, 60), (120, 120)]))
    told = why_empty(CONTEXT, given, selection)
    assert told.startswith(begins)
    assert (LATER in told) == has_later


def test_a_window_that_closed_without_rows_waits_for_nothing():
    given = snapshot({0: 36_005}, 36_000, state="PAUSED", segments=([(0, 60)], []))
    told = why_empty(CONTEXT, given, Selection(first_us=120 * S, end_us=300 * S))
    assert told.startswith(ROWS)
    assert "PAUSED" not in told
    assert "PAUSED" in why_empty(CONTEXT, given, Selection(first_us=120 * S))
