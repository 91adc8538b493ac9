"""Users, producers and misfortune: what happens to the cluster of one run; and the end of it, when all must be well."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import orjson

from mars.model.registry import RUNNING
from tests.simulate.check import Broken
from tests.simulate.faults import Mix
from tests.simulate.readers import APIS
from tests.simulate.scaling import Scaling
from tests.simulate.world import AHEAD, PLAN, World

HEAL_S = 30.0
CUT_MAX = 6
TIDIED, TIDY_S = 0.1, 2.0  # so many runs go on until files are deleted
RATES = (None,) * 9 + (40, 400)  # tuples a second of a query
# How often each thing happens, before the seed's mixture weighs it.
LOAD = (("produce", 30), ("burst", 6), ("transaction", 4), ("end_transaction", 6), ("wait", 4))
TROUBLE = (("kill", 5), ("stop", 3), ("pause", 4), ("cut", 3), ("lose_redis", 4), ("damage", 1), ("poison", 1), ("fill", 2),
           ("query", 3), ("change_query", 4), ("add_partition", 2), ("delete_records", 1), ("make_topic_anew", 0.2),
           ("cut_log", 1), ("depose", 1), ("read", 6), ("cut_api", 1), ("deafen", 2), ("scale", 5))


class Driver(Scaling):
    """Makes things happen, one after the other."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.damaged: set[int] = set()

    def drive(self, rounds: int) -> None:
        """Faults for so many rounds, then healing; raises Broken or Stuck."""
        world = self.world
        mix = Mix.draw(self.random, TROUBLE)
        world.misbehave(mix)
        self.new_query("EARLIEST")
        weights = dict(LOAD) | mix.weights
        actions = [getattr(self, name) for name in weights]
        for action in self.random.choices(actions, list(weights.values()), k=rounds * mix.length):
            text = action()
            if text:
                world.tell(text)
            world.scheduler.sleep(self.random.uniform(0.01, 0.25))
            world.tick()
        self.heal()
        if not world.topic.is_anew:
            world.checker.finish()
            world.readers.finish()
            world.nothing_waits()
            if not self.damaged and self.random.random() < TIDIED:
                self.tidy()
            world.no_local_files()

    def heal(self) -> None:
        """Everything works again: all must be committed within HEAL_S (I7), and nothing be left in Redis (I8)."""
        world = self.world
        world.tell("everything heals")
        world.heal()
        for _, end in self.open:
            end(True)
        self.open.clear()
        for p, log in enumerate(world.topic.logs):  # what was claimed before a log was cut can be read again
            for _ in range(len(log.records), log.longest):
                self._append(p, self._now())
        # What waits for another commit gets one.
        self.burst()
        until = world.scheduler.now + HEAL_S
        while not self.is_through():
            if world.scheduler.now > until:
                left = "" if world.checker.is_closed() else ", and the clock has not closed the last windows,"
                raise Broken(f"I7: {world.checker.lag()} offsets are not committed{left} {HEAL_S} s after everything "
                             f"healed; owners {world.owners()}")
            if not world.topic.is_anew:
                self.look_after()
            world.scheduler.sleep(0.05)
            world.tick()

    def tidy(self) -> None:
        """After a while of rest one more commit: what no commit needs is deleted then, or with one of the next if the key
        part has just got another owner (I8)."""
        scheduler, kept = self.world.scheduler, []
        for _ in range(3):
            scheduler.sleep(TIDY_S)
            left = self.world.checker.left_files(scheduler.now - TIDY_S / 2)
            self.heal()
            scheduler.sleep(0.3)
            if not (kept := [path for path in left if path in self.world.disk.files]):
                return
        raise Broken(f"I8: files that no commit has needed are still there after another commit: {kept}")

    def look_after(self) -> None:
        """A query of which records were deleted unread, or lost when it had counted them, cannot go on: its user drops it
        and makes another. What else has stopped one is over, and it is resumed."""
        queries, catalog = self.world.checker.queries.queries, self.world.catalog
        for query in [query for query in queries.values() if query.state != RUNNING]:
            change = catalog.drop_query if query.state in ("DATA_LOSS", "LOG_TRUNCATED") else catalog.resume
            self.world.call(lambda change=change, query=query: change(query.name))
        if not self.world.checker.queries.queries:
            self.new_query("EARLIEST")

    def is_through(self) -> bool:
        """Is everything committed, by everybody? Of a topic that was made anew nothing more can be."""
        checker = self.world.checker
        if self.world.topic.is_anew:
            return not checker.queries.running()
        committed = [checker.manifests[k].queries if k in checker.manifests else {} for k in range(checker.key_parts)]
        store, known = self.world.server.stores[checker.stream_id], checker.queries.queries
        return (checker.lag() == 0 and not store.claims and all(q.state == RUNNING for q in known.values())
                and all(id_ in queries for id_ in known for queries in committed) and self.world.is_followed()
                and self.world.is_compared() and checker.is_closed()
                and not any(self._is_live(marker) for log in store.log.values() for marker, _ in log.values()))

    def _is_live(self, marker: str) -> bool:
        """Has the entry a task of a query as it is now? Others are deleted with the key part's next commit, not before."""
        running = self.world.checker.queries.running()
        return any(q in running and running[q].incarnation == i for q, i, _ in orjson.loads(marker)["tasks"])

    # -- faults ---------------------------------------------------------------------------------------------------

    def kill(self) -> str:
        name = self._worker()
        if name is None:
            return ""
        self.world.network.count("worker killed")
        self.world.kill(name)
        return f"{name} is killed"

    def stop(self) -> str:
        name = self._worker()
        if name is None:
            return ""
        self.world.network.count("worker stopped")
        self.world.stop(name)
        return f"{name} is stopped"

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

    def cut_api(self) -> str:
        """For less than its session lasts."""
        name = self.random.choice(APIS)
        self.world.network.count("API cut from ZooKeeper")
        self.world.cut(name)
        self.world.scheduler.after(self.random.uniform(0.0, 0.5), self.world.mend)
        return f"{name} and ZooKeeper do not hear each other"

    def lose_redis(self) -> str:
        empty = self.random.random() < 0.5
        self.world.network.count("Redis emptied" if empty else "Redis rolled back")
        self.world.server.restart(empty)
        return f"Redis is restarted {'empty' if empty else 'as it was before'}"

    def fill(self) -> str:
        thing = self.random.choice((self.world.server, self.world.disk))
        thing.full = not thing.full
        self.world.server.was_full |= self.world.server.full
        if thing.full:
            self.world.network.count("Redis full" if thing is self.world.server else "disk full")
        return f"{type(thing).__name__} is {'full' if thing.full else 'not full any more'}"

    def damage(self) -> str:
        """A file of a key part's last commit does not read any more: what it says, or cells that it names. Nothing is
        promised where all that is kept is damaged, so one of the earlier commits is left whole."""
        world, checker = self.world, self.world.checker
        k = self.random.randrange(checker.key_parts)
        if k not in checker.manifests:
            return ""
        state = [s.path for query in checker.manifests[k].queries.values() for s in query.state]
        path = self.random.choice([checker.pointers[k].manifest.path, *state])
        if not checker.reads_without(k, path):
            return ""
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
        world.poisoned[stage] = world.checker.poisoned[stage] = (p, len(log.records))
        self._append(p, self._now())
        if kind == "reading":
            world.topic.unreadable.add(world.topic.ids)
        world.network.count(f"poison for {kind}")
        return f"offset {world.poisoned[stage][1]} of partition {p} is poison for {stage}"

    def delete_records(self) -> str:
        p = self._partition()
        log = self.world.topic.logs[p]
        log.first = self.random.randint(log.first, log.stable)
        self.world.network.count("records deleted")
        return f"records of partition {p} are deleted up to {log.first}"

    def cut_log(self) -> str:
        """Another broker leads a partition, and may lack its last records; not where poison or a transaction is."""
        p = self._partition()
        log = self.world.topic.logs[p]
        if log.stable < len(log.records) or any(p == q for q, _ in self.world.checker.poisoned.values()):
            return ""
        length, left = len(log.records), self.random.randint(max(log.first, len(log.records) - CUT_MAX), len(log.records))
        log.cut(left)
        self.world.network.count("log cut" if left < length else "leader changed")
        return f"partition {p} is led by another broker, whose log ends at {left} instead of {length}"

    def depose(self) -> str:
        """Another broker leads a partition, with all of its log; the one before does not hear of it for a while, and
        answers whoever asks it."""
        p, topic = self._partition(), self.world.topic
        log = topic.logs[p]
        if p in topic.deposed or log.stable < len(log.records):
            return ""
        topic.deposed[p] = len(log.records)
        self.world.scheduler.after(self.random.uniform(0.5, 3.0), lambda: topic.deposed.pop(p, None))
        self.world.network.count("leader deposed")
        return f"partition {p} is led by another broker, and the one before does not know it"

    def deafen(self) -> str:
        """Kafka and a host do not hear each other for a while."""
        name, unheard = self.random.choice(("r0", "r1", "m0")), self.world.topic.unheard
        unheard.add(name)
        self.world.scheduler.after(self.random.uniform(0.2, 2.0), lambda: unheard.discard(name))
        self.world.network.count("host cut from Kafka")
        return f"{name} and Kafka do not hear each other"

    def make_topic_anew(self) -> str:
        self.world.network.count("topic made anew")
        self.world.topic.make_anew()
        return "the topic is deleted and made anew"

    # -- users ----------------------------------------------------------------------------------------------------

    def new_query(self, start: str) -> str:
        world, number = self.world, len(self.world.checker.queries.queries)
        logs = world.topic.logs
        offsets = {p: log.first if start == "EARLIEST" else log.stable for p, log in enumerate(logs)}
        for p, log in enumerate(logs):
            log.read_to = max(log.read_to, offsets[p])  # who begins at an end has seen it: a log that is cut below it is cut
        name = f"q{number}_{self._now()}"
        plan = AHEAD if number % 2 and world.plan is PLAN else world.plan
        rate = Random(name).choice(RATES)
        world.call(lambda: world.catalog.create_query(name, replace(plan, rate=rate), offsets))
        return f"CREATE QUERY {name} FROM {start}"

    def query(self) -> str:
        if len(self.world.checker.queries.queries) >= self.world.mix.queries_max:
            return ""
        return self.new_query(self.random.choice(("EARLIEST", "LATEST")))

    def read(self) -> str:
        queries = list(self.world.checker.queries.queries.values())
        if queries:
            self.world.readers.come(self.random.choice(queries))
        return ""

    def change_query(self) -> str:
        queries = list(self.world.checker.queries.queries.values())
        if not queries:
            return ""
        query, catalog = self.random.choice(queries), self.world.catalog
        words = ("RESUME",) if query.state != RUNNING else ("ALTER", "PAUSE", "DROP")[:len(queries) + 1]
        word = self.random.choice(words)
        change = {"RESUME": catalog.resume, "PAUSE": catalog.pause, "DROP": catalog.drop_query,
                  "ALTER": lambda name: catalog.alter_query(name, lambda now: now.plan)}[word]
        self.world.call(lambda: change(query.name))
        return f"{word} QUERY {query.name}"
