"""Views by watches on a real ZooKeeper: changes are seen at once, and a watch that does not fire costs NET_S."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from kazoo.protocol.states import Callback

from mars.adapters import view_cache
from mars.adapters.catalog import CatalogStore
from mars.adapters.view import read_stream
from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import Znode, ZooKeeper
from mars.errors import NotFoundError
from mars.model.plan import Stream, StreamColumn
from mars.runtime.system import SYSTEM
from tests.clock import ManualClock

pytestmark = pytest.mark.services
ROOT = "/mars-view-cache"
LONG_S = 60


@pytest.fixture
def zookeeper(stack, fresh_name):
    """A session of our own."""
    made = ZooKeeper(stack.config.zookeeper_address, 4_000)
    yield made
    made.stop()


@pytest.fixture
def path(zookeeper, fresh_name) -> str:
    """A znode that exists, with b'a'."""
    made = f"{ROOT}/{fresh_name('z')}"
    zookeeper.ensure(made, b"a")
    return made


class Counted(ViewCache):
    """Counts what is really read."""

    reads = 0

    def _read(self, path: str) -> Znode | None:
        self.reads += 1
        return super()._read(path)


@pytest.fixture
def changed() -> threading.Event:
    return threading.Event()


@pytest.fixture
def stream_of() -> Callable[[str], Stream]:
    """A stream of that name."""
    return lambda name: Stream(name, 0, "topic", "id", (StreamColumn("time", "BIGINT"),), "CSV", "time")


@pytest.fixture
def clock() -> ManualClock:
    """The cache's clock, which stands: what is read anew is so because a watch fired, however slow this machine is."""
    return ManualClock()


@pytest.fixture
def cache(zookeeper, changed, clock) -> Counted:
    return Counted(zookeeper, changed.set, replace(SYSTEM, clock=clock))


def test_what_does_not_change_is_read_once(cache, path):
    assert [cache.get(path).data for _ in range(20)] == [b"a"] * 20
    assert cache.reads == 1


def test_a_change_is_seen_as_soon_as_it_is_told(cache, path, changed, zookeeper):
    assert cache.get(path) == Znode(b"a", 0)
    zookeeper.client.set(path, b"b")
    assert changed.wait(LONG_S)
    assert cache.get(path) == Znode(b"b", 1)
    changed.clear()
    zookeeper.client.delete(path)
    assert changed.wait(LONG_S)
    assert cache.get(path) is None


def test_a_znode_that_comes_later_is_seen_too(cache, path, changed, zookeeper):
    assert cache.get(f"{path}/later") is None
    assert cache.get(f"{path}/later") is None
    assert cache.reads == 1
    zookeeper.ensure(f"{path}/later", b"c")
    assert changed.wait(LONG_S)
    assert cache.get(f"{path}/later").data == b"c"


def test_children_come_and_go(cache, path, changed, zookeeper):
    assert cache.children(path) == []
    zookeeper.ensure(f"{path}/b")
    assert changed.wait(LONG_S)
    changed.clear()
    assert cache.children(path) == ["b"]
    zookeeper.client.delete(f"{path}/b")
    assert changed.wait(LONG_S)
    assert cache.children(path) == []


def test_a_watch_that_never_fires_costs_the_net_alone(cache, path, zookeeper, clock):
    cache._fired = lambda event: None
    assert cache.get(path).data == b"a"
    zookeeper.client.set(path, b"b")
    assert cache.get(path).data == b"a"
    clock.now_s += view_cache.NET_S
    assert cache.get(path).data == b"b"


def test_a_lost_connection_makes_everything_old(cache, path, changed, stack):
    cache.get(path)
    cache._zookeeper.client._connection._socket.shutdown(2)  # as a network does it: watches are lost, the session is not
    assert changed.wait(LONG_S)
    deadline = time.monotonic() + LONG_S
    while not cache._zookeeper.usable:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    other = ZooKeeper(stack.config.zookeeper_address, 4_000)
    other.client.set(path, b"b")
    other.stop()
    deadline = time.monotonic() + LONG_S
    while cache.get(path).data != b"b":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert cache.reads >= 2


def test_a_slow_reader_does_not_bring_back_what_was_before(cache, path, zookeeper, clock):
    """A read that began before another one and ends after it."""
    began, go = threading.Event(), threading.Event()
    real = Counted._read

    def slow(path: str) -> Znode | None:
        found = real(cache, path)
        began.set()
        go.wait(LONG_S)
        return found

    cache._read = slow
    seen = []
    thread = threading.Thread(target=lambda: seen.append(cache.get(path)))
    thread.start()
    assert began.wait(LONG_S)
    cache._read = lambda path: real(cache, path)
    clock.now_s += 0.001  # the other one begins later, though the notice of the change may come later still
    zookeeper.client.set(path, b"b")
    while cache.get(path).data != b"b":
        time.sleep(0.01)
    go.set()
    thread.join()
    assert cache.get(path).data == b"b"


