from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mapper.aggregate import FIRST_SECOND, aggregate_task, max_event_time
from mapper.batch import REASONS, ParsedBatch
from mapper.parse import Parser
from mars import cells
from mars.expressions import Call, Column, Literal
from mars.plan import AggregateCall, Key, Output, QueryPlan, Stream, StreamColumn, Window
from tests.mapper.parsing import messages

STREAM = Stream("s", 1, "topic", "id", (StreamColumn("t", "BIGINT"), StreamColumn("k", "STRING"),
                                        StreamColumn("x", "INT")), "CSV", "t", "ms", key_parts=2)
WHERE = Call("gt", (Column("x", "INT"), Literal(0, "INT")), "BOOLEAN")
PLAN = QueryPlan("s", "", ("k", "x", "t"), WHERE, (Key("k", Column("k", "STRING"), "STRING"),),
                 Window("tumbling", 1_000), (AggregateCall("count", None, None, "BIGINT"),),
                 (Output("k", Column("k0", "STRING"), "STRING"), Output("count", Column("a0", "BIGINT"), "BIGINT")))
NOW, LIMIT = 10_000, 300_000


def batch(times: list[int], bad: dict[str, list[str]] | None = None, whole: list[str] | None = None,
          x: list[int | None] | None = None) -> ParsedBatch:
    """Tuples with those event times and those reasons per column ('' reads)."""
    n = len(times)
    reasons = {name: np.array([REASONS.index(r) for r in found], np.uint8) for name, found in (bad or {}).items()}
    columns = {"k": pa.array(["a"] * n).dictionary_encode(), "x": pa.array(x or [1] * n, pa.int32())}
    tuple_bad = None if whole is None else np.array([REASONS.index(r) for r in whole], np.uint8)
    return ParsedBatch(columns, np.array(times, np.int64), np.arange(n), np.zeros(n, np.int32), reasons, tuple_bad)


def test_each_tuple_is_counted_once_in_the_order_of_the_tests() -> None:
    late = NOW + LIMIT + 1
    given = batch([1, 2, 3, late, late, 6, 7, 8],
                  bad={"x": ["not a number", "not a number", "", "", "out of range", "", "", ""],
                       "t": ["null event time", "", "", "", "", "", "", ""]},
                  whole=["", "", "not JSON", "", "", "", "", ""], x=[None, None, 1, 1, None, 0, None, 1])
    done = aggregate_task(PLAN, STREAM, given, 0, NOW, LIMIT)
    assert done.counts == {"tuples": 8, "bad": 4, "future": 1, "filtered": 2}
    assert done.counted == 1 == sum(map(cells.tuple_count, done.parts))
    assert done.bad_reasons == {"not JSON": 1, "t: null event time": 1, "x: not a number": 1, "x: out of range": 1}


def test_a_column_that_the_query_does_not_name_may_be_bad() -> None:
    plan = replace(PLAN, columns=("t", "k"), where=None)
    done = aggregate_task(plan, STREAM, batch([1], bad={"x": ["not a number"]}), 0, NOW, LIMIT)
    assert done.counts["bad"] == 0
    assert done.counted == 1


def test_there_is_one_table_for_each_key_part_also_when_all_are_empty() -> None:
    done = aggregate_task(PLAN, STREAM, batch([]), 0, NOW, LIMIT)
    assert [len(part) for part in done.parts] == [0, 0]
    assert done.counts == {"tuples": 0, "bad": 0, "future": 0, "filtered": 0}


@pytest.mark.parametrize(("times", "expected"), [
    ([], None), ([5, 3], 5), ([5, NOW + 100], NOW), ([5, NOW + LIMIT + 1], 5), ([NOW + LIMIT + 1], None),
])
def test_the_watermark_follows_the_greatest_time_that_is_not_ahead(times: list[int], expected: int | None) -> None:
    assert max_event_time(STREAM, batch(times), NOW, LIMIT) == expected


def test_a_tuple_bad_elsewhere_moves_the_watermark_and_one_without_a_time_does_not() -> None:
    given = batch([5, 9, 7], bad={"x": ["not a number", "", ""], "t": ["", "not a number", ""]},
                  whole=["", "", "not JSON"])
    assert max_event_time(STREAM, given, NOW, LIMIT) == 5


def test_a_tuple_with_another_number_of_fields_than_strict_allows_moves_the_watermark() -> None:
    """A source that adds a column must not hold all windows: its tuples are bad, but their time reads."""
    strict = replace(STREAM, columns=(StreamColumn("t", "BIGINT"), StreamColumn("a", "INT")), options={"strict": True})
    given = Parser(strict, ("a", "t")).parse(messages([b"1000,5", b"9000,6,extra", b"8000", b"7000,x", b"x,1", b""]))
    assert [REASONS[reason] for reason in given.tuple_bad] == ["", "extra field", "missing field", "", ""]
    assert max_event_time(strict, given, NOW, LIMIT) == 9_000


def test_in_ns_a_window_never_wraps_around() -> None:
    stream = replace(STREAM, time_unit="ns")
    done = aggregate_task(PLAN, stream, batch([-2**63, 2**63 - 1, 5]), 0, NOW, LIMIT)
    assert done.bad_reasons == {"t: out of range": 2}
    assert done.counted == 1


def test_a_time_outside_the_calendar_does_not_read() -> None:
    given = batch([FIRST_SECOND * 1_000 - 1, -(2**63), 5])
    done = aggregate_task(PLAN, STREAM, given, 0, NOW, LIMIT)
    assert done.bad_reasons == {"t: out of range": 2}
    assert max_event_time(STREAM, batch([-(2**63)]), NOW, LIMIT) is None
    nanoseconds = replace(STREAM, time_unit="ns")
    assert aggregate_task(PLAN, nanoseconds, batch([-5 * 10**18]), 0, NOW, LIMIT).bad_reasons == {}
