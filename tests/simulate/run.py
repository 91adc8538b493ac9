"""One run by a seed: load and faults for a while, then everything heals, and then nothing may be missing or twice."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from zlib import crc32

from mars.registry import RUNNING
from tests.simulate import patches
from tests.simulate.bugs import BUGS
from tests.simulate.check import Broken
from tests.simulate.scheduler import Stuck
from tests.simulate.world import PLAN, WORKERS, World

ROUNDS, HEAL_S, STEPS_MAX = 25, 30.0, 30_000


@dataclass
class Run:
    """What a run was: None in `broken` if everything held."""

    seed: int
    broken: str | None = None
    steps: int = 0
    commits: int = 0
    virtual_s: float = 0.0
    seconds: float = 0.0
    faults: Counter = field(default_factory=Counter)
    story: list[str] = field(default_factory=list)
    fingerprint: int = 0

    def __str__(self) -> str:
        head = (f"seed {self.seed}: {self.steps} steps, {self.commits} commits, {self.virtual_s:.1f} s simulated in "
                f"{self.seconds:.2f} s")
        return f"{head}: holds" if self.broken is None else "\n".join([f"{head}: BROKEN", *self.story, f"  {self.broken}"])


def run(seed: int, rounds: int = ROUNDS, bug: str = "") -> Run:
    """The run of this seed, the same each time. `bug` names a planted one."""
    began = time.perf_counter()
    world = World(seed, STEPS_MAX)
    result = Run(seed)
    with ExitStack() as stack:
        stack.enter_context(patches.installed(world.scheduler, world.disk, world.point, world.poison))
        if bug:
            stack.enter_context(BUGS[bug](world))
        try:
            world.begin()
            Driver(world).drive(rounds)
        except (Broken, Stuck) as error:
            result.broken = f"{type(error).__name__}: {error}"
        finally:
            world.scheduler.close()
    result.steps, result.virtual_s = world.scheduler.steps, world.scheduler.now - 1_000.0
    result.commits, result.faults, result.story = world.checker.commits, world.network.counts, world.story
    result.seconds = time.perf_counter() - began
    result.fingerprint = crc32(repr((result.steps, result.virtual_s, result.commits, result.story)).encode())
    return result


class Driver:
    """Users, producers and misfortune."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random
        self.damaged: set[int] = set()
        self.open: list[tuple[int, Callable[[bool], None]]] = []
        self.actions: list[tuple[int, Callable[[], Iterator[str] | str | None]]] = [
            (30, self.produce), (6, self.burst), (4, self.transaction), (6, self.end_transaction), (5, self.kill),
            (4, self.pause), (3, self.cut), (1, self.damage), (1, self.poison), (4, self.lose_redis), (3, self.copy_redis),
            (2, self.fill), (2, self.query), (3, self.change_query), (1, self.add_partition), (4, self.wait)]

    def drive(self, rounds: int) -> None:
        """Faults for so many rounds, then healing; raises Broken or Stuck."""
        world = self.world
        world.network.rate = self.random.choice((0.0, 0.01, 0.03, 0.1))
        world.ensemble.lag = self.random.choice((0.0, 0.2))
        world.slow = self.random.choice((0.05, 0.15, 0.4))
        world.topic.disordered = self.random.random() < 0.3
        self.new_query("EARLIEST")
        # Each run has more of one kind of trouble than of the others: mixtures alone hide what needs much of one thing.
        theme = self.random.choice(((), (self.lose_redis, self.copy_redis), (self.query, self.change_query),
                                    (self.add_partition, self.burst, self.wait), (self.kill, self.pause, self.cut),
                                    (self.damage, self.kill), (self.poison, self.query)))
        weights = [weight * (5 if action in theme else 1) for weight, action in self.actions]
        actions = [action for _, action in self.actions]
        for _ in range(rounds):
            text = self.random.choices(actions, weights)[0]()
            if text:
                world.tell(text)
            world.scheduler.sleep(self.random.uniform(0.01, 0.25))
            world.tick()
        self.heal()
        world.checker.finish()

    def heal(self) -> None:
        """Everything works again: all must be committed within HEAL_S (I7), and nothing be left in Redis (I8)."""
        world = self.world
        world.tell("everything heals")
        world.healed = True
        world.poisoned = {stage: place for stage, place in world.poisoned.items() if stage == "reading"}
        world.network.rate = world.ensemble.lag = 0.0
        world.server.full = world.disk.full = False
        world.mend()
        for _, end in self.open:
            end(True)
        self.open.clear()
        # What waits for another commit gets one.
        self.burst()
        for query in list(world.checker.queries.queries.values()):
            if query.state != RUNNING:
                world.call(lambda query=query: world.catalog.resume(query.name))
        until = world.scheduler.now + HEAL_S
        while not self.is_through():
            if world.scheduler.now > until:
                raise Broken(f"I7: {world.checker.lag()} offsets are not committed {HEAL_S} s after everything healed; "
                             f"owners {world.owners()}")
            world.scheduler.sleep(0.2)
            world.tick()

    def is_through(self) -> bool:
        """Is everything committed, by everybody?"""
        checker = self.world.checker
        committed = [checker.manifests[k].queries if k in checker.manifests else {} for k in range(checker.key_parts)]
        store = self.world.server.stores[checker.stream_id]
        waiting = any(self._is_live(marker) for log in store.log.values() for marker, _ in log.values())
        return (checker.lag() == 0 and not store.claims and not waiting
                and all(id_ in queries for id_ in checker.queries.running() for queries in committed))

    def _is_live(self, marker: str) -> bool:
        """Has the entry a task of a query as it is now? Others are deleted with the key part's next commit, not before."""
        running = self.world.checker.queries.running()
        return any(q in running and running[q].incarnation == i for q, i in json.loads(marker)["t"].items())

    # -- load -----------------------------------------------------------------------------------------------------

    def _now(self) -> int:
        return int(self.world.scheduler.now * 1000)

    def _partition(self) -> int:
        return self.random.randrange(len(self.world.topic.logs))

    def produce(self) -> None:
        p, ahead = self._partition(), self.world.topic.disordered and self.random.random() < 0.2
        for _ in range(self.random.randint(1, 5)):
            self.world.topic.append(p, self._now() + (400 if ahead else 0), ahead)

    def burst(self) -> None:
        for p in range(len(self.world.topic.logs)):
            self.world.topic.append(p, self._now())
            self.world.scheduler.sleep(self.random.choice((0.0, 0.3)))

    def transaction(self) -> str:
        p = self._partition()
        if p in {q for q, _ in self.open}:
            return ""
        self.open.append((p, self.world.topic.hold(p, [self._now()] * self.random.randint(1, 3))))
        return f"a transaction is open in partition {p}"

    def end_transaction(self) -> str:
        if not self.open:
            return ""
        p, end = self.open.pop(0)
        commits = self.random.random() < 0.7
        end(commits)
        return f"the transaction in partition {p} is {'committed' if commits else 'aborted'}"

    def add_partition(self) -> str:
        if len(self.world.topic.logs) > 2:
            return ""
        self.world.topic.logs.append(type(self.world.topic.logs[0])())
        for _ in range(self.random.randint(0, 3)):
            self.world.topic.append(2, self._now())
        return "partition 2 is added"

    def wait(self) -> None:
        self.world.scheduler.sleep(self.random.uniform(0.2, 1.0))

    # -- faults ---------------------------------------------------------------------------------------------------

    def _worker(self) -> str | None:
        free = [n for n in WORKERS if n not in self.world.restart_at and n not in self.world.scheduler.paused]
        return self.random.choice(free) if free else None

    def kill(self) -> str:
        name = self._worker()
        if name is None:
            return ""
        self.world.network.count("worker killed")
        self.world.kill(name)
        return f"{name} is killed"

    def pause(self) -> str:
        name, seconds = self._worker(), self.random.uniform(0.1, 1.5)
        if name is None:
            return ""
        self.world.network.count("worker paused")
        self.world.pause(name, seconds)
        return f"{name} is paused for {seconds:.2f} s"

    def cut(self) -> str:
        name = self._worker()
        if name is None or self.random.random() < 0.4:
            self.world.mend()
            return "ZooKeeper hears all"
        self.world.network.count("worker cut from ZooKeeper")
        self.world.cut(name)
        return f"{name} and ZooKeeper do not hear each other"

    def lose_redis(self) -> str:
        empty = self.random.random() < 0.5
        self.world.network.count("Redis emptied" if empty else "Redis rolled back")
        self.world.server.restart(empty)
        return f"Redis is restarted {'empty' if empty else 'as its replica was'}"

    def copy_redis(self) -> str:
        self.world.server.copy()
        return "the replica of Redis is up to date"

    def fill(self) -> str:
        thing = self.random.choice((self.world.server, self.world.disk))
        thing.full = not thing.full
        if thing.full:
            self.world.network.count("Redis full" if thing is self.world.server else "disk full")
        return f"{type(thing).__name__} is {'full' if thing.full else 'not full any more'}"

    def damage(self) -> str:
        """A file of a key part's last commit does not read any more: what it says, or cells that it names. Once for each key
        part, as nothing is promised where all that is kept is damaged."""
        world, checker = self.world, self.world.checker
        k = self.random.randrange(checker.key_parts)
        if k in self.damaged or k not in checker.manifests:
            return ""
        state = [s.path for query in checker.manifests[k].queries.values() for s in query.state]
        path = self.random.choice([checker.pointers[k].manifest.path, *state])
        self.damaged.add(k)
        world.disk.damaged.add(path)
        world.network.count("file damaged")
        return f"{path} is damaged"

    def poison(self) -> str:
        """A record that ends each process which reads it, or which computes one query over it. One of each in a run."""
        world, p = self.world, self._partition()
        stage = self.random.choice(("reading", *(f"computing.{id_}" for id_ in world.checker.queries.queries)))
        log, kind = world.topic.logs[p], stage.partition(".")[0]
        if log.stable < len(log.records) or any(key.startswith(kind) for key in world.poisoned):
            return ""
        world.poisoned[stage] = (p, len(log.records))
        world.topic.append(p, self._now())
        if kind == "reading":
            world.topic.unreadable.add(world.topic.ids)
        world.network.count(f"poison for {kind}")
        return f"offset {world.poisoned[stage][1]} of partition {p} is poison for {stage}"

    # -- users ----------------------------------------------------------------------------------------------------

    def new_query(self, start: str) -> str:
        world, number = self.world, len(self.world.checker.queries.queries)
        logs = world.topic.logs
        offsets = {p: 0 if start == "EARLIEST" else log.stable for p, log in enumerate(logs)}
        known = world.checker.queries.partitions or range(2)
        offsets = {p: o for p, o in offsets.items() if p in known}
        name = f"q{number}_{self._now()}"
        world.call(lambda: world.catalog.create_query(name, PLAN, offsets))
        return f"CREATE QUERY {name} FROM {start}"

    def query(self) -> str:
        if len(self.world.checker.queries.queries) > 2:
            return ""
        return self.new_query(self.random.choice(("EARLIEST", "LATEST")))

    def change_query(self) -> str:
        queries = list(self.world.checker.queries.queries.values())
        if not queries:
            return ""
        query, catalog = self.random.choice(queries), self.world.catalog
        words = ("RESUME",) if query.state != RUNNING else ("PAUSE", "DROP")[:len(queries)]
        word = self.random.choice(words)
        change = {"RESUME": catalog.resume, "PAUSE": catalog.pause, "DROP": catalog.drop_query}[word]
        self.world.call(lambda: change(query.name))
        return f"{word} QUERY {query.name}"
