from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mapper.aggregate import aggregate_task
from mapper.batch import REASONS, Messages, ParsedBatch
from mapper.parse import Parser
from mapper.timing import FIRST_SECOND, Limits, judge
from mars.algebra import cells
from mars.model.expressions import Call, Column, Literal
from mars.model.partials import AggregateCall
from mars.model.plan import Key, Output, Stream, StreamColumn, Window
from tests.mapper.parsing import messages
from tests.plans import changed, made

STREAM = Stream("s", 1, "topic", "id", (StreamColumn("t", "BIGINT"), StreamColumn("k", "STRING"),
                                        StreamColumn("x", "INT")), "CSV", "t", "ms", key_parts=2)
WHERE = Call("gt", (Column("x", "INT"), Literal(0, "INT")), "BOOLEAN")
PLAN = made(("k", "x", "t"), (Key("k", Column("k", "STRING"), "STRING"),), (AggregateCall("count", None, None, "BIGINT"),),
            (Output("k", Column("k0", "STRING"), "STRING"), Output("count", Column("a0", "BIGINT"), "BIGINT")), WHERE,
            Window("tumbling", 1_000))
NOW, LIMIT, OWN = 10_000, 300_000, (0, 50, 400_000)


def batch(times: list[int], bad: dict[str, list[str]] | None = None, whole: list[str] | None = None,
          x: list[int | None] | None = None) -> ParsedBatch:
    """Tuples with those event times and those reasons per column ('' reads)."""
    n = len(times)
    reasons = {name: np.array([REASONS.index(r) for r in found], np.uint8) for name, found in (bad or {}).items()}
    columns = {"k": pa.array(["a"] * n).dictionary_encode(), "x": pa.array(x or [1] * n, pa.int32())}
    tuple_bad = None if whole is None else np.array([REASONS.index(r) for r in whole], np.uint8)
    return ParsedBatch(columns, np.array(times, np.int64), np.arange(n), np.zeros(n, np.int32), reasons, tuple_bad)


def judged(given: ParsedBatch, stream: Stream = STREAM, written: list[int] | None = None) -> ParsedBatch:
    """The batch with what its records' times say of it: all of NOW, or these, one for each message."""
    offsets = np.unique(given.offset)
    times = np.full(len(offsets), NOW) if written is None else np.array(written, np.int64)
    none = np.zeros(len(offsets), np.int64)
    return judge(stream, given, Messages(np.empty(0, np.uint8), none, none, offsets, times), Limits(LIMIT, OWN))


def test_each_tuple_is_counted_once_in_the_order_of_the_tests() -> None:
    late = NOW + LIMIT + 1
    given = batch([1, 2, 3, late, late, 6, 7, 8],
                  bad={"x": ["not a number", "not a number", "", "", "out of range", "", "", ""],
                       "t": ["null event time", "", "", "", "", "", "", ""]},
                  whole=["", "", "not JSON", "", "", "", "", ""], x=[None, None, 1, 1, None, 0, None, 1])
    done = aggregate_task(PLAN, STREAM, judged(given, STREAM), 0)
    assert done.counts == {"tuples": 8, "bad": 4, "future": 1, "filtered": 2}
    assert done.counted == 1 == sum(map(cells.tuple_count, done.parts))
    assert done.bad_reasons == {"not JSON": 1, "t: null event time": 1, "x: not a number": 1, "x: out of range": 1}


def test_a_column_that_the_query_does_not_name_may_be_bad() -> None:
    plan = changed(PLAN, columns=("t", "k"), where=None)
    done = aggregate_task(plan, STREAM, judged(batch([1], bad={"x": ["not a number"]}), STREAM), 0)
    assert done.counts["bad"] == 0
    assert done.counted == 1


def test_there_is_one_table_for_each_key_part_also_when_all_are_empty() -> None:
    done = aggregate_task(PLAN, STREAM, judged(batch([]), STREAM), 0)
    assert [len(part) for part in done.parts] == [0, 0]
    assert done.counts == {"tuples": 0, "bad": 0, "future": 0, "filtered": 0}


@pytest.mark.parametrize(("times", "expected"), [
    ([], None), ([5, 3], 5), ([5, NOW + 100], NOW), ([5, NOW + LIMIT + 1], 5), ([NOW + LIMIT + 1], None),
])
def test_the_watermark_follows_the_greatest_time_that_is_not_ahead(times: list[int], expected: int | None) -> None:
    assert judged(batch(times), STREAM).max_event_time == expected


