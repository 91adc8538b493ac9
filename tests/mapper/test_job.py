"""What a mapper holds when something ends between claiming and computing."""

from __future__ import annotations

import queue
import threading
from types import SimpleNamespace

import pytest
from kazoo.exceptions import ConnectionLoss

from mapper.job import Fetched, Mapper
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
def mapper(monkeypatch) -> Mapper:
    """One that has just claimed; how it reads is for the test to say."""
    made = object.__new__(Mapper)
    made.room, made.fetched, made.leases = threading.Semaphore(1), queue.Queue(), Leases()
    made.suspects = Suspects(None, None, threading.Event())
    made.news, made.cache = threading.Event(), SimpleNamespace(forget=lambda: None)
    monkeypatch.setattr(made, "_is_active", lambda view: True)
    monkeypatch.setattr(made, "_claim", lambda view: CLAIM)
    return made


@pytest.mark.parametrize("error", [ConnectionLoss(), NotReadyError("Kafka does not answer"),
                                   StaleGenerationError("another generation")])
def test_a_claim_that_cannot_be_read_is_left_to_its_lease(mapper, monkeypatch, error):
    """Else this mapper would renew for ever what nobody works on."""

    def fail(view: object, claim: object) -> None:
        raise error

    monkeypatch.setattr(mapper, "_read", fail)
    assert not mapper._fetch_one(VIEW)
    assert mapper.leases == set()
    assert mapper.room.acquire(blocking=False)


def test_a_claim_that_was_read_is_held_until_it_is_computed(mapper, monkeypatch):
    monkeypatch.setattr(mapper, "_read", lambda view, claim: Fetched(view, claim, {}, None, -1))
    assert mapper._fetch_one(VIEW)
    assert mapper.leases == {7}
    assert mapper.fetched.get_nowait().claim is CLAIM


@pytest.mark.parametrize("usable", [True, False])
def test_a_mapper_without_work_rests_also_while_zookeeper_is_away(mapper, usable):
    """Notices that cannot be read must not keep it awake."""
    waited = []
    mapper.zookeeper, mapper.views, mapper.claimers = SimpleNamespace(usable=usable), {}, {}
    mapper.rests, mapper.news, mapper.stopping = (threading.Event() for _ in range(3))
    mapper.rests.set()
    mapper.stopping.wait = lambda seconds: waited.append("stopping")
    mapper.news.wait = lambda seconds: waited.append("news")
    mapper._await_tuples()
    assert waited == ["news" if usable else "stopping"]
