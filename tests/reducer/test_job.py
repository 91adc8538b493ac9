"""What a reducer shows of itself."""

from __future__ import annotations

import orjson
import pytest
from kazoo.exceptions import ConnectionLoss

from tests.reducer import handed


def test_who_leads_is_shown_though_the_first_call_got_lost():
    reducer = handed.reducer()
    reducer.candidate.epoch = 3
    shown = reducer.zookeeper.client.set
    shown.side_effect = [ConnectionLoss(), None]
    with pytest.raises(ConnectionLoss):
        reducer._show_leader()
    for _ in range(3):
        reducer._show_leader()
    assert [orjson.loads(call.args[1])["leader"] for call in shown.call_args_list] == [True, True]
