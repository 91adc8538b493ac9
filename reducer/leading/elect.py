"""Leader election: the reducer with the lowest election znode leads, under an epoch that fences all that it writes.

kazoo's Election neither stops a leader on SUSPENDED nor gives a fencing number, so this is the plain recipe: an
ephemeral sequential znode, and the leader znode's version as the epoch.
"""

from __future__ import annotations

import contextlib
import json

from kazoo.exceptions import NoNodeError

from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZooKeeper
from mars.model import names


class Candidate:
    """One reducer's part in the election. `epoch` is None while it does not lead.

    Leading never outlives the session: the election znode is ephemeral, each write of a leader to ZooKeeper checks the
    leader znode's version, and each write to Redis carries it. It stands from `stand` on.
    """

    def __init__(self, zookeeper: ZooKeeper, reducer_id: str, cache: ViewCache) -> None:
        self.zookeeper = zookeeper
        self.cache = cache
        self.reducer_id = reducer_id
        self.epoch: int | None = None
        self.name: str | None = None

    def stand(self) -> None:
        """Enter the election."""
        self.zookeeper.ensure(names.LEADER)
        self.zookeeper.ensure(names.ELECTION)
        self.name = self._stand()

    def check(self) -> bool:
        """Do we lead now? A follower watches the election; becoming leader raises the epoch."""
        if not self.zookeeper.usable:
            return False
        if self.name is None:
            self._stand_last()
        first = min(self.cache.children(names.ELECTION), default=None)
        if first != self.name:
            self.epoch = None
            return False
        if self.epoch is None:
            self.epoch = self._take_over()
        return self.epoch is not None

    def resign(self) -> None:
        """Lead no more, and stand behind all others, from the next check on."""
        self.epoch = self.name = None

    def guard(self) -> tuple:
        """The operation that makes a transaction fail once another leads."""
        return ("check", names.LEADER, self.epoch)

    def _stand(self) -> str:
        path = self.zookeeper.client.create(f"{names.ELECTION}/candidate-", self.reducer_id.encode(), ephemeral=True,
                                            sequence=True)
        return path.rsplit("/", 1)[1]

    def _stand_last(self) -> None:
        """A new election znode, and none besides: of an earlier call whose outcome was unknown there may be one."""
        for name in self.zookeeper.children(names.ELECTION):
            node = self.zookeeper.get(f"{names.ELECTION}/{name}")
            if node is not None and node.data == self.reducer_id.encode():
                with contextlib.suppress(NoNodeError):
                    self.zookeeper.client.delete(f"{names.ELECTION}/{name}")
        self.name = self._stand()
        self.cache.forget()

    def _take_over(self) -> int | None:
        node = self.zookeeper.get(names.LEADER)
        assert node is not None  # made before the first candidate stood
        try:
            mine = self.zookeeper.client.get(f"{names.ELECTION}/{self.name}")[1].version
        except NoNodeError:
            return None
        data = json.dumps({"id": self.reducer_id}).encode()
        done = self.zookeeper.transact(("check", f"{names.ELECTION}/{self.name}", mine),
                                       ("set", names.LEADER, data, node.version))
        return node.version + 1 if done else None
