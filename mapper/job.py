"""A mapper: one long Spark task that turns tuples from Kafka into cells in Redis.

Two threads divide the work: one claims and fetches ahead (mapper/fetching.py), the other computes (mapper/computing.py).
Between them is a handoff (mapper/handoff.py).
"""

from __future__ import annotations

import json
import os

import mapper.warm
import mars.warm
from mapper.computing import Computing
from mapper.connections import Connections, connect
from mapper.fetching import Fetching
from mapper.shared import Shared
from mapper.steps import Steps
from mars import faults
from mars.adapters.computability import admit_worker
from mars.allocator import keep_large_blocks
from mars.config import Config
from mars.errors import NotReadyError
from mars.runtime.system import SYSTEM, Runtime

TAKE_S = 0.2  # how often the computing thread checks whether to stop
FETCHER_ENDS_S = 15.0  # how long a call of the fetching thread may take; then the process ends without it


def run_mapper(config_json: str, slot: int) -> None:
    """Work as mapper `slot` until the stop znode appears, or a mark at its own znode. Raises if the ZooKeeper session may be
    lost."""
    config = Config.from_json(config_json)
    faults.arm(config.fault_folder)
    admit_worker(config)
    keep_large_blocks()
    # Load the kernels first: it takes a second, and no claim must wait for it.
    mapper.warm.warm(say=lambda *_, **__: None)
    mars.warm.warm()
    worker = Mapper(config, slot, connect(config))
    try:
        worker.run()
    finally:
        worker.close()


class Mapper:
    """One mapper's threads. `close` ends its connections, too."""

    def __init__(self, config: Config, slot: int, connections: Connections, runtime: Runtime = SYSTEM,
                 steps: Steps = Steps()) -> None:  # noqa: B008 it is frozen
        self.slot = slot
        self.shared = Shared(config, slot, connections, runtime)
        self.fetching, self.computing = Fetching(self.shared), Computing(self.shared, steps)
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Compute what the fetching thread brings, until stopped. Raises what ended either thread."""
        shared = self.shared
        self.computing.sweep()
        self._register()
        shared.leases.start()
        fetcher = shared.runtime.start(self._fetch, "fetch")
        while not shared.stopping.is_set():
            if shared.zookeeper.expired:
                raise NotReadyError("the ZooKeeper session may have ended", shared.id)
            fetched = shared.handoff.take(TAKE_S)
            if fetched is not None:
                self.computing.compute(fetched)
                shared.handoff.done()
        fetcher.join(FETCHER_ENDS_S)
        if self.failure:
            raise self.failure

    def close(self) -> None:
        """Give the claims back and end the session."""
        self.shared.stopping.set()
        self.shared.leases.stop()
        self.shared.zookeeper.stop()

    def _register(self) -> None:
        known = {"id": self.shared.id, "pid": os.getpid(), "host": self.shared.connections.spill.host, "slot": self.slot}
        self.shared.zookeeper.client.create(self.shared.path, json.dumps(known).encode(), ephemeral=True, makepath=True)

    def _fetch(self) -> None:
        try:
            self.fetching.run()
        except BaseException as error:  # the computing thread must end when this one does
            self.failure = error
        self.shared.stopping.set()
