"""What a mapper holds when something ends between claiming and computing."""

from __future__ import annotations

import queue
import threading
from types import SimpleNamespace

import pytest
from kazoo.exceptions import ConnectionLoss

from mapper.fetching import Fetching
from mapper.shared import Fetched, Shared
from mapper.suspect import Suspects
from mars.adapters.exchange import StaleGenerationError
from mars.errors import NotReadyError

CLAIM = SimpleNamespace(id=7, is_suspect=False, kills="")
VIEW = SimpleNamespace(stream=SimpleNamespace(id=1, name="s"), generation=1)


class Leases(set):
    """Stands for the lease keeper: the ids that it renews."""

    def hold(self, stream_id: int, generation: int, claim: SimpleNamespace) -> None:
        self.add(claim.id)

    def drop(self, stream_id: int, claim: SimpleNamespace) -> None:
        self.discard(claim.id)


@pytest.fixture
def fetching(monkeypatch) -> Fetching:
    """One that has just claimed; how it reads is for the test to say."""
    made, shared = object.__new__(Fetching), object.__new__(Shared)
    shared.room, shared.fetched, shared.leases = threading.Semaphore(1), queue.Queue(), Leases()
    shared.suspects = Suspects(None, None, threading.Event())
    shared.news, shared.cache = threading.Event(), SimpleNamespace(forget=lambda: None)
    made.shared = shared
    monkeypatch.setattr(made, "_is_active", lambda view: True)
    monkeypatch.setattr(made, "_claim", lambda view: CLAIM)
    return made


@pytest.mark.parametrize("error", [ConnectionLoss(), NotReadyError("Kafka does not answer"),
                                   StaleGenerationError("another generation")])
def test_a_claim_that_cannot_be_read_is_left_to_its_lease(fetching, monkeypatch, error):
    """Else this mapper would renew for ever what nobody works on."""

    def fail(view: object, claim: object) -> None:
        raise error

    monkeypatch.setattr(fetching, "_read", fail)
    assert not fetching._fetch_one(VIEW)
    assert fetching.shared.leases == set()
    assert fetching.shared.room.acquire(blocking=False)


def test_a_claim_that_was_read_is_held_until_it_is_computed(fetching, monkeypatch):
    monkeypatch.setattr(fetching, "_read", lambda view, claim: Fetched(view, claim, {}, None))
    assert fetching._fetch_one(VIEW)
    assert fetching.shared.leases == {7}
    assert fetching.shared.fetched.get_nowait().claim is CLAIM


@pytest.mark.parametrize("usable", [True, False])
def test_a_mapper_without_work_rests_also_while_zookeeper_is_away(fetching, usable):
    """Notices that cannot be read must not keep it awake."""
    waited = []
    shared, fetching.views, fetching.claimers = fetching.shared, {}, {}
    shared.zookeeper = SimpleNamespace(usable=usable)
    shared.rests, shared.news, shared.stopping = (threading.Event() for _ in range(3))
    shared.rests.set()
    shared.stopping.wait = lambda seconds: waited.append("stopping")
    shared.news.wait = lambda seconds: waited.append("news")
    fetching._await_tuples()
    assert waited == ["news" if usable else "stopping"]
