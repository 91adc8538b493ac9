"""The election on a real ZooKeeper: one leads, each leader has a higher epoch, and an old one's writes are refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from kazoo.exceptions import ConnectionLoss

from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZooKeeper
from mars.model import names
from reducer.leading.elect import Candidate

pytestmark = pytest.mark.services


@pytest.fixture
def candidate(stack) -> Iterator[Callable[[str], Candidate]]:
    """Makes candidates with a session of their own each."""
    sessions: list[ZooKeeper] = []

    def make(name: str) -> Candidate:
        sessions.append(ZooKeeper(stack.config.zookeeper_address, 4_000))
        made = Candidate(sessions[-1], name, ViewCache(sessions[-1]))
        made.stand()
        return made

    yield make
    for session in sessions:
        session.stop()


def test_the_first_leads_until_its_session_ends(candidate):
    first, second = candidate("0-a"), candidate("1-b")
    assert first.check()
    assert not second.check()
    assert first.check()
    epoch = first.epoch
    first.zookeeper.stop()
    deadline = time.monotonic() + 60
    while not second.check():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert second.epoch == epoch + 1
    assert not first.check()


def test_an_old_leaders_transaction_is_refused(candidate):
    first, second = candidate("0-a"), candidate("1-b")
    assert first.check()
    third = candidate("2-c")
    path = "/mars/test-guard"
    third.zookeeper.ensure(path)
    assert third.zookeeper.transact(first.guard(), ("set", path, b"by the first", 0))
    assert third.zookeeper.transact(first.guard())
    guard = first.guard()
    first.zookeeper.stop()
    deadline = time.monotonic() + 60
    while not second.check():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not third.zookeeper.transact(guard, ("set", path, b"too late", 1))
    assert not third.zookeeper.transact(guard)
    assert third.zookeeper.transact(second.guard(), ("set", path, b"by the second", 1))
    third.zookeeper.client.delete(path)


@pytest.mark.parametrize("answered", [True, False])
def test_who_resigns_stands_behind_all_others(candidate, monkeypatch, answered):
    """Once, also if the answer to its call was lost: a second znode of its own would lead some day, and nobody with it."""
    first, second = candidate("0-a"), candidate("1-b")
    assert first.check()
    first.resign()
    assert first.epoch is None
    if not answered:
        create = first.zookeeper.client.create
        monkeypatch.setattr(first.zookeeper.client, "create", lambda *a, **b: _lose(create(*a, **b)))
        with pytest.raises(ConnectionLoss):
            first.check()
        monkeypatch.undo()
    assert not first.check()
    standing = sorted(second.zookeeper.children(names.ELECTION))
    assert standing == [second.name, first.name]
    deadline = time.monotonic() + 10
    while not second.check():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    second.resign()
    second.check()
    deadline = time.monotonic() + 10
    while not first.check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _lose(_answer: str) -> None:
    raise ConnectionLoss
