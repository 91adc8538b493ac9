"""A cluster in the simulation: mappers and reducers of the real code, one stream, and their outside systems."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import replace

from kazoo.exceptions import KazooException

from mapper.job import Mapper
from mars.adapters.catalog import CatalogStore
from mars.adapters.view import StreamView
from mars.errors import InvariantError, MarsError
from mars.model import names
from mars.model.expressions import Column
from mars.model.log_epochs import Epochs
from mars.model.plan import Key, Output, QueryPlan, Stream, StreamColumn, Window
from reducer.job import Reducer
from reducer.keypart import KeyPart
from tests.plans import changed, made
from tests.simulate import ensemble, kafka, redis, storage, threads, zookeeper
from tests.simulate.cells import WINDOW_MS
from tests.simulate.changing import ChangingChecker
from tests.simulate.changing_readers import ChangingReaders
from tests.simulate.check import Broken, Checker
from tests.simulate.fairness import Fairness
from tests.simulate.faults import FATES, STRIKES, Mix, Network
from tests.simulate.late import KeepingChecker
from tests.simulate.readers import Readers
from tests.simulate.scheduler import Actor, Killed, Scheduler
from tests.simulate.shown import Shown
from tests.simulate.timed import TIMEOUT_MS, TimedChecker
from tests.simulate.workers import CONFIG, SPARE, WORKERS

KEY_PARTS, PARTITIONS = (1, 2, 2, 2, 3, 4), 2
KEEPS = 0.1  # so often a call leaves a state that Redis may go back to
NONE = Mix(0.0, FATES, 0.0, 0.0, 0.0, 0.0, 0.0, STRIKES, {}, False, 3)
COLUMNS = tuple(StreamColumn(name, "BIGINT") for name in ("t", "id"))
STREAM = Stream("s", 0, "topic", "topic", COLUMNS, "CSV", "t", "ms", key_parts=2)
PLAN = made(("t", "id"), (Key("id", Column("id", "BIGINT"), "BIGINT"),), (),
            (Output("id", Column("k0", "BIGINT"), "BIGINT"),), window=Window("tumbling", WINDOW_MS), watermark_ms=0,
            idle_ms=400)
AHEAD = changed(PLAN, max_ahead_ms=kafka.OWN_LIMIT_MS)
KEEPING = changed(PLAN, late="TO")
TIMED = changed(KEEPING, timeout_ms=TIMEOUT_MS)
CHECKERS: dict[QueryPlan, type[Checker]] = {KEEPING: KeepingChecker, TIMED: TimedChecker}
# What may end a process, which the supervisor then starts again. A broken promise is not among it.
EXPECTED_ENDS = (Killed, MarsError, KazooException)


class World:
    """Everything of one run; `checker.broken` and the actors' errors say what went wrong."""

    def __init__(self, seed: int, steps_max: int, plan: QueryPlan = PLAN) -> None:
        self.plan, self.changes = plan, plan.aggregation.is_changelog
        self.scheduler = Scheduler(seed, steps_max)
        self.random = self.scheduler.random
        self.network = Network(self.scheduler)
        self.ensemble = ensemble.Ensemble(self.scheduler, self.network)
        self.server = redis.Server(self.scheduler, self.network)
        self.disk = storage.Disk(self.scheduler, self.network)
        self.topic = kafka.Topic(self.scheduler, self.network, PARTITIONS)
        self.runtime = threads.runtime(self.scheduler)
        self.key_parts = self.random.choice(KEY_PARTS)
        self.mix = NONE
        self.story: list[str] = []
        self.ended: list[tuple[str, BaseException]] = []
        self.poisoned: dict[str, tuple[int, int]] = {}
        self.restart_at: dict[str, float] = {}
        self.actors: dict[str, Actor] = {}
        self.workers: dict[str, Mapper | Reducer] = {}

    def begin(self) -> None:
        """Make the stream and start the workers."""
        self.session = zookeeper.ZooKeeper(self.ensemble)
        for path in (names.ROOT, names.MAPPERS, names.REDUCERS):
            self.session.ensure(path)
        self.catalog = CatalogStore(self.session)
        stream = self.catalog.create_stream(replace(STREAM, key_parts=self.key_parts), range(PARTITIONS))
        checker = ChangingChecker if self.changes else CHECKERS.get(self.plan, Checker)
        self.checker = checker(stream.id, self.key_parts, self.topic, storage.Storage(self.disk), self.server)
        self.ensemble.watch = self.checker.watch
        self.server.fairness = Fairness(self.checker.report)
        shown = Shown(self.key_parts, self.checker.held)
        self.checker.noted = shown.note
        self.readers = (ChangingReaders if self.changes else Readers)(self, shown)
        for name in WORKERS:
            self.start(name)

    def misbehave(self, mix: Mix) -> None:
        """Faults as in this mixture from now on."""
        self.mix, self.network.rate, self.network.fates, self.network.slow_s = mix, mix.rate, mix.fates, mix.slow_s
        self.network.systems, self.network.rests = mix.systems, mix.slow
        self.ensemble.lag, self.ensemble.notice_s, self.topic.disordered = mix.lag, mix.notice_s, mix.disordered
        self.server.keeps = KEEPS if mix.rolls_back else 0.0

    def heal(self) -> None:
        """Everything works again: what is paused goes on, what is dead is started, ZooKeeper hears all."""
        self.mix = NONE
        self.network.rate = self.network.rests = self.ensemble.lag = self.ensemble.notice_s = 0.0
        self.server.full = self.disk.full = False
        self.topic.unheard.clear()
        self.poisoned = {stage: place for stage, place in self.poisoned.items() if stage == "reading"}
        self.scheduler.paused.clear()
        self.mend()
        self.restart_at = dict.fromkeys(self.restart_at, self.scheduler.now)

    def tell(self, text: str) -> None:
        """Note what has happened."""
        self.story.append(f"{self.scheduler.now - 1000:8.3f} s  {text}")

    def point(self, name: str) -> None:
        """As a mars.faults.Faults, at a crash point, between two steps of the protocol: sometimes slow, sometimes something
        strikes."""
        mix = self.mix
        if mix.slow and self.scheduler.die() < mix.slow:
            self.network.count("slow at a crash point")
            self.scheduler.sleep(self.scheduler.die() * 0.5)
            mix = self.mix  # which may be another one by now
        if mix.struck and self.scheduler.die() < mix.struck:
            strike = self.random.choice(mix.strikes)
            self.network.count(f"{strike} at {name}")
            self.tell(f"{strike} at {name}, {self.scheduler.current.node}")
            self.strike(strike, self.scheduler.current.node)
            self.scheduler.step()

    def strike(self, kind: str, node: str) -> None:
        """One of faults.STRIKES, now."""
        if kind == "kill":
            self.kill(node)
        elif kind == "pause":
            self.pause(node, self.random.uniform(0.1, 1.5))
        elif kind == "cut":
            self.cut(node)
            self.scheduler.after(self.random.uniform(0.1, 1.5), self.mend)
        else:
            self.server.restart(kind == "empty Redis")

    def poison(self, stage: str, partition: int, start: int, end: int) -> None:
        """The same, where a mapper reads or computes a range: its end if a poisoned offset is in it."""
        p, offset = self.poisoned.get(stage, (None, 0))
        if p == partition and start <= offset < end:
            self.network.count("killed by poison")
            self.kill(self.scheduler.current.node)
            self.scheduler.step()

    # -- workers --------------------------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        """A new process in this slot, on the same host."""

        def work() -> None:
            try:
                worker = self.workers[name] = (WORKERS | SPARE)[name](self, int(name[1]))
                with contextlib.closing(worker):
                    worker.run()
                self.rests(name)
            except Killed:
                raise
            except BaseException as error:
                self.ended.append((name, error))
                self.scheduler.kill(name)

        self.restart_at.pop(name, None)
        self.actors[name] = self.scheduler.spawn(name, name, work)

    def rests(self, name: str) -> None:
        """A worker has ended as it was asked to. Another one comes once it is wanted."""
        self.tell(f"{name} has retired")
        self.network.count("worker retired")
        self.restart_at.setdefault(name, math.inf)

    def met(self, name: str, view: StreamView, error: InvariantError) -> None:
        """A reducer has met a broken invariant: allowed only where Redis has lost something since the generation of the
        key part was installed."""
        self.tell(f"{name}: {error}")
        if self.server.installed.get(view.generation) == self.server.run_number:
            self.checker.broken = self.checker.broken or Broken(f"I9: {error}, though Redis has lost nothing since the "
                                                                f"recovery to generation {view.generation}")

    def kill(self, name: str) -> None:
        """SIGKILL; its session lives on in the ensemble until it times out."""
        self.scheduler.kill(name)
        self.disk.killed(name)
        for session in self._silence(name):
            session.dead = True
        self.restart_at[name] = self.scheduler.now + self.random.uniform(0.05, 1.0)

    def stop(self, name: str) -> None:
        """A process that ends by itself: its session ends with it, and what it owned is given to others at once."""
        self.kill(name)
        for session in [session for session in self.ensemble.sessions.values() if session.node == name]:
            self.ensemble.expire(session.number)

    def pause(self, name: str, seconds: float) -> None:
        """SIGSTOP for a while: it does not know of it, and goes on as a zombie."""
        self.scheduler.pause(name, seconds)
        self._silence(name)

    def _silence(self, name: str) -> list[zookeeper.ZooKeeper]:
        found = [session for session in self.ensemble.sessions.values() if session.node == name]
        for session in found:
            session.unheard_since = session.unheard_since or self.scheduler.now
        return found

    def cut(self, name: str) -> None:
        """The node and ZooKeeper do not hear each other."""
        for session in self.ensemble.sessions.values():
            if session.node == name:
                session.cut_since = session.unheard_since = self.scheduler.now
                session.changed("SUSPENDED")

    def mend(self) -> None:
        """ZooKeeper hears all nodes that run; what it has ended stays ended."""
        for session in self.ensemble.sessions.values():
            if session.cut_since is not None:
                session.cut_since = None
                session.changed("CONNECTED")

    def tick(self) -> None:
        """What happens by itself: sessions end, processes are started again. Raises Broken."""
        for session in list(self.ensemble.unheard.values()):
            if not session.dead and session.node not in self.scheduler.paused and session.cut_since is None:
                session.unheard_since = None
        self.ensemble.tick()
        for name, error in self.scheduler.crashes + self.ended:
            if not isinstance(error, EXPECTED_ENDS) or isinstance(error, InvariantError):
                raise Broken(f"I9: {name} ended by {error!r}") from error
        for name, _ in self.ended:
            for session in self._silence(name):
                session.dead = True
            if name not in self.restart_at:
                self.restart_at[name] = self.scheduler.now + self.random.uniform(0.05, 0.5)
        self.scheduler.crashes.clear()
        self.ended.clear()
        for name, at in list(self.restart_at.items()):
            if at <= self.scheduler.now and (name not in self.actors or self.actors[name].done):
                self.start(name)
        if self.checker.broken:
            raise self.checker.broken

    def call(self, change: Callable[[], object]) -> None:
        """A change by the catalog, unless ZooKeeper does not answer or refuses it."""
        with contextlib.suppress(MarsError):
            change()

    def nothing_waits(self) -> None:
        """I8: once everything is committed, no owner holds pieces that wait for others, and no lease is left of a claim."""
        for k, part in self._held().items():
            waiting = [state.waiting for state in part.queries.states.values()]
            if pieces := [piece for held in waiting for place in held.values() for piece in place]:
                raise Broken(f"I8: {self.owners()[k]} holds pieces of key part {k} that nothing will ever wake: "
                             f"{[piece.header for piece in pieces]}")
        store = self.server.stores[self.checker.stream_id]
        if store.leases:
            raise Broken(f"I8: leases of claims that are gone: {store.leases}")

    def no_local_files(self) -> None:
        """I8: whoever lives has left no local file of a claim behind; files of the dead go when another process starts on
        their host, ten leases later. Ends all workers if there are any."""
        kept, until = self.disk.spill.kept, self.scheduler.now + 3.0
        while left := [path for path, (_, _, writer, _) in kept.items() if not (writer.dead or writer.done)]:
            if self.scheduler.now > until:  # whoever rests at a crash point with a claim of long ago is through with it
                raise Broken(f"I8: local files of claims that are gone, of mappers that live: {left}")
            self.scheduler.sleep(0.1)
        if kept:
            for name in WORKERS:
                self.kill(name)
            self.scheduler.sleep(10.1 * CONFIG.lease_ms / 1000)
            for name in WORKERS:
                self.start(name)
            self.scheduler.sleep(0.5)
        if kept:
            raise Broken(f"I8: local files of mappers that are dead, after others have started: {list(kept)}")

    def is_followed(self) -> bool:
        """Has each key part's owner taken it up as it was assigned last, and does it know the query set as it is now? Until
        then it may hold pieces of a dropped query, or those of an assignment before."""
        nodes, id_ = self.ensemble.now, self.checker.stream_id
        version = nodes[self.checker.queries_path].version
        wanted = {k: (nodes[names.owner(id_, k)].version, version) for k in range(self.key_parts)}
        return wanted == {k: (part.assignment.owner_version, part.view.queries_version) for k, part in self._held().items()}

    def is_compared(self) -> bool:
        """Has each key part's owner compared what it has counted with the logs that have got another leader?"""
        epochs = {p: log.epoch for p, log in enumerate(self.topic.logs) if log.epoch}
        parts = self._held().values() if epochs else ()
        return all(p in part.inbox.facts.logs and Epochs.load(part.inbox.facts.logs[p]).current == epoch
                   and not any(p in state.read_on for state in part.queries.states.values())
                   for part in parts for p, epoch in epochs.items())

    def _held(self) -> dict[int, KeyPart]:
        """Each key part that its owner holds."""
        owners = self.owners()
        return {k: part for worker in self.workers.values() if isinstance(worker, Reducer)
                for (_, k), part in worker.holdings.parts.items() if worker.id == owners.get(k)}

    def owners(self) -> dict[int, str]:
        """Who owns each key part, for the story."""
        nodes = self.ensemble.now
        paths = {k: names.owner(self.checker.stream_id, k) for k in range(self.key_parts)}
        return {k: json.loads(nodes[path].data)["id"] for k, path in paths.items() if nodes[path].data}
