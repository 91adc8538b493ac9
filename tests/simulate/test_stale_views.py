"""A new owner whose query set is older than the commit that it loads: nobody's state is forgotten."""

from __future__ import annotations

import pytest

from mars.adapters.catalog import CatalogStore
from mars.adapters.view import StreamView, read_stream
from mars.model import names
from mars.model.commits import Manifest, Pointer
from mars.model.entries import Entry, Header, Share
from mars.model.registry import Query
from reducer.committing.assignment import Assignment
from reducer.job import Reducer
from reducer.keypart import KeyPart
from tests.simulate import patches, redis, storage, zookeeper
from tests.simulate.cells import Table, cell, encode
from tests.simulate.driver import Driver
from tests.simulate.world import CONFIG, PLAN, STREAM, World


@pytest.fixture
def world():
    made = World(1, 2_000_000)
    with patches.installed(made):
        yield made
        made.scheduler.close()


class Cluster:
    """One key part's ZooKeeper, exchange and files, and the owners that it passes on to."""

    def __init__(self, world: World) -> None:
        self.zookeeper = zookeeper.ZooKeeper(world.ensemble)
        for path in (names.ROOT, names.MAPPERS, names.REDUCERS):
            self.zookeeper.ensure(path)
        self.catalog = CatalogStore(self.zookeeper)
        self.stream = self.catalog.create_stream(STREAM, range(2))
        self.exchange, self.disk = redis.Exchange(world.server), storage.Storage(world.disk)
        self.exchange.lead(self.stream.id, generation=1, epoch=1).install(
            world.server.run_id(), {"key_parts": 2, "positions": [], "lanes": {}, "stops": {}})

    def view(self) -> StreamView:
        return read_stream(self.zookeeper, self.stream)

    def owner(self, id_: str, view: StreamView) -> KeyPart:
        """The next owner, which loads the commit with that view."""
        path = names.owner(self.stream.id, 0)
        node = self.zookeeper.get(path)
        self.zookeeper.transact(("set", path, b'{"id": "%s"}' % id_.encode(), node.version))
        version = self.zookeeper.get(path).version
        assignment = Assignment.read(self.zookeeper, view, 0, version)
        return KeyPart.load(CONFIG, self.zookeeper, self.exchange, self.disk, assignment)

    def committed(self) -> dict[str, tuple]:
        node = self.zookeeper.get(names.pointer(self.stream.id, 0))
        manifest = Manifest.load(self.disk.peek(Pointer.load(node.data).manifest))
        return {id_: (q.positions, q.counters["tuples"], len(q.state)) for id_, q in manifest.queries.items()}


def entry(seq: int, query: Query, start: int, end: int) -> Entry:
    cells = encode(Table(sorted(cell(2 * number, 1_000 + number) for number in range(start, end))))
    header = Header(0, start, end, {query.id: query.incarnation}, 1_000 + end, None)
    return Entry(seq, header, {query.id: Share(cells, {"tuples": end - start})})


def test_a_query_made_after_the_view_keeps_its_state(world: World) -> None:
    cluster = Cluster(world)
    first = cluster.catalog.create_query("q1", PLAN, {0: 0, 1: 0})
    old = cluster.view()
    young = cluster.catalog.create_query("q9", PLAN, {0: 0, 1: 0})
    before = cluster.owner("r1", cluster.view())
    before.queries.merge(entry(1, first, 0, 4))
    before.queries.merge(entry(2, young, 0, 4))
    before.commit()
    held = cluster.committed()
    after = cluster.owner("r2", old)
    after.take_queries(cluster.view())  # the notice comes a moment later
    assert after.queries.states[young.id].position(0) == after.queries.states[first.id].position(0) == 4
    after.queries.merge(entry(3, first, 4, 6))
    after.commit()
    assert cluster.committed()[young.id] == held[young.id] == ({0: 4}, 4, 1)
    assert cluster.committed()[first.id][:2] == ({0: 6}, 6)


def test_a_query_that_was_dropped_leaves_the_manifest_with_the_next_commit(world: World) -> None:
    cluster = Cluster(world)
    first, other = (cluster.catalog.create_query(name, PLAN, {0: 0, 1: 0}) for name in ("q1", "q2"))
    owner = cluster.owner("r1", cluster.view())
    owner.queries.merge(entry(1, first, 0, 4))
    owner.queries.merge(entry(2, other, 0, 4))
    owner.commit()
    cluster.catalog.drop_query("q2")
    owner.take_queries(cluster.view())
    owner.queries.merge(entry(3, first, 4, 6))
    owner.commit()
    assert cluster.committed().keys() == {first.id}


def test_one_slow_answer_while_a_query_is_made_and_its_owner_stops_loses_nothing(world: World,
                                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """The main thread of one reducer has read the query sets and waits for the assignments. Meanwhile the query is created
    and committed by the other reducer, which is stopped."""
    owned, waits, driver = Reducer._owned, [False], Driver(world)

    def slow(self: Reducer) -> dict:
        if waits[0] and self.id.startswith("1-"):
            waits[0] = False
            until = world.scheduler.now + 3.0
            while world.scheduler.now < until and set(world.owners().values()) != {self.id}:
                world.scheduler.sleep(0.02)
        return owned(self)

    def produce(seconds: float) -> None:
        until = world.scheduler.now + seconds
        while world.scheduler.now < until:
            driver.produce()
            world.scheduler.sleep(0.02)
            world.tick()

    monkeypatch.setattr(Reducer, "_owned", slow)
    world.begin()
    driver.new_query("EARLIEST")
    produce(1.0)
    waits[0] = True
    while waits[0]:
        produce(0.02)
    driver.new_query("EARLIEST")
    mine = next(k for k, owner in world.owners().items() if owner.startswith("0-"))
    manifests = world.checker.manifests
    while len(manifests[mine].queries) < 2 or not list(manifests[mine].queries.values())[-1].positions:
        produce(0.02)
    world.kill("r0")
    for session in [session for session in world.ensemble.sessions.values() if session.node == "r0"]:
        world.ensemble.expire(session.number)
    world.restart_at["r0"] = world.scheduler.now + 2
    produce(2.0)
    driver.heal()
    world.checker.finish()
