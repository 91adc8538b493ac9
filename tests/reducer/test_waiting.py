"""What a reducer waits out: it neither ends, nor takes for done what was lost."""

from __future__ import annotations

from unittest.mock import Mock

import orjson
import pytest
from kazoo.exceptions import ConnectionLoss

from mars.adapters.storage import CorruptFileError
from mars.adapters.view import StreamView
from mars.errors import NotReadyError
from mars.registry import QuerySet
from reducer import job
from reducer.job import Reducer
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
KEY = (STREAM.id, 0)


@pytest.fixture
def reducer(monkeypatch) -> Reducer:
    """One without threads and connections, which has one key part."""
    monkeypatch.setattr(job, "time", Mock())
    made = object.__new__(Reducer)
    made.cache, made._news, made.zookeeper, made.storage = Mock(), Mock(), Mock(), Mock()
    made.views = {KEY[0]: VIEW}
    made.parts = {KEY: Mock(view=VIEW, owner_version=7)}
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
    assert fell.call_args.args[2:] == (VIEW, KEY[1], 7)


def test_who_leads_is_shown_though_the_first_call_got_lost(reducer):
    reducer.candidate, reducer.path, reducer.known = Mock(epoch=3), "/mars/reducers/0-a", {"id": "0-a", "leader": False}
    shown = reducer.zookeeper.client.set
    shown.side_effect = [ConnectionLoss(), None]
    with pytest.raises(ConnectionLoss):
        reducer._show_leader()
    for _ in range(3):
        reducer._show_leader()
    assert [orjson.loads(call.args[1])["leader"] for call in shown.call_args_list] == [True, True]
