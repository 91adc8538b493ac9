"""What a reducer waits out: it neither ends, nor takes for done what was lost."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest.mock import Mock

import orjson
import pytest
from kazoo.exceptions import ConnectionLoss

from mars.adapters.storage import CorruptFileError
from mars.adapters.view import StreamView
from mars.errors import NotReadyError
from mars.model.registry import QuerySet
from reducer import job
from reducer.committing.assignment import Assignment
from reducer.job import Reducer
from reducer.refused import MOST_S, Refused
from reducer.state import uncomputable
from reducer.state.uncomputable import UncomputableError
from tests.clock import ManualClock
from tests.reducer import handed
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
KEY = (STREAM.id, 0)
ASSIGNMENT = Assignment(VIEW, 0, 7, 1)


@pytest.fixture
def reducer() -> Reducer:
    """One that has one key part."""
    made = handed.reducer()
    made.views = {KEY[0]: VIEW}
    made.parts = {KEY: Mock(assignment=ASSIGNMENT, view=VIEW)}
    return made


@pytest.mark.parametrize("away", [ConnectionLoss(), NotReadyError("the session may have ended", "")])
def test_a_zookeeper_that_is_away_while_a_key_part_falls_back_ends_no_reducer(reducer, monkeypatch, away):
    monkeypatch.setattr(job, "fall_back", Mock(side_effect=away))
    reducer.parts[KEY].step.side_effect = CorruptFileError("damaged", "1/0/commit-2")
    assert not reducer._step(KEY, True)
    assert reducer.parts == {}, "it is loaded again, and tries again"


def test_a_key_part_of_a_stream_that_is_gone_meanwhile_ends_no_reducer(reducer, monkeypatch):
    """The views are new already, and ZooKeeper went away before what is owned was read."""
    fell = Mock(return_value=False)
    monkeypatch.setattr(job, "fall_back", fell)
    reducer.views = {}
    reducer.parts[KEY].step.side_effect = CorruptFileError("damaged", "1/0/commit-2")
    assert not reducer._step(KEY, True)
    assert fell.call_args.args[2] == ASSIGNMENT


@pytest.mark.parametrize("away", [None, ConnectionLoss()])
@pytest.mark.parametrize("where", ["step", "take_queries"])
def test_cells_that_cannot_be_computed_end_no_reducer(reducer, monkeypatch, where, away):
    """Their query stops, and the key part is read again without what was merged of it in part."""
    stop = Mock(side_effect=away)
    monkeypatch.setattr(uncomputable, "stop_queries", stop)
    getattr(reducer.parts[KEY], where).side_effect = UncomputableError("q1", "its cells", "too large")
    if where == "step":
        assert not reducer._step(KEY, True)
    else:
        reducer.views = {KEY[0]: replace(VIEW, queries_version=2)}
        reducer._keep_up(KEY, 7)
    assert reducer.parts == {}
    assert stop.call_args.args[1:4] == (STREAM, ["q1"], "QUARANTINED")
    assert "its cells cannot be computed: too large; RESUME QUERY" in stop.call_args.args[4]


def test_who_leads_is_shown_though_the_first_call_got_lost(reducer):
    reducer.candidate.epoch = 3
    shown = reducer.zookeeper.client.set
    shown.side_effect = [ConnectionLoss(), None]
    with pytest.raises(ConnectionLoss):
        reducer._show_leader()
    for _ in range(3):
        reducer._show_leader()
    assert [orjson.loads(call.args[1])["leader"] for call in shown.call_args_list] == [True, True]


def test_each_refusal_in_a_row_doubles_the_wait_until_a_step_succeeds():
    clock, waited = ManualClock(), []
    known = Refused(0.02, clock)
    assert known.next_in_s() == math.inf
    for _ in range(9):
        known.note(KEY)
        assert known.waits(KEY)
        waited.append(known.next_in_s())
        clock.now_s += waited[-1] + 1e-6
        assert not known.waits(KEY)
    assert waited == pytest.approx([0.02, 0.04, 0.08, 0.16, 0.32, 0.64, MOST_S, MOST_S, MOST_S])
    known.forget(KEY)
    known.note(KEY)
    assert known.next_in_s() == pytest.approx(0.02)


@pytest.mark.parametrize(("by_exchange", "streams", "goes_on"), [
    (True, {KEY[0]}, True), (True, {None}, True), (True, {KEY[0] + 1}, False), (True, set(), False),
    (False, {KEY[0]}, False),  # entries come, but its commit does not read
])
def test_what_the_exchange_has_refused_waits_no_longer_than_until_entries_come(by_exchange, streams, goes_on):
    known = Refused(10.0)
    known.note(KEY, by_exchange)
    assert known.heard(streams) == goes_on
    assert known.waits(KEY) != goes_on


def test_nothing_is_kept_of_what_another_reducer_owns():
    known = Refused(10.0)
    known.note(KEY)
    known.keep({(KEY[0], KEY[1] + 1)})
    assert not known.waits(KEY)
