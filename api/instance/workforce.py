"""Keeps as many workers as are wanted: it says which slots are to have one, and asks the others' workers to end.

It holds nothing that must not be lost. What is wanted is in ZooKeeper, and whether a worker was asked to end is in the
worker's own registration. So it may die between any two steps, and the next one goes on from what it finds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from mars.adapters.view_cache import ViewCache
from mars.adapters.workforce import WorkforceStore, retire_surplus
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.config import Config
from mars.errors import MarsError
from mars.model import names
from mars.model.workforce import is_retired
from mars.workers import SCALED, Kind

LOG = logging.getLogger("mars.workforce")
LOOK_S = 1.0  # between looks without news, because ZooKeeper's notices may be lost
PATIENCE_S = 60.0  # for a worker that was asked to end: then its task is cancelled, which kills it

Cancel = Callable[[Kind, int], None]


class Workforce:
    """`cancel` ends the task in a slot at once. `run` is a thread of the server; `wants` may be called from others."""

    def __init__(self, zookeeper: ZooKeeper, config: Config, cancel: Cancel,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.zookeeper, self.cancel, self.clock = zookeeper, cancel, clock
        self.store = WorkforceStore(zookeeper, config)
        self.news = threading.Event()
        self.cache = ViewCache(zookeeper, self.news.set)
        self.counts = dict(self.store.settings)
        self.asked_at: dict[str, float] = {}  # by the znodes of workers that were asked to end

    def wants(self, kind: Kind, slot: int) -> bool:
        """Is there to be a worker in this slot? As of the last look, also while ZooKeeper is away."""
        return not kind.is_scaled or slot < self.counts[kind.plural]

    def run(self, ending: threading.Event) -> None:
        """Look whenever something has changed, until `ending`. Nothing that comes in between ends this thread."""
        while not ending.is_set():
            self.news.wait(LOOK_S)
            self.news.clear()
            try:
                self.look()
            except ZOOKEEPER_AWAY as error:
                LOG.warning("waiting: %r", error)
                ending.wait(LOOK_S)
            except MarsError as error:
                LOG.warning("waiting: %s", error)

    def look(self) -> None:
        """Learn what is wanted, and ask the workers to end whose slots are not."""
        node = self.cache.get(names.WORKFORCE)
        counts = self.store.of(node.data if node else None)
        if counts != self.counts:
            LOG.info("wanted are %s", counts)
        self.counts = counts
        for kind in SCALED:
            for path in retire_surplus(self.cache, self.zookeeper, kind, counts[kind.plural]):
                LOG.info("%s was asked to end", path)
        self._end_overdue()

    def _end_overdue(self) -> None:
        """Cancel the tasks of workers that were asked to end long ago and still live."""
        retired = {}
        for kind in SCALED:
            for id_ in self.cache.children(kind.folder):
                node = self.cache.get(path := f"{kind.folder}/{id_}")
                if node and is_retired(node.data):
                    retired[path] = kind, int(id_.split("-")[0])
        self.asked_at = {path: self.asked_at.get(path, self.clock()) for path in retired}
        for path, since in self.asked_at.items():
            if self.clock() - since > PATIENCE_S:
                LOG.warning("%s does not end by itself, and is cancelled", path)
                self.asked_at[path] = self.clock()
                self.cancel(*retired[path])
