"""The election on a real ZooKeeper: one leads, each leader has a higher epoch, and an old one's writes are refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZooKeeper
from reducer.elect import Candidate

pytestmark = pytest.mark.services


@pytest.fixture
def candidate(stack) -> Iterator[Callable[[str], Candidate]]:
    """Makes candidates with a session of their own each."""
    sessions: list[ZooKeeper] = []

    def make(name: str) -> Candidate:
        sessions.append(ZooKeeper(stack.config.zookeeper_address, 4_000))
        return Candidate(sessions[-1], name, ViewCache(sessions[-1]))

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
