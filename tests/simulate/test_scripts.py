"""The simulation's Redis against a real one: the same calls, by a die, must give the same answers and refusals."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

import pytest

from mars.adapters.exchange import Exchange, StaleEpochError, StaleGenerationError
from mars.model.claims import Claim
from mars.model.entries import Header, Share, encode
from mars.model.names import Keys
from tests.simulate import redis
from tests.simulate.faults import Network
from tests.simulate.scheduler import Scheduler

STREAM, KEY_PARTS, PARTITIONS, END = 5, 2, (0, 1), 40


class Pair:
    """Two exchanges that get the same calls."""

    def __init__(self, address: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.scheduler = Scheduler(seed, steps_max=10**9)
        self.server = redis.Server(self.scheduler, Network(self.scheduler))
        self.twin, self.real = redis.Exchange(self.server), Exchange(address)
        self.real.redis.flushall()
        name = self.real.standing(STREAM, ()).server
        self.server.run_id = lambda: name
        self.generation, self.epoch, self.claims = 0, 1, []
        self.requests = {"a": 0, "b": 0}
        self.seen: set[str] = set()

    def both(self, call: Callable[[object], object]) -> object:
        """The answer of both, which must be one. Deadlines ascend in both, so that leases run out in one order."""
        answers = []
        self.scheduler.now += 0.01
        time.sleep(0.0015)
        for exchange in (self.twin, self.real):
            try:
                answers.append(call(exchange))
            except (StaleGenerationError, StaleEpochError) as error:
                answers.append(type(error).__name__)
        told = [self._comparable(answer) for answer in answers]
        assert told[0] == told[1]
        if isinstance(answers[0], str):
            self.seen.add(answers[0])
        return answers

    @staticmethod
    def _comparable(answer: object) -> object:
        """Without what one of them leaves out."""
        if isinstance(answer, Claim):
            return {**answer.__dict__, "file": answer.file or None}
        return answer

    # -- calls ----------------------------------------------------------------------------------------------------

    def state(self) -> dict:
        """Lanes and stops by a die."""
        choose = lambda: [str(stop) for stop in sorted(self.random.sample(range(1, END), self.random.randint(0, 3)))]  # noqa: E731
        return {"key_parts": KEY_PARTS, "positions": [[k, f"{p}:q1", str(self.random.randint(0, 9))] for p in PARTITIONS
                                                      for k in range(KEY_PARTS) if self.random.random() < 0.5],
                "lanes": {str(p): {q: f"{i}:{self.random.choice((0, 0, 5))}" for i, q in enumerate(("q1", "q2"), 1)
                                   if self.random.random() < 0.7} for p in PARTITIONS},
                "stops": {str(p): choose() for p in PARTITIONS}}

    def install(self) -> None:
        generation, epoch, state = self.generation + self.random.choice((0, 1, 1)), self._epoch(), self.state()
        # A restarted server is another one: it gives no claim.
        server = "other" if self.random.random() < 0.1 else self.server.run_id()
        answers = self.both(lambda e: e.lead(STREAM, generation=generation, epoch=epoch).install(server, state))
        if answers[0] is None:
            self.generation, self.claims = generation, []

    def _epoch(self) -> int:
        self.epoch += self.random.random() < 0.2
        return self.epoch - (self.random.random() < 0.1)

    def _generation(self) -> int:
        return self.generation - (self.random.random() < 0.05)

    def attach(self) -> None:
        state, query = self.state(), self.random.choice(("q1", "q2", "q3"))
        one = {"cursors": {p: str(self.random.randint(0, 20)) for p in PARTITIONS}, "positions": state["positions"],
               "stops": {p: state["stops"][str(p)] for p in PARTITIONS}}
        generation, epoch, incarnation = self._generation(), self._epoch(), self.random.randint(1, 6)
        self.both(lambda e: e.lead(STREAM, generation=generation, epoch=epoch).attach(query, incarnation, one))

    def detach(self) -> None:
        query, generation, epoch = self.random.choice(("q1", "q2", "q3")), self._generation(), self._epoch()
        # Less often a high one: what was taken off is not attached again.
        seen = {p: min(self.random.randint(1, 6), self.random.randint(1, 6)) for p in PARTITIONS}
        self.both(lambda e: e.lead(STREAM, generation=generation, epoch=epoch).detach(query, seen))

    def facts(self) -> None:
        generation, epoch, number = self._generation(), self._epoch(), self.random.randint(0, 99)
        told = {self.random.choice(("begun", "done")): number, "idle:0": f"{number}:5"}
        self.both(lambda e: e.lead(STREAM, generation=generation, epoch=epoch).publish_facts(told))

    def claim(self) -> None:
        worker, generation = self.random.choice("ab"), self._generation()
        request = max(1, self.requests[worker] + self.random.choice((1, 1, 1, 1, 0, -1)))
        # One partition at a time: between two that are level the script may take either.
        arguments = {"lease_ms": self.random.choice((0, 0, 60_000)), "most": self.random.randint(1, 8),
                     "bound": self.random.choice((6, 100)), "key_parts": KEY_PARTS, "least": self.random.choice((1, 1, 3)),
                     "ends": {self.random.choice(PARTITIONS): self.random.randint(0, END)}, "stay": None,
                     "allow_new": self.random.random() < 0.9, "fronts_only": self.random.random() < 0.3,
                     # Such that the clocks, which differ, do not matter: always more than is left, or one offset for ever.
                     "rates": {q: self.random.choice((1e9, 1e-6)) for q in ("q1", "q2") if self.random.random() < 0.2}}
        answers = self.both(lambda e: e.claim(STREAM, generation, worker, request, **arguments))
        if isinstance(answers[0], Claim):
            self.claims.append(answers)
            self.seen.add(f"given {answers[0].given}")
        self.requests[worker] = max(self.requests[worker], request)

    def work(self) -> None:
        """Renew, register or push a claim that was given some time, perhaps to others since."""
        if not self.claims:
            return
        pair, generation = self.random.choice(self.claims), self._generation()
        tasks = dict(list(pair[0].tasks.items())[:self.random.choice((1, 9))])
        header = Header(pair[0].partition, pair[0].start, pair[0].end, tasks, None, None)
        entries = [encode(header, {query: Share(b"x") for query in tasks})] * KEY_PARTS
        kind = self.random.choice(("renew", "give_back", "register", "mark", "mark", "push", "push", "push"))
        given = self.random.randint(0, 2)
        met = self.random.choice((None, 5, 50))
        calls = {"renew": lambda e, c: e.renew(STREAM, generation, c, 60_000),
                 "give_back": lambda e, c: e.renew(STREAM, generation, c, 1, given),
                 "mark": lambda e, c: e.mark(STREAM, generation, c, stage),
                 "register": lambda e, c: e.register(STREAM, generation, c, {"host": "h"}),
                 "push": lambda e, c: e.push(STREAM, generation, c, tasks, met, entries)}
        stage = self.random.choice(("reading", "computing"))
        by = dict(zip((id(self.twin), id(self.real)), pair, strict=True))
        self.both(lambda e: calls[kind](e, by[id(e)]))

    def trim(self) -> None:
        k, generation, epoch = self.random.randrange(KEY_PARTS), self._generation(), self.random.randint(1, 3)
        seqs = [self.random.randint(1, 6)]
        positions = {(self.random.choice(PARTITIONS), "q1"): self.random.randint(0, 30)}
        self.both(lambda e: e.log(STREAM, generation=generation, key_part=k, epoch=epoch).trim(seqs, positions))

    def compare(self) -> None:
        """What the keys hold, as far as calls show it, and the claims."""
        self.both(lambda e: e.least_positions(STREAM, KEY_PARTS))
        store, keys = self.server.stores[STREAM], Keys(STREAM)
        generation, leader = self.real.redis.hmget(keys.generation, "generation", "leader")
        assert (int(generation), int(leader)) == (store.generation["generation"], store.generation["leader"])
        for p in PARTITIONS:
            lanes = {q.decode(): value.decode() for q, value in self.real.redis.hgetall(keys.lanes(p)).items()}
            assert lanes == {query: f"{incarnation}:{cursor}" for query, (incarnation, cursor) in store.lanes[p].items()}
        assert {int(id_): json.loads(text)["tasks"] for id_, text in self.real.redis.hgetall(keys.claims).items()} == {
            id_: claim["tasks"] for id_, claim in store.claims.items()}
        for k in range(KEY_PARTS):
            facts, entries = self.real.log(STREAM, generation=self.generation, key_part=k, epoch=1).receive(0, 1 << 20)
            assert facts == store.facts
            assert [entry.seq for entry in entries] == sorted(store.log[k])
        for p in PARTITIONS:
            assert {int(stop) for stop in self.real.redis.zrange(keys.stops(p), 0, -1)} == store.stops[p]


@pytest.mark.parametrize("seed", range(12))
def test_the_twin_answers_as_the_scripts_do(redis_address: str, seed: int) -> None:
    pair = Pair(redis_address, seed)
    pair.install()
    actions = [pair.install] + 2 * [pair.attach, pair.detach, pair.facts] + 5 * [pair.trim] + 12 * [pair.claim, pair.work]
    while pair.generation == 0:
        pair.install()
    for _ in range(150):
        pair.random.choice(actions)()
    pair.compare()
    assert {"StaleGenerationError", "given 2"} <= pair.seen
