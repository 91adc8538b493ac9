"""A mapper: one long Spark task that claims, fetches, parses, spills, aggregates and pushes until it is told to stop.

Two threads share the work: one claims and fetches ahead (mapper/fetching.py), the other computes (mapper/computing.py);
the queue between them holds two batches.
"""

from __future__ import annotations

import json
import os
import queue
import threading

import mapper.warm
import mars.warm
from mapper import spill
from mapper.computing import Computing
from mapper.fetching import Fetching
from mapper.shared import Shared
from mars import faults
from mars.adapters.computability import admit_worker
from mars.allocator import keep_large_blocks
from mars.config import Config
from mars.errors import NotReadyError
from mars.model import names


def run_mapper(config_json: str, slot: int) -> None:
    """Work as mapper `slot` until the stop znode appears; ends the process if the ZooKeeper session may be lost."""
    config = Config.from_json(config_json)
    faults.arm(config.fault_folder)
    admit_worker(config)
    keep_large_blocks()
    # Loading the kernels takes a second; no claim must wait for it.
    mapper.warm.warm(say=lambda *_, **__: None)
    mars.warm.warm()
    worker = Mapper(config, slot)
    try:
        worker.run()
    finally:
        worker.close()


class Mapper:
    """One mapper's threads."""

    def __init__(self, config: Config, slot: int) -> None:
        self.shared = Shared(config, slot)
        self.fetching, self.computing = Fetching(self.shared), Computing(self.shared)
        self.failure: BaseException | None = None
        self.shared.zookeeper.client.create(f"{names.MAPPERS}/{self.shared.id}", json.dumps(
            {"id": self.shared.id, "pid": os.getpid(), "host": spill.HOST, "slot": slot}).encode(),
            ephemeral=True, makepath=True)

    def run(self) -> None:
        """Compute what the fetching thread brings, until stopped. Raises what ended either thread."""
        shared = self.shared
        fetcher = threading.Thread(target=self._fetch, name="fetch", daemon=True)
        fetcher.start()
        while not shared.stopping.is_set():
            if shared.zookeeper.expired:
                raise NotReadyError("the ZooKeeper session may have ended", shared.id)
            try:
                fetched = shared.fetched.get(timeout=0.2)
            except queue.Empty:
                continue
            shared.rests.clear()
            shared.room.release()
            self.computing.compute(fetched)
            shared.suspects.computed += 1
            if shared.fetched.empty():
                shared.rests.set()
        fetcher.join(timeout=15)
        if self.failure:
            raise self.failure

    def close(self) -> None:
        """Give the claims back and end the session."""
        self.shared.stopping.set()
        self.shared.leases.stop()
        self.shared.zookeeper.stop()

    def _fetch(self) -> None:
        try:
            self.fetching.run()
        except BaseException as error:  # the computing thread must end with this one
            self.failure = error
        self.shared.stopping.set()
