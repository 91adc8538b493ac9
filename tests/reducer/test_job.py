"""What a reducer shows of itself."""

from __future__ import annotations

from unittest.mock import Mock

import orjson
import pytest
from kazoo.exceptions import ConnectionLoss

from reducer.job import Reducer


def test_who_leads_is_shown_though_the_first_call_got_lost():
    reducer = object.__new__(Reducer)
    reducer.zookeeper, reducer.candidate = Mock(), Mock(epoch=3)
    reducer.path, reducer.known = "/mars/reducers/0-a", {"id": "0-a", "leader": False}
    shown = reducer.zookeeper.client.set
    shown.side_effect = [ConnectionLoss(), None]
    with pytest.raises(ConnectionLoss):
        reducer._show_leader()
    for _ in range(3):
        reducer._show_leader()
    assert [orjson.loads(call.args[1])["leader"] for call in shown.call_args_list] == [True, True]
