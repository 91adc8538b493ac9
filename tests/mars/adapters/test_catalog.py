"""The catalog in ZooKeeper: one transaction a change, whoever else changes it at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mars.adapters import catalog
from mars.adapters.catalog import CatalogStore
from mars.adapters.changes import GLANCE_S, PATIENCE_S
from mars.adapters.zookeeper import TooLargeError, ZooKeeper
from mars.errors import ConflictError, NotFoundError, NotReadyError
from mars.model import names
from mars.model.plan import QueryPlan, Stream, StreamColumn
from mars.model.registry import PAUSED, RUNNING
from tests import plans
from tests.nemesis.proxy import PASS, Proxy, Rule

pytestmark = pytest.mark.services
STREAM = Stream("", 0, "topic", "id", (StreamColumn("time", "BIGINT"),), "CSV", "time")


def plan(stream: str) -> QueryPlan:
    return plans.made(("time",), stream=stream, sql="SELECT")


@pytest.fixture
def store(context) -> CatalogStore:
    return CatalogStore(context.zk)


@pytest.fixture
def stream(store, fresh_name) -> Stream:
    return store.create_stream(replace(STREAM, name=fresh_name("s")), [1, 0])


def test_a_stream_comes_with_all_its_znodes(store, stream):
    assert store.zk.get(names.generation(stream.id)).data == b"1"
    assert store.query_set(stream).partitions == (0, 1)
    for part in range(stream.key_parts):
        assert store.zk.get(names.pointer(stream.id, part)).data == b""
        assert store.zk.get(names.owner(stream.id, part)).version == 0
    assert store.stream(stream.name.upper()) == stream


def test_dropping_deletes_them_and_ids_are_never_used_again(store, stream):
    store.zk.ensure(f"{names.stream(stream.id)}/more/below")
    store.drop_stream(stream.name)
    assert store.zk.get(names.stream(stream.id)) is None
    assert store.create_stream(stream, [0]).id > stream.id
    store.drop_stream(stream.name)
    with pytest.raises(NotFoundError):
        store.drop_stream(stream.name)


def test_nothing_is_made_that_could_not_be_changed_afterwards(store, stream, monkeypatch):
    store.create_query(f"q{stream.name}", plan(stream.name), {0: 1})
    monkeypatch.setattr(catalog, "CREATED_BYTES_MAX", 200)
    with pytest.raises(ConflictError, match="ZooKeeper has no room for this"):
        store.create_query(f"r{stream.name}", plan(stream.name), {0: 1})
    with pytest.raises(ConflictError, match="ZooKeeper has no room for this"):
        store.create_stream(replace(stream, name=f"{stream.name}2"), [0])
    assert store.pause(f"q{stream.name}").state == PAUSED
    store.drop_query(f"q{stream.name}")


def test_what_zookeeper_does_not_take_has_a_name_and_ends_the_connection_once(context, fresh_name):
    """It answers by closing it: taken for a ZooKeeper that is away, it was sent again and again."""
    zk, states = ZooKeeper(context.config.zookeeper_address), []
    path = f"/{fresh_name('large')}"
    zk.ensure(path)
    zk.client.add_listener(states.append)
    try:
        for _ in range(3):
            with pytest.raises(TooLargeError):
                zk.transact(("set", path, bytes(1_100_000), 0))
        assert states.count("SUSPENDED") <= 1
        until = time.monotonic() + 60
        while not zk.client.connected and time.monotonic() < until:
            time.sleep(0.05)
        assert zk.transact(("set", path, b"small", 0))
    finally:
        zk.stop()


def test_names_are_shared_and_in_any_case(store, stream):
    store.create_query(f"Q{stream.name}", plan(stream.name), {0: 1})
    for taken in (stream.name.upper(), f"q{stream.name}"):
        with pytest.raises(ConflictError):
            store.create_query(taken, plan(stream.name), {})
        with pytest.raises(ConflictError):
            store.create_stream(replace(STREAM, name=taken), [0])
    with pytest.raises(ConflictError, match=f"Q{stream.name}"):
        store.drop_stream(stream.name)


def test_incarnations_are_never_used_again(store, stream, fresh_name):
    name = fresh_name("q")
    seen = [store.create_query(name, plan(stream.name), {0: 7}).incarnation]
    seen.append(store.pause(name).incarnation)
    with pytest.raises(ConflictError, match="PAUSED"):
        store.pause(name)
    seen.append(store.resume(name).incarnation)
    first = store.drop_query(name)
    second = store.create_query(name, plan(stream.name), {0: 9})
    assert [*seen, second.incarnation] == [1, 2, 3, 4]
    assert first.id != second.id
    assert store.query(name.upper())[1] == second
    assert (first.state, PAUSED, second.start) == (RUNNING, "PAUSED", {0: 9})


def test_many_changes_at_once_are_all_made(store, stream, fresh_name):
    wanted = [fresh_name("q") for _ in range(12)]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda name: store.create_query(name, plan(stream.name), {}), wanted))
    assert sorted(query.incarnation for query in made) == list(range(1, 13))
    assert {q.name for _, q in store.queries()} >= set(wanted)


def test_a_wrong_name_is_told_the_right_one(store, stream):
    with pytest.raises(NotFoundError) as caught:
        store.stream(f"{stream.name}x")
    assert stream.name in caught.value.hint
    with pytest.raises(NotFoundError, match="is a stream"):
        store.query(stream.name)


@pytest.mark.parametrize("change", ["drop_query", "pause", "resume"])
def test_who_changes_a_query_that_is_being_dropped_hears_that_it_is_gone(store, stream, fresh_name, monkeypatch, change):
    name = fresh_name("q")
    store.create_query(name, plan(stream.name), {})
    catalog = store._read_catalog()
    store.drop_query(name)
    monkeypatch.setattr(store, "_read_catalog", lambda: catalog)  # read just before the drop
    with pytest.raises(NotFoundError, match=f"{name} was dropped meanwhile"):
        getattr(store, change)(name)


def test_a_zookeeper_that_is_away_is_said_so(stack):
    zk = ZooKeeper(stack.config.zookeeper_address, 4_000)
    store = CatalogStore(zk)
    zk.stop()
    with pytest.raises(NotReadyError):
        store.catalog()


@pytest.fixture
def proxied(stack) -> Iterator[tuple[CatalogStore, Proxy]]:
    """A store that waits for ZooKeeper, and the proxy between them."""
    host, port = stack.config.zookeeper_address.split(":")
    proxy = Proxy((host, int(port)))
    zk = ZooKeeper(proxy.address, 4_000)
    yield CatalogStore(zk, PATIENCE_S), proxy
    proxy.set(PASS)
    zk.stop()
    proxy.close()


@pytest.mark.parametrize("fault", [Rule(hold_answers=True), Rule(hold_requests=True)], ids=["made, unheard", "never made"])
def test_a_change_whose_answer_is_lost_is_made_once(proxied, store, fresh_name, monkeypatch, fault):
    patient, proxy = proxied
    stream, query, transact, cut = fresh_name("s"), fresh_name("q"), patient.zk.transact, []

    def losing(*operations):
        if not cut:
            cut.append(operations)
            proxy.set(fault)
            threading.Timer(0.1, lambda: (proxy.set(Rule(reset=True)), proxy.set(PASS))).start()
        return transact(*operations)

    monkeypatch.setattr(patient.zk, "transact", losing)
    made = patient.create_stream(replace(STREAM, name=stream), [0])
    assert (store.stream(stream), made.id) == (made, store.catalog().next_id - 1)
    changes = (lambda: patient.create_query(query, plan(stream), {0: 1}), lambda: patient.pause(query),
               lambda: patient.resume(query))
    for incarnation, change in enumerate(changes, 1):
        cut.clear()
        assert change() == store.query(query)[1]
        assert store.query(query)[1].incarnation == incarnation
    for drop, name in ((patient.drop_query, query), (patient.drop_stream, stream)):
        cut.clear()
        drop(name)
        assert store.catalog().kind(name) is None


def test_a_query_that_another_made_meanwhile_is_not_taken_for_ones_own(proxied, store, stream, fresh_name, monkeypatch):
    patient, proxy = proxied
    name, transact = fresh_name("q"), patient.zk.transact

    def losing(*operations):
        proxy.set(Rule(hold_requests=True))
        threading.Timer(0.1, lambda: (proxy.set(Rule(reset=True)), others.append(store.create_query(name, other, {0: 1})),
                                      proxy.set(PASS))).start()
        return transact(*operations)

    others, other = [], replace(plan(stream.name), sql="SELECT 2")
    monkeypatch.setattr(patient.zk, "transact", losing)
    with pytest.raises(ConflictError):
        patient.create_query(name, plan(stream.name), {0: 1})
    assert store.query(name)[1] == others[0]


def test_statements_wait_for_a_zookeeper_that_cannot_be_reached(proxied, store, stream, fresh_name):
    patient, proxy = proxied
    name = fresh_name("q")
    for change in (lambda: patient.create_query(name, plan(stream.name), {0: 1}), lambda: patient.drop_query(name)):
        proxy.set(Rule(reset=True))
        threading.Timer(0.5, proxy.set, [PASS]).start()
        change()
    assert store.catalog().kind(name) is None
    # A connection that is only lost comes back within what those wait who only look.
    patient.patience_s = GLANCE_S
    for _ in range(3):
        proxy.set(Rule(reset=True))
        proxy.set(PASS)
        patient.catalog()
    patient.patience_s = 0.2
    proxy.set(Rule(reset=True))
    with pytest.raises(NotReadyError, match="ZooKeeper does not answer"):
        patient.drop_stream(stream.name)
