"""One sink's delivery over results that are committed by hand, into a target that lives in this process: what it does about
waiting, losing its place, and rows that are no longer kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from api.statements.sink_status import document
from mars.adapters.target_errors import (
    FencedError,
    ProgressLostError,
    TargetAwayError,
    TargetRefusesError,
)
from mars.model import names
from mars.model.expressions import to_json
from mars.model.sinks import Into, Mark, Sink, SinkStatus
from mars.publisher import delivery
from mars.publisher.delivery import Delivery
from mars.publisher.desk import Desk
from mars.publisher.target import Pace, Way
from sql.check.condition import result_condition
from tests.api.conftest import client, context, kafka, new_query

__all__ = ["client", "context", "kafka", "new_query"]
pytestmark = pytest.mark.services
LONG_S = 60


class Memory:
    """A target that keeps what it is given: rows and mark together."""

    pace, keeps_mark = Pace(), True

    def __init__(self) -> None:
        self.mark: Mark | None = None
        self.rows: list[tuple[int, str]] = []
        self.is_there, self.epoch = False, 0
        self.errors: list[Exception] = []
        self.refused: list[Exception] = []  # of deliveries alone
        self.marks: list[Mark] = []

    def prepare(self, may_make: bool) -> bool:
        if not self.is_there and not may_make:
            raise ProgressLostError("the table is gone")
        made, self.is_there = not self.is_there, True
        return made

    def claim(self, fresh: Mark, is_known: bool) -> Mark:
        if self.errors:
            raise self.errors.pop(0)
        if self.mark is None and is_known:
            raise ProgressLostError("the mark is gone")
        if fresh.epoch < self.epoch:
            raise FencedError("later")
        self.epoch = fresh.epoch
        self.mark = replace(self.mark or fresh, epoch=fresh.epoch)
        return self.mark

    def deliver(self, rows: pa.Table, mark: Mark) -> None:
        if self.errors or self.refused:
            raise (self.errors or self.refused).pop(0)
        self.rows += [(int(row["window_start"].timestamp()), row["sip"]) for row in rows.to_pylist()]
        self.mark = mark
        self.marks.append(mark)

    def close(self) -> None:
        """Nothing to end."""


def rows(start: int, count: int = 2) -> list[dict]:
    return [{"start": start, "sip": f"s{i}", "count": i, "b": None} for i in range(count)]


@pytest.fixture
def target(monkeypatch) -> Memory:
    made = Memory()
    monkeypatch.setattr(delivery, "open_target", lambda *_: made)
    monkeypatch.setattr(delivery, "TELL_S", 0.0)
    monkeypatch.setattr(delivery, "LOOK_S", 0.2)  # nobody tells these deliveries of news
    monkeypatch.setattr(delivery, "BACKOFF_S", 0.05)
    return made


@pytest.fixture
def filled(new_query):
    """Windows 0, 60 and 120 of two rows each."""
    committer = new_query()
    committer.commit(1, watermark=1000)
    for start in (0, 60, 120):
        committer.commit(0, rows(start), watermark=start + 65)
    return committer


@pytest.fixture
def begin(context, filled, fresh_name, target) -> Iterator:
    """Makes the sink, with these changes, or goes on with it; gives its delivery, which runs."""
    running: list[Delivery] = []
    name = fresh_name("sink")

    def run(**changes: object) -> Delivery:
        for one in running:
            one.stop()
            one.join(LONG_S)
        if context.sinks.read().find(name) is None:
            context.sinks.create(replace(Sink("", name, filled.query.name, filled.query.id, Into("KAFKA", "t")), **changes))
        sink = context.sinks.sink(name)

        def tell(sink: Sink, epoch: int, status: SinkStatus) -> None:
            context.zk.client.set(names.sink_status(sink.id), status.dump())

        desk = Desk(context.sinks, context.results, Way(context.config, str, "me"), "here", tell)
        running.append(Delivery(desk, sink, 1))
        running[-1].start()
        return running[-1]

    run.name = name
    yield run
    for one in running:
        one.stop()
        one.join(LONG_S)
    context.sinks.drop(name)


def until(condition, otherwise: str = "it does not come"):
    deadline = time.monotonic() + LONG_S
    while not (found := condition()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
    return found


def windows(target: Memory) -> list[int]:
    return [start for start, _ in target.rows]


def state_of(context, begin) -> str:
    return context.sinks.sink(begin.name).state


def test_all_rows_come_in_order_and_what_closes_later_too(begin, filled, target) -> None:
    begin()
    until(lambda: windows(target) == [0, 0, 60, 60, 120, 120])
    filled.commit(0, rows(180, 3), watermark=245)
    until(lambda: windows(target)[6:] == [180] * 3)
    assert target.mark.rows == 9
    assert target.mark.place == (180_000_000, 240_000_000, 3)


def test_a_later_delivery_goes_on_behind_the_mark(begin, filled, target) -> None:
    first = begin()
    until(lambda: len(target.rows) == 6)
    first.stop()
    first.join(LONG_S)
    filled.commit(0, rows(180), watermark=245)
    begin()
    until(lambda: windows(target) == [0, 0, 60, 60, 120, 120, 180, 180])


def test_a_condition_and_a_time_leave_rows_out(begin, filled, target) -> None:
    columns = (("sip", "STRING"), ("count", "BIGINT"))
    begin(first_us=60_000_000, where="count = 1", condition=to_json(result_condition("count = 1", columns)))
    until(lambda: target.rows == [(60, "s1"), (120, "s1")])


def test_what_had_closed_is_left_out(begin, filled, target) -> None:
    begin(above_us=125_000_000)
    until(lambda: windows(target) == [120, 120])


def test_a_target_that_is_away_is_waited_for_ever_longer_and_said(begin, context, filled, target) -> None:
    target.errors = [TargetAwayError("no answer")] * 4
    one = begin()
    until(lambda: context.sinks.status(one.sink).state == "WAITING")
    until(lambda: windows(target) == [0, 0, 60, 60, 120, 120])
    until(lambda: context.sinks.status(one.sink).state == "DELIVERING")
    assert one.backoff.period_s > delivery.BACKOFF_S
    assert one.backoff.is_due()
    assert context.sinks.status(one.sink).last_error == ""


def test_a_target_that_keeps_no_mark_is_not_back_before_it_takes_something(begin, context, filled, target) -> None:
    target.keeps_mark, target.refused = False, [TargetAwayError("503") for _ in range(3)]
    one = begin()
    until(lambda: context.sinks.status(one.sink).state == "WAITING")
    since_ms = context.sinks.status(one.sink).since_ms
    while target.refused:
        status = context.sinks.status(one.sink)
        assert (status.state, status.since_ms, status.last_error) == ("WAITING", since_ms, "503") or not target.refused
    until(lambda: context.sinks.status(one.sink).state == "DELIVERING")
    assert windows(target) == [0, 0, 60, 60, 120, 120]
    assert one.backoff.period_s == delivery.BACKOFF_S * 4


def test_a_target_that_says_when_to_come_again_is_left_alone_until_then(begin, context, filled, target, monkeypatch) -> None:
    one = begin()
    until(lambda: len(target.rows) == 6)
    one.stop()
    one.join(LONG_S)
    waited: list[float] = []
    monkeypatch.setattr(one.stopping, "wait", waited.append)
    one._wait(TargetAwayError("busy", after_s=33))
    one._wait(TargetAwayError("busy"))
    assert waited == [33, 2 * delivery.BACKOFF_S]


def test_what_a_target_refuses_stops_the_sink_with_its_words(begin, context, filled, target) -> None:
    target.errors = [TargetRefusesError("no such privilege", "on table t", "GRANT it")]
    one = begin()
    until(lambda: state_of(context, begin) == "FAILED")
    one.join(LONG_S)
    assert context.sinks.sink(begin.name).reason == "no such privilege: on table t. GRANT it; then RESUME SINK"
    context.sinks.resume(begin.name)
    begin()
    until(lambda: len(target.rows) == 6)


def test_a_defect_is_waited_out_and_told(begin, context, filled, target) -> None:
    target.errors = [ZeroDivisionError("oh")]
    one = begin()
    until(lambda: "ZeroDivisionError" in context.sinks.status(one.sink).last_error)
    until(lambda: len(target.rows) == 6)


def test_whoever_is_fenced_ends_and_stops_nobody(begin, context, filled, target) -> None:
    target.epoch = 2
    one = begin()
    one.join(LONG_S)
    assert not one.is_alive()
    assert target.rows == []
    assert state_of(context, begin) == "RUNNING"


def test_a_mark_that_is_gone_is_told_and_resume_goes_on_behind_the_copy(begin, context, filled, target) -> None:
    one = begin()
    until(lambda: (status := context.sinks.status(one.sink)).mark is not None and status.mark.rows == 6)
    one.stop()
    one.join(LONG_S)
    target.mark, target.epoch = None, 0
    filled.commit(0, rows(180), watermark=245)
    begin()
    until(lambda: state_of(context, begin) == "SINK_PROGRESS_LOST")
    assert "the 6 rows that ZooKeeper knows of" in context.sinks.sink(begin.name).reason
    context.sinks.resume(begin.name)
    begin()
    until(lambda: windows(target)[6:] == [180, 180])
    assert context.sinks.sink(begin.name).accepts == ""


def test_a_table_that_is_gone_is_not_made_again_before_somebody_says_so(begin, context, filled, target) -> None:
    one = begin()
    until(lambda: (status := context.sinks.status(one.sink)).mark is not None and status.mark.rows == 6)
    one.stop()
    one.join(LONG_S)
    target.is_there = False
    begin()
    until(lambda: state_of(context, begin) == "SINK_PROGRESS_LOST")
    assert not target.is_there
    context.sinks.resume(begin.name)
    begin()
    until(lambda: target.is_there)


@pytest.mark.parametrize("has_begun", [True, False])
def test_rows_that_are_no_longer_kept_are_a_gap_that_is_told(begin, context, filled, target, has_begun: bool) -> None:
    if has_begun:
        until_one = begin()
        until(lambda: len(target.rows) == 6)
        until_one.stop()
        until_one.join(LONG_S)
        filled.commit(0, rows(180), watermark=245)
    else:
        target.errors = [TargetRefusesError("not yet")]
        begin()
        until(lambda: state_of(context, begin) == "FAILED")
    filled.forget(0, 240 if has_begun else 60)
    filled.commit(0, rows(240), watermark=305)
    if not has_begun:
        context.sinks.resume(begin.name)
    delivered = len(target.rows)
    begin()
    until(lambda: state_of(context, begin) == "SINK_BEHIND_RETENTION")
    assert "RESUME SINK leaves them out" in context.sinks.sink(begin.name).reason
    assert len(target.rows) == delivered
    context.sinks.resume(begin.name)
    begin()
    until(lambda: windows(target)[delivered:] == ([240, 240] if has_begun else [60, 60, 120, 120, 240, 240]))
    assert context.sinks.sink(begin.name).accepts == ""


def test_rows_that_were_gone_when_the_sink_was_made_are_no_gap(begin, context, filled, target) -> None:
    filled.forget(0, 60)
    begin(gone_us=60_000_000)
    until(lambda: windows(target) == [60, 60, 120, 120])


def test_what_a_condition_left_out_is_no_gap_once_the_mark_was_renewed(begin, context, filled, target, monkeypatch) -> None:
    monkeypatch.setattr(delivery, "RENEW_S", 0.0)
    monkeypatch.setattr(delivery, "LOOK_S", 0.05)
    columns = (("sip", "STRING"), ("count", "BIGINT"))
    none = to_json(result_condition("count = 99", columns))
    one = begin(where="count = 99", condition=none)
    until(lambda: target.mark is not None and target.mark.above_us == 185_000_000)
    one.stop()
    one.join(LONG_S)
    filled.forget(0, 180)
    filled.commit(0, rows(180), watermark=245)
    begin()
    until(lambda: target.mark.above_us == 245_000_000)
    assert state_of(context, begin) == "RUNNING"


def test_a_query_that_was_dropped_ends_its_sink(begin, context, filled, client, target) -> None:
    begin()
    until(lambda: len(target.rows) == 6)
    context.definitions.drop_query(filled.query.name)
    until(lambda: state_of(context, begin) == "FAILED")
    assert "DROP the sink" in context.sinks.sink(begin.name).reason


def test_a_sink_that_nobody_has_taken_is_starting(begin, context, filled, target) -> None:
    begin()
    until(lambda: len(target.rows) == 6)
    shown = document(context, context.sinks.sink(begin.name))
    assert (shown["state"], shown["reason"]) == ("STARTING", "no publisher has taken it yet")


def test_a_replay_begins_at_its_time_and_is_done_once(begin, context, filled, target) -> None:
    begin(first_us=120_000_000)
    until(lambda: windows(target) == [120, 120])
    context.sinks.replay(begin.name, 60_000_000, None)
    one = begin()
    until(lambda: windows(target)[2:] == [60, 60, 120, 120])
    until(lambda: target.mark.rows == 6)
    one.stop()
    one.join(LONG_S)
    filled.commit(0, rows(180), watermark=245)
    begin()
    until(lambda: windows(target)[6:] == [180, 180])
    assert target.mark.rows == 8


def test_a_replay_of_which_the_target_does_not_know_yet_is_not_forgotten(begin, context, filled, target) -> None:
    one = begin()
    until(lambda: len(target.rows) == 6)
    one.stop()
    one.join(LONG_S)
    context.sinks.pause(begin.name)
    assert context.sinks.replay(begin.name, None, None).state == "PAUSED"
    context.sinks.resume(begin.name)
    target.errors = [TargetAwayError("no answer")]
    begin()
    until(lambda: windows(target)[6:] == [0, 0, 60, 60, 120, 120])


@pytest.mark.parametrize("state", ["FAILED", "SINK_PROGRESS_LOST", "SINK_BEHIND_RETENTION"])
def test_a_replay_starts_a_sink_that_has_stopped(begin, context, filled, target, state: str) -> None:
    one = begin()
    until(lambda: (status := context.sinks.status(one.sink)).mark is not None and status.mark.rows == 6)
    one.stop()
    one.join(LONG_S)
    if state == "SINK_PROGRESS_LOST":
        target.mark, target.epoch = None, 0
    context.sinks.stop(one.sink, state, "")
    context.sinks.replay(begin.name, 120_000_000, None)
    begin()
    until(lambda: windows(target)[6:] == [120, 120])
    assert (state_of(context, begin), context.sinks.sink(begin.name).accepts) == ("RUNNING", "")
