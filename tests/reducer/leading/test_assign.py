"""The leader evens out key parts by what it has read of ZooKeeper, which may be older than what it has written itself."""

from __future__ import annotations

from types import SimpleNamespace

from mars.adapters.zookeeper import Znode
from mars.model import names
from reducer.leading.lead import Leader


class ZooKeeper:
    """Owners' znodes; as a cache, it shows what was read first until it is told to forget: no notice ever comes."""

    def __init__(self, owners: dict[int, str]) -> None:
        self.nodes = {names.owner(1, part): Znode(b'{"id":"%s"}' % owner.encode(), 0) for part, owner in owners.items()}
        self.held: dict[str, Znode] = {}
        self.forget = self.held.clear

    def get(self, path: str) -> Znode:
        return self.held.setdefault(path, self.nodes[path])

    def children(self, path: str) -> list[str]:
        return ["a", "b"]

    def transact(self, guard: tuple, change: tuple) -> bool:
        _, path, data, version = change
        if self.nodes[path].version != version:
            return False
        self.nodes[path] = Znode(data, version + 1)
        return True


def test_a_notice_that_comes_late_moves_no_key_part_to_and_fro() -> None:
    zookeeper = ZooKeeper({0: "a", 1: "a"})
    leader = SimpleNamespace(cache=zookeeper, zookeeper=zookeeper, candidate=SimpleNamespace(guard=tuple))
    views = {1: SimpleNamespace(stream=SimpleNamespace(id=1, key_parts=2))}
    for _ in range(4):
        Leader._assign(leader, views)
    assert [(node.data, node.version) for node in zookeeper.nodes.values()] == [(b'{"id":"b"}', 1), (b'{"id":"a"}', 0)]


def test_after_a_refusal_nothing_is_assigned_by_what_may_be_as_old() -> None:
    zookeeper = ZooKeeper({0: "a", 1: "a"})
    for part in (0, 1):
        zookeeper.get(names.owner(1, part))
    zookeeper.transact((), ("set", names.owner(1, 0), b'{"id":"b"}', 0))
    leader = SimpleNamespace(cache=zookeeper, zookeeper=zookeeper, candidate=SimpleNamespace(guard=tuple))
    Leader._assign(leader, {1: SimpleNamespace(stream=SimpleNamespace(id=1, key_parts=2))})
    assert zookeeper.nodes[names.owner(1, 1)].version == 0
