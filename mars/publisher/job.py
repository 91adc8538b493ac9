"""A publisher: one long Spark task that delivers for sinks, each of which has one owner at a time.

An owner is who stands in the sink's owner znode, as long as it is registered; the znode's version is the epoch that fences
earlier owners in the target. Each publisher takes its share of the sinks that nobody has.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable

import orjson

from mars import faults
from mars.adapters.catalog import CatalogStore
from mars.adapters.changes import GLANCE_S, answering
from mars.adapters.secrets import SecretStore
from mars.adapters.sink_catalog import SinkStore
from mars.adapters.storage import Storage
from mars.adapters.target_errors import FencedError
from mars.adapters.view import instance_id
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.config import Config
from mars.errors import NotReadyError
from mars.model import names
from mars.model.expressions import Expression
from mars.model.plan import Stream
from mars.model.sinks import RUNNING, Sink, SinkSet, SinkStatus
from mars.publisher.delivery import Delivery
from mars.publisher.desk import Desk
from mars.publisher.target import Way
from mars.results.first_pages import FirstPages
from mars.results.partial_pages import PartialPages
from mars.results.snapshot import SnapshotReader
from mars.results.source import ResultSource
from mars.results.tables import ResultTables
from mars.runtime.periods import Every
from mars.runtime.system import SYSTEM, Runtime

log = logging.getLogger("mars.publisher")
# News wake a publisher. It looks by itself in case some are lost, and soon while something is under way.
ROUND_S, SOON_S, AGAIN_S, UNNEEDED_S = 5.0, 0.5, 1.0, 10.0


def no_condition(text: str, _columns: tuple[tuple[str, str], ...]) -> Expression:
    """A sink's condition was compiled when it was made; a delivery puts it here."""
    raise AssertionError(text)


def run_publisher(config_json: str, slot: int) -> None:
    """Work as publisher `slot` until the stop znode appears or no sink is left; ends the process if the ZooKeeper session
    may be lost."""
    config = Config.from_json(config_json)
    faults.arm(config.fault_folder)
    publisher = Publisher(config, slot)
    try:
        publisher.run()
    finally:
        publisher.close()


class NoEnds:
    """Who delivers rows does not ask how far topics go."""

    def read(self, stream: Stream, partitions: Iterable[int]) -> dict[int, int]:
        """As EndOffsets."""
        raise NotReadyError("a publisher does not know how far topics go", stream.name)


