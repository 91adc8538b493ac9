"""A reducer: one long Spark task that reduces the key parts that the leader assigns to it, and stands for leader."""

from __future__ import annotations

import logging
import os
import socket

import orjson

import mars.warm
from mars import faults
from mars.adapters.computability import admit_worker
from mars.adapters.outside import OUTSIDE, remedy_of
from mars.adapters.view import StreamView
from mars.adapters.view_cache import ViewCache
from mars.adapters.wakeups import Wakeups
from mars.adapters.workforce import is_retired
from mars.allocator import keep_large_blocks
from mars.config import Config
from mars.errors import InvariantError, NotReadyError, Remedy
from mars.model import names
from mars.runtime.system import SYSTEM, Runtime, Thread
from reducer.committing.assignment import PartId
from reducer.connections import Connections, connect
from reducer.fitness import Fitness
from reducer.holdings import Holdings
from reducer.leading.elect import Candidate
from reducer.leading.lead import Leader
from reducer.leading.letters import keep_letters
from reducer.remedies import Remedies

log = logging.getLogger("mars.reducer")
VIEW_AGE_S = 0.5  # how old a view may be without news, because ZooKeeper's notices may be lost
NET_S = 0.25  # a lost wake-up costs no more time than this
GATHER_S = 0.02  # the wait for more entries after some have come: a commit costs the same however few there are
AGAIN_S = 0.1  # before the next try while ZooKeeper does not answer


def run_reducer(config_json: str, slot: int) -> None:
    """Work as reducer `slot` until the stop znode appears, or a mark at its own znode. Raises if the ZooKeeper session may
    be lost."""
    config = Config.from_json(config_json)
    faults.arm(config.fault_folder)
    admit_worker(config)
    keep_large_blocks()
    mars.warm.warm()
    reducer = Reducer(config, slot, connect(config))
    try:
        reducer.run()
    finally:
        reducer.close()


class Reducer:
    """One reducer's connections, its threads, and the key parts that it holds. `close` ends the connections, too."""

    def __init__(self, config: Config, slot: int, connections: Connections, runtime: Runtime = SYSTEM) -> None:
        self.config, self.connections, self.runtime, self.clock = config, connections, runtime, runtime.clock
        self.id = f"{slot}-{runtime.new_id()[:8]}"
        self.zookeeper, exchange, storage = connections.zookeeper, connections.exchange, connections.storage
        self.fitness = Fitness(exchange, storage, self.clock)
        self.views: dict[int, StreamView] = {}
        self.follow_at = 0.0
        self.path = f"{names.REDUCERS}/{self.id}"
        self.known = {"id": self.id, "pid": os.getpid(), "host": socket.gethostname(), "slot": slot, "leader": False}
        self.stopping, self.wake, self.lead_wake, self.news = (runtime.event() for _ in range(4))
        self.woken: set[int | None] = {None}
        self.wakeups: Wakeups | None = None
        self.cache = ViewCache(self.zookeeper, self._news, runtime)
        remedies = Remedies(self.zookeeper, exchange, storage, self.cache, self._news)
        self.holdings = Holdings(config, self.zookeeper, exchange, storage, remedies)
        self.candidate = Candidate(self.zookeeper, self.id, self.cache)
        self.leader = Leader(connections, self.candidate, self.stopping, self.cache, self.lead_wake, runtime)

    def run(self) -> None:
        """Step every key part that is held, until stopped."""
        thread = self._begin()
        while not self.stopping.is_set():
            if self.zookeeper.expired:
                raise NotReadyError("the ZooKeeper session may have ended", self.id)
            if not thread.is_alive():
                raise InvariantError("the leader's thread ended", self.id)
            self.fitness.check()
            try:
                self._follow()
            except OUTSIDE as error:
                if remedy_of(error) is not Remedy.RETRY:
                    raise
                log.warning("waiting: %r", error)
                self.follow_at = self.clock.monotonic_s() + AGAIN_S
            self.wake.clear()
            woken = {self.woken.pop() for _ in range(len(self.woken))}
            if self.holdings.heard(woken):
                self._news()
            self._rest(self.holdings.step(woken))
        self.holdings.commit()

    def _begin(self) -> Thread:
        """Register this reducer, and start all threads."""
        self.fitness.require()  # otherwise it would be given key parts and could do nothing for them
        self.zookeeper.client.create(self.path, orjson.dumps(self.known), ephemeral=True, makepath=True)
        self.candidate.stand()
        self.wakeups = self.connections.listen(self._heard)
        keep_letters(self.connections.letters, self.config.dead_letter_bytes_max, self.stopping, self._led_streams,
                     self.runtime)
        return self.runtime.start(self.leader.run, "lead")

    def _led_streams(self) -> list[int]:
        """The streams that the leader looks after, while this reducer leads."""
        return list(self.views) if self.candidate.epoch is not None else []

    def _rest(self, worked: bool) -> None:
        """After entries have come, wait a moment for more of them. Otherwise wait until something is heard or due. A lost
        message costs NET_S."""
        if self.holdings.have_more:
            return
        if worked:
            self.stopping.wait(GATHER_S)
            return
        due_s = [NET_S, *self.holdings.due_in_s(), self.follow_at - self.clock.monotonic_s()]
        self.wake.wait(max(0.001 if self.zookeeper.usable else AGAIN_S, min(due_s)))

    def _heard(self, kind: str, stream_id: int | None) -> None:
        """A message: entries or facts of a stream, or a key part's wish for a check."""
        if kind == names.ENTRIES:
            self.woken.add(stream_id)
            self.wake.set()
        elif self.candidate.epoch is not None:
            self.lead_wake.set()

    def _news(self) -> None:
        """Something in ZooKeeper has changed."""
        self.news.set()
        self.wake.set()
        self.lead_wake.set()

    def close(self) -> None:
        """End the session. The leader then assigns its key parts to others."""
        self.stopping.set()
        self.lead_wake.set()
        if self.wakeups is not None:
            self.wakeups.close()
        self.zookeeper.stop()

    def _follow(self) -> None:
        """Take up what the leader has assigned, let go of the rest, and follow the query sets."""
        if not self.zookeeper.usable:
            return
        self._show_leader()
        if not self.news.is_set() and self.clock.monotonic_s() < self.follow_at:
            return
        self.news.clear()
        self.follow_at = self.clock.monotonic_s() + VIEW_AGE_S
        if self.cache.get(names.STOP) is not None or is_retired(self.cache, self.path):
            self.stopping.set()
        self.views = self.cache.streams()
        self.holdings.follow(self.views, self._owned())
        self.follow_at = min(self.follow_at, self.clock.monotonic_s() + self.holdings.refusals.next_in_s())

    def _owned(self) -> dict[PartId, int]:
        """The versions of the owner znodes that name this reducer."""
        owned = {}
        for view in self.views.values():
            for key_part in range(view.stream.key_parts):
                node = self.cache.get(names.owner(view.stream.id, key_part))
                if node and node.data and orjson.loads(node.data)["id"] == self.id:
                    owned[PartId(view.stream.id, key_part)] = node.version
        return owned

    def _show_leader(self) -> None:
        """Say in our registration whether we lead. Others may write there too, so nothing else of it is changed."""
        leads = self.candidate.epoch is not None
        if leads == self.known["leader"]:
            return
        node = self.zookeeper.get(self.path)
        known = {**(orjson.loads(node.data) if node else self.known), "leader": leads}
        if node and self.zookeeper.transact(("set", self.path, orjson.dumps(known), node.version)):
            self.known = known  # noted only now, so that a lost call is made again
