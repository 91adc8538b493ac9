"""What a reducer keeps of a key part when its stream's query set changes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from kazoo.exceptions import ConnectionLoss

from mars.adapters import computable
from mars.adapters.storage import CorruptFileError, StateAwayError
from mars.adapters.view import StreamView
from mars.adapters.zookeeper import Znode
from mars.config import Config
from mars.errors import InvariantError
from mars.model.registry import QuerySet
from reducer import job
from reducer.committing.assignment import Assignment
from reducer.connections import state_folder
from reducer.keypart import KeyPart
from tests.clock import ManualClock
from tests.reducer import handed
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
KEY = (STREAM.id, 0)
ASSIGNMENT = Assignment(VIEW, 0, 7, 1)


class Held(SimpleNamespace):
    """Stands for a key part in hand."""

    def take_queries(self, view: StreamView) -> None:
        self.assignment = self.assignment.follow(view)


@pytest.mark.parametrize(("change", "owner", "kept"), [
    ({}, 7, True),
    ({"queries_version": 2}, 7, True),
    ({"generation": 2, "generation_version": 2}, 7, False),
    ({}, 8, False),
    # Windows may be closed and not committed yet, without what lies in the new partition.
    ({"queries_version": 2, "queries": QuerySet(2, (0, 1, 2), {"q1": QUERY})}, 7, False),
])
def test_working_state_survives_what_it_does_not_depend_on(monkeypatch, change, owner, kept):
    loaded = object()
    monkeypatch.setattr(KeyPart, "load", lambda *_: loaded)
    reducer = handed.reducer(zookeeper=Mock(get_synced=Mock(return_value=Znode(b"", 1))))
    reducer.views = {STREAM.id: replace(VIEW, **change)}
    held = Held(assignment=ASSIGNMENT)
    reducer.parts = {KEY: held}
    reducer._keep_up(KEY, owner)
    assert reducer.parts[KEY] is (held if kept else loaded)
    assert held.assignment.view.queries_version == (2 if kept and change else 1)


@pytest.mark.parametrize("held", [None, Held(assignment=ASSIGNMENT)])
def test_a_query_set_with_what_other_code_made_is_not_taken_up(monkeypatch, held):
    """The query stops, and the set without it comes at once; what is held goes on with the set from before."""
    monkeypatch.setattr(KeyPart, "load", Mock(side_effect=AssertionError("loaded")))
    stops = []
    monkeypatch.setattr(computable, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((ids, *why)))
    foreign = replace(QUERY, id="q2", plan=replace(QUERY.plan, versions=(("count", 99),)))
    reducer = handed.reducer()
    reducer.views = {STREAM.id: replace(VIEW, queries_version=2, queries=QuerySet(3, (0, 1), {"q1": QUERY, "q2": foreign}))}
    reducer.parts = {KEY: held} if held else {}
    reducer._keep_up(KEY, 7)
    assert [stop[:2] for stop in stops] == [(["q2"], "QUARANTINED")]
    assert "count of version 99" in stops[0][2]
    assert reducer.parts == ({KEY: held} if held else {})
    assert held is None or held.assignment.view is VIEW


@pytest.mark.parametrize(("error", "stays"), [(ConnectionLoss(), True), (InvariantError("overlap"), False)])
def test_a_zookeeper_that_is_away_ends_no_reducer(error, stays):
    """Neither while a query is stopped, nor while a recovery is asked for: what broke the invariant is read again."""
    reducer = handed.reducer(zookeeper=Mock(clock=ManualClock(), get=Mock(side_effect=ConnectionLoss())))
    reducer.parts = {KEY: Mock(assignment=ASSIGNMENT, view=VIEW, step=Mock(side_effect=error))}
    assert not reducer._step(KEY, True)
    assert (KEY in reducer.parts) == stays


def test_a_state_that_does_not_read_while_a_commit_copies_it_is_fallen_back_from(monkeypatch):
    fell = Mock(return_value=True)
    monkeypatch.setattr(job, "fall_back", fell)
    reducer = handed.reducer()
    reducer.views = {KEY[0]: VIEW}
    step = Mock(side_effect=CorruptFileError("damaged", "1/0/commit-2"))
    reducer.parts = {KEY: Mock(assignment=ASSIGNMENT, view=VIEW, step=step)}
    assert not reducer._step(KEY, True)
    assert reducer.parts == {}
    assert fell.call_args.args[2] == ASSIGNMENT


def test_a_state_folder_that_is_away_is_waited_for(monkeypatch):
    """What is half taken over is read again; nobody falls back."""
    monkeypatch.setattr(job, "fall_back", Mock(side_effect=AssertionError))
    monkeypatch.setattr(KeyPart, "load", Mock(side_effect=StateAwayError("away", "1/0/commit-2")))
    reducer = handed.reducer(zookeeper=Mock(get_synced=Mock(return_value=Znode(b"", 1))))
    reducer.views = {STREAM.id: replace(VIEW, queries_version=2)}
    reducer.parts = {KEY: Mock(assignment=ASSIGNMENT, view=VIEW, take_queries=Mock(side_effect=StateAwayError("away")))}
    reducer._keep_up(KEY, 7)
    assert reducer.parts == {}
    reducer._keep_up(KEY, 7)
    assert reducer.parts == {}


def test_a_reducer_whose_state_folder_is_not_mounted_does_not_start(tmp_path):
    """It would be given key parts that other hosts can read."""
    config = Config(data=tmp_path)
    zookeeper = Mock(get=Mock(return_value=Znode(b'{"id": "ours", "format": 1}', 0)))
    with pytest.raises(StateAwayError, match="is of instance none"):
        state_folder(config, zookeeper)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "instance.json").write_bytes(b'{"id": "ours", "format": 1}')
    assert state_folder(config, zookeeper).instance == "ours"
