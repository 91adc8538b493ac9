"""A reducer: one long Spark task that reduces the key parts that the leader assigns to it, and stands for leader."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
import uuid

import orjson

import mars.warm
from mars import faults
from mars.adapters.computable import admit_worker, stop_uncomputable
from mars.adapters.exchange import Exchange, ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.storage import STATE_AWAY, CorruptFileError
from mars.adapters.view import StreamView
from mars.adapters.view_cache import ViewCache
from mars.adapters.wakeups import Wakeups
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.allocator import keep_large_blocks
from mars.config import Config
from mars.errors import InvariantError, NotReadyError
from mars.model import names
from reducer.broken import answer
from reducer.committing.fallback import fall_back
from reducer.fitness import Fitness
from reducer.home import state_folder
from reducer.keypart import KeyPart
from reducer.leading.elect import Candidate
from reducer.leading.lead import Leader
from reducer.leading.letters import keep_letters
from reducer.refused import Refused
from reducer.state.uncomputable import UncomputableError, quarantine

log = logging.getLogger("mars.reducer")
VIEW_AGE_S = 0.5
NET_S, GATHER_S, REFUSED_S, AGAIN_S = 0.25, 0.02, 0.02, 0.1


def run_reducer(config_json: str, slot: int) -> None:
    """Work as reducer `slot` until the stop znode appears; ends the process if the ZooKeeper session may be lost."""
    config = Config.from_json(config_json)
    faults.arm(config.fault_folder)
    admit_worker(config)
    keep_large_blocks()
    mars.warm.warm()
    reducer = Reducer(config, slot)
    try:
        reducer.run()
    finally:
        reducer.close()


class Reducer:
    """One reducer's connections and the key parts that it owns, by (stream id, key part)."""

    def __init__(self, config: Config, slot: int) -> None:
        self.config = config
        self.id = f"{slot}-{uuid.uuid4().hex[:8]}"
        self.zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
        self.exchange = Exchange(config.redis_address)
        self.storage = state_folder(config, self.zookeeper)
        self.fitness = Fitness(self.exchange, self.storage)
        self.fitness.require()  # else it would be given key parts, for which it can do nothing
        self.parts: dict[tuple[int, int], KeyPart] = {}
        self.owners: dict[tuple[int, int], int] = {}
        self.views: dict[int, StreamView] = {}
        self.follow_at = 0.0
        self.refused = Refused(REFUSED_S)
        self.stopping = threading.Event()
        self.path = f"{names.REDUCERS}/{self.id}"
        self.known = {"id": self.id, "pid": os.getpid(), "host": socket.gethostname(), "slot": slot, "leader": False}
        self.zookeeper.client.create(self.path, orjson.dumps(self.known), ephemeral=True, makepath=True)
        self.wake, self.lead_wake, self.news = threading.Event(), threading.Event(), threading.Event()
        self.woken: set[int | None] = {None}
        self.cache = ViewCache(self.zookeeper, self._news)
        self.candidate = Candidate(self.zookeeper, self.id, self.cache)
        self.leader = Leader(config, self.zookeeper, self.exchange, self.storage, self.candidate, self.stopping, self.cache,
                             self.lead_wake)
        self.wakeups = Wakeups(config.redis_address, self._heard)

    def run(self) -> None:
        """Step every owned key part, until stopped."""
        thread = threading.Thread(target=self.leader.run, name="lead", daemon=True)
        thread.start()
        keep_letters(self.config, self.storage, self.stopping, self._led_streams)
        while not self.stopping.is_set():
            if self.zookeeper.expired:
                raise NotReadyError("the ZooKeeper session may have ended", self.id)
            if not thread.is_alive():
                raise InvariantError("the leader's thread ended", self.id)
            self.fitness.check()
            try:
                self._follow()
            except (NotReadyError, *ZOOKEEPER_AWAY) as error:
                log.warning("waiting: %r", error)
                self.follow_at = time.monotonic() + AGAIN_S
            self.wake.clear()
            woken = {self.woken.pop() for _ in range(len(self.woken))}
            if self.refused.heard(woken):
                self._news()
            worked = [self._step(key, None in woken or key[0] in woken) for key in list(self.parts)]
            self._rest(any(worked))
        for part in self.parts.values():
            self._last_commit(part)

    def _led_streams(self) -> list[int]:
        """The streams of which the leader takes care, while it is this one."""
        return list(self.views) if self.candidate.epoch is not None else []

    def _rest(self, worked: bool) -> None:
        """After entries came, wait a moment for more of them; else until something is heard or due. What is heard may be
        lost: that costs NET_S."""
        if any(part.has_more for part in self.parts.values()):
            return
        if worked:
            self.stopping.wait(GATHER_S)
            return
        due = [due_s for part in self.parts.values() if (due_s := part.due_in_s()) is not None]
        due.append(self.follow_at - time.monotonic())
        self.wake.wait(max(0.001 if self.zookeeper.usable else AGAIN_S, min([NET_S, *due])))

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
        """End the session: the leader assigns anew what was ours."""
        self.stopping.set()
        self.lead_wake.set()
        self.wakeups.close()
        self.zookeeper.stop()

    def _follow(self) -> None:
        """Take up what the leader has assigned, let go of the rest, and follow the query sets."""
        if not self.zookeeper.usable:
            return
        self._show_leader()
        if not self.news.is_set() and time.monotonic() < self.follow_at:
            return
        self.news.clear()
        self.follow_at = time.monotonic() + VIEW_AGE_S
        if self.cache.get(names.STOP) is not None:
            self.stopping.set()
        self.views = self.cache.streams()
        self.owners = self._owned()
        for key in self.parts.keys() - self.owners.keys():
            log.info("%s lets go of key part %s", self.id, key)
            del self.parts[key]
        self.refused.keep(self.owners.keys())
        for key, version in self.owners.items():
            if key in self.parts or not self.refused.waits(key):
                self._keep_up(key, version)
                if key not in self.parts:
                    self.refused.note(key)
        self.follow_at = min(self.follow_at, self.refused.next_at() or self.follow_at)

    def _owned(self) -> dict[tuple[int, int], int]:
        """The versions of the owner znodes that name us."""
        owned = {}
        for view in self.views.values():
            for part in range(view.stream.key_parts):
                node = self.cache.get(names.owner(view.stream.id, part))
                if node and node.data and orjson.loads(node.data)["id"] == self.id:
                    owned[view.stream.id, part] = node.version
        return owned

    def _keep_up(self, key: tuple[int, int], owner_version: int) -> None:
        """Load a key part that is new here, of another assignment or another generation; else follow its query set. One
        with other partitions is loaded too: it may have closed windows without them (rule 23)."""
        view, part = self.views[key[0]], self.parts.get(key)
        if (part is None or part.view.queries_version != view.queries_version) and stop_uncomputable(self.zookeeper, view):
            return  # the query set without them comes at once
        try:
            if (part is None or part.owner_version != owner_version
                    or part.view.generation_version != view.generation_version
                    or part.view.queries.partitions != view.queries.partitions):
                self.parts[key] = KeyPart.load(self.config, self.zookeeper, self.exchange, self.storage, view, key[1],
                                               owner_version)
            elif part.view.queries_version != view.queries_version:
                part.take_queries(view)
        except CorruptFileError as error:
            log.error("key part %s cannot be read: %s", key, error)
            self.parts.pop(key, None)
            self._fall_back(key, view, owner_version)
        except UncomputableError as error:
            self.parts.pop(key, None)
            quarantine(self.zookeeper, view, error)
            self.cache.forget()
        except STATE_AWAY as error:
            # The state folder is away: a later round tries again, and key parts that are in hand do not wait for it.
            log.error("key part %s cannot be loaded: %s", key, error)
            self.parts.pop(key, None)
        except InvariantError as error:
            log.exception("key part %s cannot be loaded", key)
            self.parts.pop(key, None)
            self._ask_for_recovery(view, error)

    def _fall_back(self, key: tuple[int, int], view: StreamView, owner_version: int) -> None:
        """Go back to what still reads (rule 25); the key part is loaded again in the next round, and if it could not fall
        back, it tries again then."""
        try:
            done = fall_back(self.zookeeper, self.storage, view, key[1], owner_version)
        except (OSError, NotReadyError, *ZOOKEEPER_AWAY) as error:
            log.error("key part %s cannot fall back: %s", key, error)
            done = False
        self.cache.forget()
        if done:  # else the next round tries again: other key parts must not wait for it
            self._news()

    def _step(self, key: tuple[int, int], woken: bool) -> bool:
        """One step of a key part. Whatever is refused is thrown away and read again from the commits."""
        part, by_exchange = self.parts[key], False
        try:
            worked = part.step(woken)
            self.refused.forget(key)
            return worked
        except (StaleGenerationError, StaleEpochError) as error:
            by_exchange = True
            log.info("key part %s is read again: %s", key, error)
            self._ask_for_round(key[0])
        except InvariantError as error:
            log.exception("key part %s asks for recovery", key)
            self._ask_for_recovery(part.view, error)
        except UncomputableError as error:
            quarantine(self.zookeeper, part.view, error)
        except (NotReadyError, *ZOOKEEPER_AWAY) as error:
            log.warning("waiting: %r", error)
            time.sleep(0.1)
            return False
        except ExchangeFullError as error:
            log.warning("waiting: %s", error)
            return False
        except CorruptFileError as error:
            log.error("key part %s cannot be committed: %s", key, error)
            self._fall_back(key, part.view, part.owner_version)
        except OSError as error:
            # A full disk: what is merged stays, and is committed when there is room.
            log.error("key part %s cannot be committed: %s", key, error)
            time.sleep(1.0)
            return False
        self.parts.pop(key)
        self.refused.note(key, by_exchange)
        self.cache.forget()
        self._news()
        return False

    def _ask_for_round(self, stream_id: int) -> None:
        """Redis may have lost the stream: the leader shall look at once."""
        with contextlib.suppress(NotReadyError):
            self.exchange.ask_for_check(stream_id)

    def _ask_for_recovery(self, view: StreamView, error: InvariantError) -> None:
        """A broken invariant is answered by one recovery (rule 13): the leader raises the generation."""
        try:
            answer(self.zookeeper, view, error)
        except ZOOKEEPER_AWAY as away:  # it is met again when the key part is read again
            log.warning("a recovery is asked for later: %r", away)
        time.sleep(0.5)

    def _last_commit(self, part: KeyPart) -> None:
        """On a graceful stop, commit what is merged, so that a restart need not merge it again."""
        try:
            if any(state.changed for state in part.states.values()):
                part.commit()
        except (StaleGenerationError, StaleEpochError, NotReadyError, OSError, *ZOOKEEPER_AWAY) as error:
            log.info("not committed at the stop: %r", error)

    def _show_leader(self) -> None:
        leads = self.candidate.epoch is not None
        if leads != self.known["leader"]:
            known = {**self.known, "leader": leads}
            self.zookeeper.client.set(self.path, orjson.dumps(known))
            self.known = known  # only now: a call that got lost is made again
