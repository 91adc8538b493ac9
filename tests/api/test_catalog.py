"""The catalog in ZooKeeper: one transaction a change, whoever else changes it at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mars import names
from mars.adapters.catalog import CatalogStore
from mars.adapters.zookeeper import ZooKeeper
from mars.errors import ConflictError, NotFoundError, NotReadyError
from mars.plan import QueryPlan, Stream, StreamColumn, Window
from mars.registry import PAUSED, RUNNING

pytestmark = pytest.mark.services
STREAM = Stream("", 0, "topic", "id", (StreamColumn("time", "BIGINT"),), "CSV", "time")


def plan(stream: str) -> QueryPlan:
    return QueryPlan(stream, "SELECT", ("time",), None, (), Window("tumbling", 1000), (), ())


@pytest.fixture
def store(context) -> CatalogStore:
    return context.catalog


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


def test_a_zookeeper_that_is_away_is_said_so(stack):
    zk = ZooKeeper(stack.config.zookeeper_address, 4_000)
    store = CatalogStore(zk)
    zk.stop()
    with pytest.raises(NotReadyError):
        store.catalog()
