"""How many workers are wanted, and who is asked to end."""

from __future__ import annotations

import orjson
import pytest

from mars.model import workforce

SETTINGS, MOST = {"mappers": 2, "reducers": 2}, {"mappers": 5, "reducers": 2}


@pytest.mark.parametrize(("asked", "settings", "found"), [
    (None, SETTINGS, {"mappers": 2, "reducers": 2}),
    ({"mappers": 4, "reducers": 1}, SETTINGS, {"mappers": 4, "reducers": 1}),
    ({"mappers": 4, "reducers": 1}, {"mappers": 3, "reducers": 2}, {"mappers": 3, "reducers": 1}),  # another setting wins
    ({"mappers": 9, "reducers": 9}, SETTINGS, {"mappers": 5, "reducers": 2}),  # the most was lowered since
])
def test_a_number_that_was_asked_for_holds_until_the_setting_changes(asked, settings, found):
    data = None if asked is None else workforce.asking(asked, SETTINGS)
    assert workforce.wanted(data, settings, MOST) == found


def test_a_kind_that_nobody_knew_then_has_its_setting():
    assert workforce.wanted(orjson.dumps({"mappers": {"wanted": 1, "setting": 2}}), SETTINGS, MOST)["reducers"] == 2


def test_workers_of_slots_that_are_not_wanted_are_asked_once():
    known = {f"/w/{slot}": orjson.dumps({"slot": slot, "id": f"{slot}-x"}) for slot in range(4)} | {"/w/gone": b""}
    assert workforce.surplus(2, known) == ["/w/2", "/w/3"]
    known["/w/3"] = workforce.retired(known["/w/3"])
    assert workforce.surplus(2, known) == ["/w/2"]
    assert workforce.is_retired(known["/w/3"])
    assert orjson.loads(known["/w/3"])["id"] == "3-x"
    assert not workforce.is_retired(known["/w/2"])
    assert not workforce.is_retired(None)
