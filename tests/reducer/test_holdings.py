"""What a reducer keeps of its key parts when their streams change, and what it does about each error of one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from kazoo.exceptions import ConnectionLoss

from mars.adapters import computability
from mars.adapters.exchange import ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.storage import CorruptFileError, StateAwayError
from mars.adapters.view import StreamView
from mars.adapters.zookeeper import TooLargeError, Znode
from mars.errors import InvariantError, NotFoundError, NotReadyError
from mars.model.registry import QuerySet
from reducer import remedies
from reducer.committing.assignment import Assignment, PartId
from reducer.holdings import AWAY_S, FULL_DISK_S, Holdings
from reducer.keypart import KeyPart
from reducer.remedies import Remedies
from reducer.state.computation import UncomputableError
from tests.clock import ManualClock
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
ID = PartId(STREAM.id, 0)
ASSIGNMENT = Assignment(VIEW, 0, 7, 1)
DAMAGED = CorruptFileError("damaged", "1/0/commit-2")


class Held(SimpleNamespace):
    """Stands for a key part in hand."""

    def take_queries(self, view: StreamView) -> None:
        self.assignment = self.assignment.follow(view)


class Answers(SimpleNamespace):
    """What was done about an error; `fell` is called to fall back, `stop` to stop a query, `recovery` to ask for one."""


@pytest.fixture
def done(monkeypatch) -> Answers:
    made = Answers(fell=Mock(return_value=True), stop=Mock(), recovery=Mock(), clock=ManualClock())
    monkeypatch.setattr(remedies, "fall_back", lambda _zookeeper, _storage, assignment: made.fell(assignment))
    monkeypatch.setattr(remedies, "stop_queries", lambda _zookeeper, *what: made.stop(*what))
    monkeypatch.setattr(remedies, "answer", lambda _zookeeper, view, error: made.recovery(view, error))
    return made


@pytest.fixture
def held(done) -> Holdings:
    """One key part in hand."""
    zookeeper, exchange = Mock(get_synced=Mock(return_value=Znode(b"", 1)), clock=done.clock), Mock()
    made = Holdings(Mock(), zookeeper, exchange, Mock(), Remedies(zookeeper, exchange, Mock(), Mock(), Mock()))
    made.parts[ID] = Mock(assignment=ASSIGNMENT)
    return made


def take_queries(held: Holdings) -> None:
    held.follow({STREAM.id: replace(VIEW, queries_version=2)}, {ID: 7})


# -- following --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("change", "owner", "kept"), [
    ({}, 7, True),
    ({"queries_version": 2}, 7, True),
    ({"generation": 2, "generation_version": 2}, 7, False),
    ({}, 8, False),
    # Windows may be closed and not committed yet, without what lies in the new partition.
    ({"queries_version": 2, "queries": QuerySet(2, (0, 1, 2), {"q1": QUERY})}, 7, False),
])
def test_working_state_survives_what_it_does_not_depend_on(held, monkeypatch, change, owner, kept):
    loads = []
    monkeypatch.setattr(KeyPart, "load", lambda *what: loads.append(what[-1]) or "loaded")
    part = held.parts[ID] = Held(assignment=ASSIGNMENT)
    view = replace(VIEW, **change)
    held.follow({STREAM.id: view}, {ID: owner})
    assert held.parts[ID] == (part if kept else "loaded")
    assert loads == ([] if kept else [Assignment(view, 0, owner, 1)])
    assert part.assignment.view.queries_version == (2 if kept and change else 1)


@pytest.mark.parametrize("part", [None, Held(assignment=ASSIGNMENT)])
def test_a_query_set_with_what_other_code_made_is_not_taken_up(held, monkeypatch, part):
    """The query stops, and the set without it comes at once; what is held goes on with the set from before."""
    monkeypatch.setattr(KeyPart, "load", Mock(side_effect=AssertionError("loaded")))
    stops = []
    monkeypatch.setattr(computability, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((ids, *why)))
    monkeypatch.setattr(held.refusals, "note", Mock())
    foreign = replace(QUERY, id="q2", plan=replace(QUERY.plan, versions=(("count", 99),)))
    held.parts = {ID: part} if part else {}
    held.follow({STREAM.id: replace(VIEW, queries_version=2, queries=QuerySet(3, (0, 1), {"q1": QUERY, "q2": foreign}))},
                {ID: 7})
    assert [stop[:2] for stop in stops] == [(["q2"], "QUARANTINED")]
    assert "count of version 99" in stops[0][2]
    assert held.parts == ({ID: part} if part else {})
    assert part is None or part.assignment.view is VIEW


def test_what_is_assigned_to_another_is_let_go(held):
    held.follow({STREAM.id: VIEW}, {})
    assert held.parts == {}


@pytest.mark.parametrize("error", [StateAwayError("away", "1/0/commit-2"), OSError(5, "Input/output error")])
def test_a_state_folder_that_is_away_is_waited_for(held, done, monkeypatch, error):
    """What is half taken over is read again; nobody falls back."""
    monkeypatch.setattr(KeyPart, "load", Mock(side_effect=error))
    monkeypatch.setattr(held.refusals, "waits", lambda _: False)
    monkeypatch.setattr(held.refusals, "note", Mock())
    held.parts[ID].take_queries.side_effect = error
    for _ in range(2):
        take_queries(held)
        assert held.parts == {}
    done.fell.assert_not_called()


@pytest.mark.parametrize("away", [ConnectionLoss(), NotReadyError("away")])
def test_a_zookeeper_that_is_away_while_queries_are_taken_leaves_what_is_held(held, away):
    """The reducer waits, and follows again."""
    held.parts[ID].take_queries.side_effect = away
    with pytest.raises(type(away)):
        take_queries(held)
    assert ID in held.parts


# -- errors, each by its remedy -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("error", "pause_s"), [
    (NotReadyError("Redis does not answer"), AWAY_S),
    (StateAwayError("the state folder does not answer"), AWAY_S),
    (TooLargeError(9), AWAY_S),
    (ExchangeFullError("Redis is full"), AWAY_S),
    (ConnectionLoss(), AWAY_S),
    (OSError(28, "No space left on device"), FULL_DISK_S),
])
def test_what_passes_by_itself_is_waited_out_with_all_that_is_held(held, done, error, pause_s):
    part = held.parts[ID]
    part.step.side_effect = error
    assert not held.step({None})
    assert held.parts == {ID: part}
    assert done.clock.slept == [pause_s]
    held.remedies.news.assert_not_called()
    part.step.side_effect = None
    assert held.step({None})


def asks_the_leader(held: Holdings, done: Answers) -> bool:
    return held.exchange.ask_for_check.call_args.args == (STREAM.id,)


def falls_back(held: Holdings, done: Answers) -> bool:
    return done.fell.call_args.args == (ASSIGNMENT,)


def stops_the_query(held: Holdings, done: Answers) -> bool:
    stream, ids, state, reason = done.stop.call_args.args
    return (stream, ids, state) == (STREAM, ["q1"], "QUARANTINED") and "too large; RESUME QUERY" in reason


def asks_for_a_recovery(held: Holdings, done: Answers) -> bool:
    view, error = done.recovery.call_args.args
    return (view, error.title) == (VIEW, "overlap") and done.clock.slept == [remedies.RECOVERS_S]


@pytest.mark.parametrize(("error", "is_done"), [
    (StaleGenerationError("another generation"), asks_the_leader),
    (StaleEpochError("another owner"), asks_the_leader),
    (DAMAGED, falls_back),
    (UncomputableError("q1", "its cells", "too large"), stops_the_query),
    (InvariantError("overlap"), asks_for_a_recovery),
])
def test_what_does_not_pass_is_answered_by_its_remedy_and_read_again(held, done, error, is_done: Callable):
    held.parts[ID].step.side_effect = error
    assert not held.step({None})
    assert held.parts == {}
    assert is_done(held, done)
    assert held.refusals.waits(ID)
    assert held.heard({STREAM.id}) == (is_done is asks_the_leader), "entries say that the exchange has it again"
    held.remedies.news.assert_called()


@pytest.mark.parametrize(("error", "is_done"), [(DAMAGED, falls_back), (
    UncomputableError("q1", "its cells", "too large"), stops_the_query)])
def test_what_is_met_while_queries_are_taken_is_answered_too(held, done, error, is_done):
    held.parts[ID].take_queries.side_effect = error
    take_queries(held)
    assert held.parts == {}
    now = replace(ASSIGNMENT, view=replace(VIEW, queries_version=2))
    assert done.fell.call_args.args == (now,) if is_done is falls_back else is_done(held, done)


@pytest.mark.parametrize("error", [NotFoundError("no such topic"), KeyError("a defect")])
def test_an_error_against_which_nothing_helps_here_ends_the_reducer(held, error):
    held.parts[ID].step.side_effect = error
    with pytest.raises(type(error)):
        held.step({None})


@pytest.mark.parametrize(("error", "call"), [(InvariantError("overlap"), "recovery"), (
    UncomputableError("q1", "its cells", "too large"), "stop"), (DAMAGED, "fell")])
@pytest.mark.parametrize("away", [ConnectionLoss(), TooLargeError(9)])
def test_a_zookeeper_that_is_away_meanwhile_ends_no_reducer(held, done, error, call, away):
    """The key part is read again, and the error met again."""
    getattr(done, call).side_effect = away
    held.parts[ID].step.side_effect = error
    assert not held.step({None})
    assert held.parts == {}


def test_the_last_commit_may_fail_at_the_end(held):
    for error in (StaleGenerationError("moved on"), ConnectionLoss(), OSError(28, "No space left on device")):
        held.parts[ID].commit.side_effect = error
        held.commit()
    held.parts[ID].commit.side_effect = InvariantError("overlap")
    with pytest.raises(InvariantError):
        held.commit()
