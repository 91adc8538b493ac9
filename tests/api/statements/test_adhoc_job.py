"""What an ad-hoc SELECT reads of a topic, and which of the tuples are good."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from api.statements import adhoc_job
from mapper.fetch import Range, RangeTooLarge
from mars.adapters.kafka.admin import Message
from mars.config import Config, load
from mars.model.plan import QueryPlan
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse

STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING, v INT) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT ms"))


class Topic:
    """A reader of a partition with these message values, one per offset. It keeps how many it gave at a time, and reads an
    answer of `messages_per_answer` after the other, as the raw reader does."""

    def __init__(self, values: list[bytes], messages_per_answer: int = 1) -> None:
        self.values, self.messages_per_answer = values, messages_per_answer
        self.given: list[int] = []
        self.refused = 0

    def read(self, partition: int, start: int, end: int, limit_bytes: int, should_stop: Callable[[], bool] = bool,
             range_bytes_max: float = math.inf) -> Range | None:
        if should_stop():
            return None
        for at in range(start + self.messages_per_answer, end, self.messages_per_answer):
            if (size := sum(map(len, self.values[start:at]))) > range_bytes_max:
                self.refused += 1
                raise RangeTooLarge(at - start, size)
        self.given.append(end - start)
        return Range(partition, start, end, adhoc_job._as_messages(
            [Message(partition, offset, 0, self.values[offset]) for offset in range(start, end)]))

    def close(self) -> None:
        """Nothing to close."""


def counted(config: Config, plan: QueryPlan, range_: adhoc_job.OffsetRange) -> dict[str, int]:
    """The counters of an aggregation over the range."""
    task = adhoc_job.Task(config, STREAM, plan, [range_])
    return json.loads(dict(adhoc_job._aggregate_range(task, range_))[adhoc_job.COUNTS])


@pytest.mark.parametrize("sql", ["SELECT * FROM s WHERE k = 'rare'", "SELECT count(*) FROM s WHERE k = 'rare'"])
def test_messages_are_read_a_run_of_bytes_at_a_time(sql, monkeypatch):
    """Small ones, then large ones, one that is larger than a run, and small ones again."""
    large = [b"1700000000000," + b"x" * size for size in [10_000] * 3_000 + [300_000] + [10_000] * 100]
    small = [b"1700000000000,rare"] * 5_000
    reader = Topic([*small, *large, *small])
    monkeypatch.setattr(adhoc_job, "_reader", lambda *_: reader)
    config = load({"run_bytes_max": 64 * 1024}, environment={})
    plan, range_ = compile_select(parse(sql), STREAM, continuous=False), (0, 0, len(reader.values))
    if plan.grouped:
        counts = counted(config, plan, range_)
        assert (counts["tuples"], counts["filtered"]) == (13_101, 3_101)
    else:
        found = [(len(table), looked_at) for table, looked_at, _ in adhoc_job.tuples(config, STREAM, plan, [range_], bool)]
        assert [sum(column) for column in zip(*found, strict=True)] == [10_000, 13_101]
    starts = [sum(reader.given[:i]) for i in range(len(reader.given))]
    sizes = [sum(map(len, reader.values[start:start + n])) for start, n in zip(starts, reader.given, strict=True) if n > 1]
    assert max(sizes) <= 3 * config.run_bytes_max
    assert len(sizes) < 1_000
    assert reader.refused < 20


def test_what_is_shown_as_good_is_what_counts(monkeypatch):
    """A time outside the calendar does not read, though it is a number."""
    values = [b"1700000000000,a,1", b"999999999999999999,b,2", b"x,c,3", b"1700000000000,d,y"]
    monkeypatch.setattr(adhoc_job, "_reader", lambda *_: Topic(values))
    config, range_ = load({}, environment={}), (0, 0, len(values))
    shown = compile_select(parse("SELECT * FROM s"), STREAM, continuous=False)
    [(table, looked_at, bad)] = adhoc_job.tuples(config, STREAM, shown, [range_], bool)
    assert (table.column("k").to_pylist(), looked_at, bad) == (["a"], 4, 3)
    assert counted(config, compile_select(parse("SELECT sum(v) FROM s"), STREAM, continuous=False), range_)["bad"] == bad
