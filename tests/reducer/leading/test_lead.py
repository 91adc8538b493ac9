"""A commit that does not read: the leader asks for a recovery, by which its owner reads it again and falls back."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from mars.adapters.exchange import StaleEpochError
from mars.adapters.storage import CorruptFileError, StateAwayError, Storage
from mars.adapters.view import StreamView
from mars.adapters.zookeeper import Znode
from mars.errors import InvariantError, NotReadyError
from mars.model import names
from mars.model.registry import QuerySet
from reducer.leading import lead
from reducer.leading.lead import Leader
from tests.reducer import handed
from tests.reducer.pieces import QUERY, STREAM

HEARD = Mock(**{"silent_s.return_value": 0.0, "due_in_s.return_value": 1.0})


def leader_of(**connections: object) -> Leader:
    """One with these connections, and mocks of all others."""
    return Leader(handed.connections(**connections), Mock(), Mock(), Mock(), Mock(), handed.runtime())


def test_a_request_for_recovery_that_got_lost_is_made_again() -> None:
    """Else nobody would ever fall back, while that leader leads."""
    ensure = Mock(side_effect=[NotReadyError("ZooKeeper does not answer", ""), None])
    view = SimpleNamespace(stream=SimpleNamespace(id=1, name="s"), queries=QuerySet(partitions=(0,)))
    damaged = Mock(side_effect=CorruptFileError("damaged", "1/0/commit-2"))
    leader = SimpleNamespace(
        cache=SimpleNamespace(streams=lambda: {1: view}), exchange=Mock(), zookeeper=SimpleNamespace(ensure=ensure),
        damaged=set(), memory=Mock(), topics=HEARD, _assign=Mock(), _clean=Mock(), _recover_if_needed=lambda *_: False,
        _reconcile_lanes=damaged)
    leader._mend = partial(Leader._mend, leader)
    with pytest.raises(NotReadyError):
        Leader._round(leader)
    for _ in range(2):
        Leader._round(leader)
    assert [call.args[0] for call in ensure.call_args_list] == [names.recovery_request(1)] * 2


def test_lanes_are_looked_up_in_partitions_that_only_a_query_knows() -> None:
    """Else the query would be attached anew in each round, and one that was paused would stay on its lane."""
    queries = QuerySet(2, (0, 1), {"q1": replace(QUERY, start={0: 0, 1: 0, 3: 5})})
    view = StreamView(STREAM, queries, 1, 1, 1)
    leader = Mock(cache=SimpleNamespace(streams=lambda: {STREAM.id: view}), topics=HEARD)
    Leader._round(leader)
    leader.exchange.standing.assert_called_once_with(STREAM.id, (0, 1, 3))


@pytest.mark.parametrize(("node", "leads", "deleted"), [
    (Znode(b"", 0), True, False),  # made a moment ago: only this follower has not heard of it
    (None, False, False),
    (None, True, True),
])
def test_a_stream_is_deleted_only_if_all_know_that_it_is_gone(tmp_path, node, leads, deleted) -> None:
    """A leader that leads no more, at a follower that lags behind, would delete what another's user has just made."""
    (tmp_path / "7" / "0").mkdir(parents=True)
    leader = leader_of(storage=Storage(str(tmp_path)))
    leader.zookeeper = Mock(**{"get_synced.return_value": node, "transact.return_value": leads})
    leader.zookeeper.client.exists.return_value = None
    leader._clean({})
    assert (tmp_path / "7").exists() != deleted
    assert leader.exchange.forget.called == deleted
    if deleted:
        leader.zookeeper.transact.assert_called_once_with(leader.candidate.guard())


def test_a_folder_that_cannot_be_deleted_is_told_once_and_tried_again_after_a_while(tmp_path, monkeypatch, caplog) -> None:
    """Each round asked ZooKeeper for it, looked through all of Redis, and said nothing."""
    (tmp_path / "7" / "0").mkdir(parents=True)
    leader = leader_of(storage=Storage(str(tmp_path)))
    leader.zookeeper = Mock(**{"get_synced.return_value": None, "transact.return_value": True})
    clock, rmdir = leader.clock, os.rmdir
    monkeypatch.setattr(lead.shutil.os, "rmdir", Mock(side_effect=PermissionError("not yours")))
    for waited_s in (0.0, 1.0, lead.DELETE_AGAIN_S, 1.0):
        clock.now_s += waited_s
        leader._clean({})
    assert leader.exchange.forget.call_count == leader.zookeeper.transact.call_count == 2
    assert [record.getMessage() for record in caplog.records] == [
        "the folder of dropped stream 7 cannot be deleted: not yours"]
    monkeypatch.setattr(lead.shutil.os, "rmdir", rmdir)
    clock.now_s += lead.DELETE_AGAIN_S
    leader._clean({})
    assert list(tmp_path.iterdir()) == []
    assert leader.stays == {}


