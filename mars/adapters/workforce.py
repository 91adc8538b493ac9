"""How many workers are wanted, in ZooKeeper; and the mark at a worker's own znode that asks it to end.

Nothing of the protocol rests on either. A worker that retires is one that stops politely: what it does not give back is
given to others when its lease or its session ends, as of a worker that was killed.
"""

from __future__ import annotations

from collections.abc import Mapping

from mars.adapters.changes import PATIENCE_S, answering, change
from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.model import names, workforce
from mars.model.workforce import Counts
from mars.workers import SCALED, Kind


class WorkforceStore:
    """The wanted numbers of workers, for those kinds whose number may change."""

    def __init__(self, zookeeper: ZooKeeper, config: Config, patience_s: float = PATIENCE_S) -> None:
        self.zookeeper, self.patience_s = zookeeper, patience_s
        self.settings: Counts = {kind.plural: getattr(config, kind.plural) for kind in SCALED}
        self.most: Counts = {kind.plural: config.most(kind) for kind in SCALED}

    def wanted(self) -> Counts:
        """As ZooKeeper has them now; NotReadyError if it does not answer."""
        def read() -> Counts:
            node = self.zookeeper.get(names.WORKFORCE)
            return self.of(node.data if node else None)

        return answering(self.zookeeper, read, self.patience_s)

    def of(self, asked: bytes | None) -> Counts:
        """What is wanted by what the znode holds."""
        return workforce.wanted(asked, self.settings, self.most)

    def ask(self, counts: Mapping[str, int]) -> Counts:
        """Want these numbers from now on, and of other kinds as many as before; all that are wanted then. NotReadyError as
        mars.adapters.changes."""
        def prepare() -> tuple[Counts, list[tuple]]:
            node = self.zookeeper.get_synced(names.WORKFORCE)
            made = self.of(node.data if node else None) | dict(counts)
            data = workforce.asking(made, self.settings)
            return made, [("set", names.WORKFORCE, data, node.version) if node else ("create", names.WORKFORCE, data)]

        answering(self.zookeeper, lambda: self.zookeeper.ensure(names.CHANGES), self.patience_s)
        return change(self.zookeeper, prepare, self.patience_s)


def retire_surplus(cache: ViewCache, zookeeper: ZooKeeper, kind: Kind, count: int) -> list[str]:
    """Ask each worker of a kind to end whose slot is not wanted; the znodes of those that have been asked now. Done again,
    it asks nobody twice."""
    nodes = {path: node for id_ in cache.children(kind.folder) if (node := cache.get(path := f"{kind.folder}/{id_}"))}
    asked = []
    for path in workforce.surplus(count, {path: node.data for path, node in nodes.items()}):
        if zookeeper.transact(("set", path, workforce.retired(nodes[path].data), nodes[path].version)):
            asked.append(path)
        else:  # it has gone, or has changed its registration meanwhile
            cache.forget()
    return asked


def is_retired(cache: ViewCache, path: str) -> bool:
    """Was the worker with this znode asked to end?"""
    node = cache.get(path)
    return node is not None and workforce.is_retired(node.data)
