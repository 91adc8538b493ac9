"""What a reducer shows of itself."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import orjson
import pytest
from kazoo.exceptions import ConnectionLoss

from tests.reducer import handed


def test_who_leads_is_shown_though_the_first_call_got_lost():
    reducer = handed.reducer()
    reducer.candidate.epoch = 3
    registration = orjson.dumps({**reducer.known, "retires": True})  # somebody else has written there, too
    reducer.zookeeper.get = lambda path: SimpleNamespace(data=registration, version=4)
    shown = reducer.zookeeper.transact = Mock(side_effect=[ConnectionLoss(), False, True])
    with pytest.raises(ConnectionLoss):
        reducer._show_leader()
    for _ in range(3):
        reducer._show_leader()
    assert [call.args[0][::3] for call in shown.call_args_list] == [("set", 4)] * 3
    told = [orjson.loads(call.args[0][2]) for call in shown.call_args_list]
    assert [(known["leader"], known["retires"]) for known in told] == [(True, True)] * 3