def test_where_another_instances_folder_is_mounted_nothing_is_deleted(tmp_path) -> None:
    """Its streams are none that this ZooKeeper knows."""
    (tmp_path / "7" / "0").mkdir(parents=True)
    (tmp_path / "instance.json").write_bytes(b'{"id": "another", "format": 1}')
    leader = leader_of(storage=Storage(str(tmp_path), "ours"))
    leader.zookeeper = Mock(**{"get_synced.return_value": None, "transact.return_value": True})
    with pytest.raises(StateAwayError):
        leader._clean({})
    assert (tmp_path / "7" / "0").exists()


def test_a_recovery_begins_only_where_the_commits_can_be_read(tmp_path) -> None:
    """Else each round of a leader without its mount would raise the generation, and all owners would read all again."""
    leader = leader_of(storage=Storage(str(tmp_path), "ours"))
    view = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
    with pytest.raises(StateAwayError):
        leader._recover_if_needed(view, SimpleNamespace(installed=None, server="r"))
    leader.zookeeper.transact.assert_not_called()


@pytest.mark.parametrize("error", [StateAwayError("away"), OSError(5, "Input/output error")])
def test_a_state_folder_that_is_away_ends_no_leader(error) -> None:
    """Its thread ends only with its process."""
    rounds = [error, 1.0]
    leader = leader_of()
    leader.stopping.wait = lambda seconds: not rounds
    leader._round = lambda: _raised_or_given(rounds.pop(0))
    leader.run()
    assert rounds == []


def _raised_or_given(what: Exception | float) -> float:
    if isinstance(what, Exception):
        raise what
    return what


def troubled(view: StreamView, error: Exception) -> Leader:
    """One whose only stream has this trouble."""
    leader = leader_of()
    leader.cache, leader.topics, leader.memory = Mock(**{"streams.return_value": {STREAM.id: view}}), HEARD, Mock()
    leader._assign, leader._clean, leader._recover_if_needed = Mock(), Mock(), Mock(side_effect=error)
    return leader


@pytest.mark.parametrize(("error", "asks"), [
    (NotReadyError("Redis does not answer"), False), (StaleEpochError("another leads"), False),
    (CorruptFileError("damaged"), True), (InvariantError("cells of another plan"), True)])
def test_a_streams_trouble_is_answered_by_its_remedy_and_holds_no_others(error, asks) -> None:
    """A breach of an invariant is never waited out: it asks for a recovery, as a damaged file does."""
    view = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
    leader = troubled(view, error)
    leader.zookeeper.get.return_value = None
    assert leader._round() <= lead.ROUND_MAX_S
    asked = [call.args[0] for call in leader.zookeeper.ensure.call_args_list]
    assert (names.recovery_request(STREAM.id) in asked) == asks
    assert (names.broken(STREAM.id) in asked) == isinstance(error, InvariantError)
    leader._clean.assert_called_once()


def test_a_breach_that_is_of_no_stream_ends_the_leader() -> None:
    """Waiting would hide it; another one leads when this process has ended."""
    leader = leader_of()
    leader.stopping.wait = lambda seconds: False
    leader._round = Mock(side_effect=InvariantError("what cannot be"))
    with pytest.raises(InvariantError):
        leader.run()


@pytest.mark.parametrize(("silent_s", "reducers", "resigns"), [
    (60.0, ["0-a", "1-b"], True),
    (60.0, ["0-a"], False),  # nobody else could do better
    (1.0, ["0-a", "1-b"], False),
])
def test_a_leader_that_hears_nothing_of_kafka_lets_another_one_lead(silent_s, reducers, resigns) -> None:
    """No window closes without its checks, though others may hear the brokers."""
    leader = leader_of()
    leader.cache = Mock(**{"children.return_value": reducers, "streams.return_value": {}})
    leader.topics, leader.memory = Mock(**{"silent_s.return_value": silent_s}), Mock()
    leader._assign, leader._clean = Mock(), Mock()
    leader._round()
    assert leader.candidate.resign.called == leader.topics.forget_silence.called == resigns
    assert leader._assign.called != resigns
