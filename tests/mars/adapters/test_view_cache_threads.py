"""Several threads of a worker read streams from one cache."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import Znode
from mars.model.registry import Catalog

MANY, ROUNDS = 20_000, 20


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads take turns after some microseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_what_is_gone_is_forgotten_while_another_thread_enters_a_stream(impatient):
    cache = ViewCache(Mock())
    cache.get = lambda path: Znode(Catalog().dump(), 1)
    entered, over = iter(range(10**9)), threading.Event()

    def enter() -> None:
        while not over.is_set():
            cache._views[next(entered)] = ()

    thread = threading.Thread(target=enter)
    thread.start()
    try:
        for _ in range(ROUNDS):
            cache._views |= dict.fromkeys(range(-MANY, 0), ())
            assert cache.streams() == {}
            assert -1 not in cache._views
    finally:
        over.set()
        thread.join()
