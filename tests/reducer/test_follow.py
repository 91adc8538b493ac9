"""What a reducer keeps of a key part when its stream's query set changes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mars.adapters.view import StreamView
from mars.registry import QuerySet
from reducer.job import Reducer
from reducer.keypart import KeyPart
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
KEY = (STREAM.id, 0)


class Held(SimpleNamespace):
    """Stands for a key part in hand."""

    def take_queries(self, view: StreamView) -> None:
        self.view = view


@pytest.mark.parametrize(("change", "owner", "kept"), [
    ({}, 1, True),
    ({"queries_version": 2}, 1, True),
    ({"generation": 2, "generation_version": 2}, 1, False),
    ({}, 2, False),
    # Windows may be closed and not committed yet, without what lies in the new partition.
    ({"queries_version": 2, "queries": QuerySet(2, (0, 1, 2), {"q1": QUERY})}, 1, False),
])
def test_working_state_survives_what_it_does_not_depend_on(monkeypatch, change, owner, kept):
    loaded = object()
    monkeypatch.setattr(KeyPart, "load", lambda *_: loaded)
    reducer = object.__new__(Reducer)
    reducer.config = reducer.zookeeper = reducer.exchange = reducer.storage = None
    reducer.views = {STREAM.id: replace(VIEW, **change)}
    held = Held(view=VIEW, owner_version=1)
    reducer.parts = {KEY: held}
    reducer._keep_up(KEY, owner)
    assert reducer.parts[KEY] is (held if kept else loaded)
    assert held.view.queries_version == (2 if kept and change else 1)