def test_several_are_asked_for_at_once(cache, path, changed, zookeeper):
    """The answers come after all questions; what is held is not asked for, and what is not there is known to be so."""
    for number in range(3):
        zookeeper.ensure(f"{path}/{number}", b"%d" % number)
    paths, waiting, most = [f"{path}/{number}" for number in range(4)], [], []
    ask, answer = zookeeper.client.get_async, cache._answer
    zookeeper.client.get_async = lambda path, watch: waiting.append(path) or ask(path, watch=watch)
    cache._answer = lambda path, asked: most.append(len(waiting)) or answer(path, asked)
    cache.get(paths[1])
    waiting.clear()
    expected = [Znode(b"0", 0), Znode(b"1", 0), Znode(b"2", 0), None]
    assert [cache.get_all(paths), cache.get_all(paths)] == [expected] * 2
    assert (waiting[:3], most) == ([paths[0], *paths[2:]], [3, 3, 3])
    waiting.clear()
    zookeeper.client.set(paths[2], b"later")
    assert changed.wait(LONG_S)
    assert cache.get_all(paths)[2] == Znode(b"later", 1)
    assert waiting == [paths[2]]


def test_nothing_is_older_than_what_was_read_before(cache, path, zookeeper):
    """The session knows of a change before it reads a later one, but who watches may be told some time after that."""
    paths = [f"{path}/{number}" for number in range(2)]
    for one in paths:
        zookeeper.ensure(one, b"old")
    cache.get_all(paths)
    goes_on, beside = threading.Event(), []
    other = threading.Timer(0.1, lambda: beside.extend((cache.get_all(paths), cache.get_all(paths))))
    zookeeper.client.handler.dispatch_callback(Callback("busy", goes_on.wait, (LONG_S,)))
    for one in reversed(paths):
        zookeeper.client.set(one, b"new")
    cache._fired(SimpleNamespace(path=paths[0]))
    threading.Timer(0.3, goes_on.set).start()
    other.start()
    assert cache.get_all(paths)[0].data == b"new"
    other.join()
    for found in (cache.get_all(paths), beside[1]):
        assert [znode.data for znode in found] == [b"new", b"new"]


def test_what_changes_between_question_and_answer_is_asked_for_again(cache, path, changed, zookeeper):
    answer = cache._answer

    def late(path: str, asked: object) -> Znode | None:
        found = answer(path, asked)
        zookeeper.client.set(path, b"b")
        assert changed.wait(LONG_S)
        return found

    cache._answer = late
    assert cache.get_all([path]) == [Znode(b"a", 0)]
    cache._answer = answer
    assert cache.get_all([path]) == [Znode(b"b", 1)]


def test_a_catalog_that_is_cached(cache, zookeeper, fresh_name, stream_of):
    """What was made here is there at once, though no watch fires; a new name also if it was made elsewhere."""
    cache._fired = lambda event: None
    known = CatalogStore(zookeeper, cache=cache)
    here, elsewhere = CatalogStore(zookeeper, changed=cache.forget), CatalogStore(zookeeper)
    known.catalog()
    first = here.create_stream(stream_of(fresh_name("s")), [0])
    assert known.catalog().streams[first.name.lower()] == first
    reads = cache.reads
    assert (known.stream(first.name), known.query_set(first).partitions) == (first, (0,))
    assert known.catalog() is known.catalog()
    assert cache.reads == reads + 1
    second = elsewhere.create_stream(stream_of(fresh_name("s")), [0])
    assert known.stream(second.name) == second
    here.drop_stream(first.name)
    with pytest.raises(NotFoundError):
        known.stream(first.name)
    elsewhere.drop_stream(second.name)


def test_streams_are_what_reading_each_gives(cache, zookeeper, fresh_name, stream_of):
    store = CatalogStore(zookeeper)
    stream = store.create_stream(stream_of(fresh_name("s")), [0, 1])
    try:
        views = cache.streams()
        assert stream.id in views
        assert views == {id_: read_stream(zookeeper, view.stream) for id_, view in views.items()}
        assert all(view is views[id_] for id_, view in cache.streams().items())
    finally:
        store.drop_stream(stream.name)
