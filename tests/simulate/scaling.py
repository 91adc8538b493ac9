"""Workers that come and go: which slots have one, who is asked to end, and when another one comes."""

from __future__ import annotations

import math

from kazoo.exceptions import KazooException

from mapper.job import Mapper
from mars.model.workforce import retired
from tests.simulate.load import Load
from tests.simulate.workers import SPARE, WORKERS

ALL = WORKERS | SPARE
ADDED = 0.6  # so often one is added if there is room for one


class Scaling(Load):
    """What whoever wants other numbers of workers does."""

    def _worker(self) -> str | None:
        """One that lives and is not paused."""
        world = self.world
        free = [n for n in ALL if n in world.actors and n not in world.restart_at and n not in world.scheduler.paused]
        return self.random.choice(free) if free else None

    def scale(self) -> str:
        """One worker more is wanted, or one less."""
        world, name = self.world, self._worker()
        resting = [n for n in ALL if (n not in world.actors and n not in world.restart_at)
                   or world.restart_at.get(n) == math.inf]
        if resting and self.random.random() < ADDED:
            name = self.random.choice(resting)
            world.restart_at[name] = world.scheduler.now
            world.network.count("worker added")
            return f"{name} is wanted"
        if name is None or not self._retire(name):
            return ""
        return f"{name} is asked to end"

    def _retire(self, name: str) -> bool:
        """Mark a worker's registration, as the server does; False if it has none yet, or ZooKeeper does not answer."""
        session, worker = self.world.session, self.world.workers.get(name)
        if worker is None:
            return False
        path = worker.shared.path if isinstance(worker, Mapper) else worker.path
        try:
            node = session.get(path)
            return node is not None and session.transact(("set", path, retired(node.data), node.version))
        except KazooException:
            return False