class Publisher:
    """One publisher's session and the deliveries of the sinks that it owns, by sink id."""

    def __init__(self, config: Config, slot: int, runtime: Runtime = SYSTEM) -> None:
        self.runtime = runtime
        self.id = f"{slot}-{runtime.new_id()[:8]}"
        self.zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
        instance = instance_id(self.zookeeper)
        storage = Storage(config.state_root, instance)
        storage.require()
        snapshots = SnapshotReader(self.zookeeper, storage, runtime)
        self.cache = snapshots.cache
        catalog = CatalogStore(self.zookeeper, GLANCE_S, self.cache)
        partial_pages = PartialPages(runtime)
        source = ResultSource(catalog, snapshots, ResultTables(storage, runtime), partial_pages,
                              FirstPages(partial_pages, runtime), NoEnds(), config.result_retention_days, no_condition,
                              runtime.clock)
        self.store = SinkStore(self.zookeeper, GLANCE_S)
        secrets = SecretStore(self.zookeeper, config, GLANCE_S)
        self.desk = Desk(self.store, source, Way(config, secrets.get, instance or ""), self.id, self._tell)
        self.deliveries: dict[str, Delivery] = {}
        self.again: dict[str, Every] = {}
        self.unneeded = Every(UNNEEDED_S, runtime.clock)
        self.unneeded.begin()
        self.wake = runtime.event()
        self.path = f"{names.PUBLISHERS}/{self.id}"
        known = {"id": self.id, "pid": os.getpid(), "host": socket.gethostname(), "slot": slot}
        self.zookeeper.client.create(self.path, orjson.dumps(known), ephemeral=True, makepath=True)
        self.told = snapshots.told(self._news)

    def run(self) -> None:
        """Follow the sinks until stopped, or until there have been none for a while."""
        with self.told:
            self._run()

    def _run(self) -> None:
        while True:
            is_settled = False
            if self.zookeeper.expired:
                raise NotReadyError("the ZooKeeper session may have ended", self.id)
            try:
                if self.cache.get(names.STOP) is not None:
                    return
                is_settled = self._follow()
            except (NotReadyError, *ZOOKEEPER_AWAY) as error:
                log.warning("waiting: %r", error)
            if self.unneeded.is_due():
                return
            self.wake.wait(ROUND_S if is_settled else SOON_S)
            self.wake.clear()

    def close(self) -> None:
        """End the deliveries, then the session: another publisher takes the sinks."""
        for delivery in self.deliveries.values():
            delivery.stop()
        for delivery in self.deliveries.values():
            delivery.join(2.0)
        self.zookeeper.stop()

    def _news(self) -> None:
        """Something in ZooKeeper has changed: sinks, or a commit."""
        self.wake.set()
        for delivery in list(self.deliveries.values()):
            delivery.wake.set()

    def _follow(self) -> bool:
        """Own a fair share of the sinks, and deliver for those that run. True if nothing is left to do until news come."""
        node = self.cache.get(names.SINKS)
        sinks = SinkSet.load(node.data).sinks if node else {}
        if sinks:
            self.unneeded.begin()
        owned = self._owned(sinks)
        for id_, delivery in list(self.deliveries.items()):
            sink = sinks.get(id_)
            if sink is None or sink.state != RUNNING or (owned.get(id_), sink.attempt) != (
                    delivery.epoch, delivery.sink.attempt):
                delivery.stop()
            if not delivery.is_alive():
                del self.deliveries[id_]
        for id_, epoch in owned.items():
            again = self.again.setdefault(id_, Every(AGAIN_S, self.runtime.clock))
            if sinks[id_].state == RUNNING and id_ not in self.deliveries and again.is_due():
                self.deliveries[id_] = Delivery(self.desk, sinks[id_], epoch, self.runtime)
                self.deliveries[id_].start()
                again.begin()
        wanted = {id_ for id_ in owned if sinks[id_].state == RUNNING}
        return wanted == set(self.deliveries) and not any(one.stopping.is_set() for one in self.deliveries.values())

    def _owned(self, sinks: dict[str, Sink]) -> dict[str, int]:
        """The epoch of each sink that is ours; those that nobody has are taken, up to our share."""
        alive = self.cache.children(names.PUBLISHERS)
        share = -(-len(sinks) // max(1, len(alive)))
        owned, free = {}, []
        for id_, node in zip(sinks, self.cache.get_all(list(map(names.sink_owner, sinks))), strict=True):
            if node is None:  # it has just been dropped
                continue
            owner = orjson.loads(node.data)["id"] if node.data else None
            if owner == self.id:
                owned[id_] = node.version
            elif owner not in alive:
                free.append((id_, node.version))
        for id_, version in free[:max(0, share - len(owned))]:
            if self.zookeeper.transact(("set", names.sink_owner(id_), orjson.dumps({"id": self.id}), version)):
                log.info("%s takes sink %s", self.id, id_)
                owned[id_] = version + 1
        if free:
            self.cache.forget()
        for id_ in list(owned)[share:]:
            self._hand_over(id_, owned)
        return owned

    def _hand_over(self, id_: str, owned: dict[str, int]) -> None:
        """Another publisher has come: leave a sink to it, once its delivery has ended."""
        delivery = self.deliveries.get(id_)
        if delivery is not None and delivery.is_alive():
            delivery.stop()
        elif self.zookeeper.transact(("set", names.sink_owner(id_), b"", owned[id_])):
            self.cache.forget()
            del owned[id_]

    def _tell(self, sink: Sink, epoch: int, status: SinkStatus) -> None:
        """As Desk.tell."""
        told = answering(self.zookeeper, lambda: self.zookeeper.transact(
            ("check", names.sink_owner(sink.id), epoch),
            ("set", names.sink_status(sink.id), status.dump(), -1)), GLANCE_S)
        if not told:
            raise FencedError("another publisher has the sink", f"{sink.name}, which was ours at epoch {epoch}")