def test_each_tuple_is_judged_by_the_time_of_its_own_record() -> None:
    """Also where a message holds several tuples, and another none."""
    given = batch([LIMIT + 2, LIMIT + 2, LIMIT + 50, 7])
    given.offset = np.array([3, 3, 5, 9])
    none = np.zeros(5, np.int64)
    messages_ = Messages(np.empty(0, np.uint8), none, none, np.array([3, 4, 5, 8, 9]), np.array([1, 10**9, 100, 0, 90]))
    given = judge(STREAM, given, messages_, Limits(LIMIT))
    assert given.future.tolist() == [True, True, False, False]
    assert given.max_event_time == 100


@pytest.mark.parametrize("own_ms", OWN)
def test_a_query_with_a_limit_of_its_own_is_judged_by_that(own_ms: int) -> None:
    times = [5, NOW, NOW + 1, NOW + 50, NOW + 51, NOW + LIMIT + 1, NOW + 400_001, 7]
    whole, plan = judged(batch(times)), changed(PLAN, max_ahead_ms=own_ms)
    done = aggregate_task(plan, STREAM, whole, 0)
    alone = judge(STREAM, batch(times), Messages(np.empty(0, np.uint8), *[np.zeros(8, np.int64)] * 2, np.arange(8),
                                                 np.full(8, NOW)), Limits(own_ms))
    expected = aggregate_task(PLAN, STREAM, alone, 0)
    assert (done.counts, done.max_event_time) == (expected.counts, alone.max_event_time)
    assert done.counts["future"] == sum(time > NOW + own_ms for time in times)


def test_a_record_without_a_timestamp_bounds_nothing() -> None:
    given = judged(batch([5, NOW + 2 * LIMIT, 7]), written=[-1, 0, -1])
    assert given.future is None
    assert given.max_event_time == NOW + 2 * LIMIT


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_no_timestamp_is_too_large_for_a_unit(unit: str) -> None:
    given = judged(batch([5, 6]), replace(STREAM, time_unit=unit), [2**62, 2**63 - 1])
    assert given.future is None
    assert given.max_event_time == 6


@pytest.mark.parametrize("times", [[5, 6, 7], [NOW + 1, 2, 3], [NOW + LIMIT + 1, NOW - 5, 9]])
def test_what_is_judged_does_not_depend_on_how_the_log_is_cut(times: list[int]) -> None:
    whole = judged(batch(times))
    singles = [judged(batch([time])) for time in times]
    future = [bool(one.future is not None and one.future[0]) for one in singles]
    assert (whole.future.tolist() if whole.future is not None else [False] * 3) == future
    assert whole.max_event_time == max(one.max_event_time for one in singles if one.max_event_time is not None)


def test_a_tuple_bad_elsewhere_moves_the_watermark_and_one_without_a_time_does_not() -> None:
    given = batch([5, 9, 7], bad={"x": ["not a number", "", ""], "t": ["", "not a number", ""]},
                  whole=["", "", "not JSON"])
    assert judged(given, STREAM).max_event_time == 5


def test_a_tuple_with_another_number_of_fields_than_strict_allows_moves_the_watermark() -> None:
    """A source that adds a column must not hold all windows: its tuples are bad, but their time reads."""
    strict = replace(STREAM, columns=(StreamColumn("t", "BIGINT"), StreamColumn("a", "INT")), options={"strict": True})
    given = Parser(strict, ("a", "t")).parse(messages([b"1000,5", b"9000,6,extra", b"8000", b"7000,x", b"x,1", b""]))
    assert [REASONS[reason] for reason in given.tuple_bad] == ["", "extra field", "missing field", "", ""]
    assert judged(given, strict).max_event_time == 9_000


def test_in_ns_a_window_never_wraps_around() -> None:
    stream = replace(STREAM, time_unit="ns")
    done = aggregate_task(PLAN, stream, judged(batch([-2**63, 2**63 - 1, 5]), stream), 0)
    assert done.bad_reasons == {"t: out of range": 2}
    assert done.counted == 1


def test_a_time_outside_the_calendar_does_not_read() -> None:
    given = batch([FIRST_SECOND * 1_000 - 1, -(2**63), 5])
    done = aggregate_task(PLAN, STREAM, judged(given, STREAM), 0)
    assert done.bad_reasons == {"t: out of range": 2}
    assert judged(batch([-(2**63)]), STREAM).max_event_time is None
    nanoseconds = replace(STREAM, time_unit="ns")
    assert aggregate_task(PLAN, nanoseconds, judged(batch([-5 * 10**18]), nanoseconds), 0).bad_reasons == {}
