"""The protocol under every order of steps and faults that hypothesis finds: the real scripts on a real Redis, the real
merging and lane code, with claims, zombies, splits, attached, paused and resumed queries, killed reducers and an emptied
Redis; at the end every key part of every query has merged every offset, each once.
"""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from mars.adapters.exchange import Exchange
from mars.adapters.exchange_roles import LedStream, OwnedLog
from mars.model.claims import Claim
from mars.model.commits import Manifest
from mars.model.entries import Header, Share, encode
from mars.model.expressions import Column
from mars.model.partials import AggregateCall
from mars.model.plan import Output, Stream, StreamColumn, Window
from mars.model.registry import PAUSED, RUNNING, Query, QuerySet
from reducer.leading.lanes import attach_state, install_state
from reducer.state.merge import Piece, QueryState
from tests.plans import made

PARTITIONS, KEY_PARTS, END = (0, 1), 2, 12
STREAM = Stream("s", 9, "t", "", (StreamColumn("t", "BIGINT"),), "CSV", "t", "ms", KEY_PARTS)
PLAN = made(("t",), (), (AggregateCall("count", None, None, "BIGINT"),),
            (Output("count", Column("a0", "BIGINT"), "BIGINT"),), window=Window("tumbling", 1000))


class Part:
    """A key part's commit and its owner's working state, as reducer/keypart.py keeps them."""

    def __init__(self, number: int) -> None:
        self.manifest = Manifest(STREAM.id, number)
        self.states: dict[str, QueryState] = {}
        self.after = 0
        self.generation = 0


class Protocol(RuleBasedStateMachine):
    """Steps are named after the functions of the code that they stand for."""

    address = ""

    @initialize()
    def start(self) -> None:
        self.exchange = Exchange(self.address)
        self.exchange.redis.flushall()
        self.generation = 1
        self.queries = QuerySet(1, PARTITIONS)
        self.parts = [Part(k) for k in range(KEY_PARTS)]
        self.hands: list = []
        self.requests = itertools.count(1)
        self.recoveries = 0
        self.create(0)
        self.recover()

    # -- the cluster's state ---------------------------------------------------------------------------------------

    def lead(self) -> LedStream:
        return self.exchange.lead(STREAM.id, generation=self.generation, epoch=1)

    def log(self, k: int) -> OwnedLog:
        return self.exchange.log(STREAM.id, generation=self.generation, key_part=k, epoch=1)

    def create(self, start: int) -> None:
        id_ = f"q{len(self.queries.queries)}"
        self.queries.queries[id_] = Query(id_, id_, PLAN, self.queries.next_incarnation, dict.fromkeys(PARTITIONS, start))
        self.queries.next_incarnation += 1

    def reload(self, part: Part) -> None:
        """KeyPart.load: the last commit, and the log from its start."""
        part.states = {id_: QueryState.resume(q, STREAM, part.manifest.queries.get(id_), [])
                       for id_, q in self.queries.running().items()}
        part.after, part.generation = 0, self.generation

    @precondition(lambda self: self.recoveries < 3)
    @rule()
    def recover(self) -> None:
        """Redis lost everything: raise the generation, read the commits, install. Rarely, so that work piles up."""
        self.recoveries += 1
        self.exchange.redis.flushall()
        self.generation += 1
        self.lead().install(self.exchange.standing(STREAM.id, ()).server,
                            install_state(self.queries, [p.manifest for p in self.parts]))
        for part in self.parts:
            self.reload(part)

    # -- mappers ---------------------------------------------------------------------------------------------------

    @rule(worker=st.sampled_from("ab"), most=st.integers(1, 5), hold=st.booleans())
    def claim(self, worker: str, most: int, hold: bool) -> None:
        """Take a claim; one that is not held is given to the next who asks, and its holder becomes a zombie."""
        claim = self.exchange.claim(STREAM.id, self.generation, worker, next(self.requests),
                                    lease_ms=60_000 if hold else 0, most=most, bound=8, key_parts=KEY_PARTS,
                                    ends=dict.fromkeys(PARTITIONS, END), stay=None, allow_new=True)
        if claim:
            self.hands.append((self.generation, claim))

    @precondition(lambda self: self.hands)
    @rule(data=st.data(), group=st.booleans(), forget=st.booleans())
    def push(self, data, group: bool, forget: bool) -> None:
        """Push a claim, all of it or one task of several; perhaps keep it in hand and push it again later."""
        held = data.draw(st.sampled_from(self.hands))
        generation, claim = held
        tasks = dict(list(claim.tasks.items())[:1]) if group else claim.tasks
        if generation == self.generation:
            self.exchange.push(STREAM.id, generation, claim, tasks, None, [made(claim, tasks)] * KEY_PARTS)
        if forget and not group:
            self.hands.remove(held)

    # -- reducers --------------------------------------------------------------------------------------------------

    @rule(k=st.integers(0, KEY_PARTS - 1))
    def step(self, k: int) -> None:
        """Receive and merge what is in the log."""
        part = self.parts[k]
        for entry in self.log(k).receive(part.after, 1 << 20)[1]:
            part.after = entry.seq
            for id_, incarnation in entry.header.tasks.items():
                state = part.states.get(id_)
                if state and state.query.incarnation == incarnation:
                    state.accept(Piece(entry.seq, entry.header, entry.shares[id_]))

    @rule(k=st.integers(0, KEY_PARTS - 1))
    def commit(self, k: int) -> None:
        """Everything merged becomes the truth; then the positions are told and passed entries are deleted."""
        part = self.parts[k]
        for id_, state in part.states.items():
            part.manifest.queries[id_] = QueryState.resume(state.query, STREAM, state.commit, []).commit
        entries = self.log(k).receive(0, 1 << 20)[1]
        done = [entry.seq for entry in entries if all(
            q not in part.states or part.states[q].query.incarnation != i
            or part.states[q].commit.positions.get(entry.header.partition, 0) >= entry.header.end
            for q, i in entry.header.tasks.items())]
        positions = {(p, id_): o for id_, state in part.states.items() for p, o in
                     {**state.query.start, **state.commit.positions}.items()}
        self.log(k).trim(done, positions)

    @rule(k=st.integers(0, KEY_PARTS - 1))
    def kill_reducer(self, k: int) -> None:
        """The owner dies; the next one starts from the commit."""
        self.reload(self.parts[k])

    # -- queries ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.queries.queries) < 3)
    @rule(start=st.sampled_from([0, 0, 3, END]))
    def attach(self, start: int) -> None:
        """CREATE QUERY: the query set first, then the commits are read, then the lane is installed."""
        self.create(start)
        self._follow(list(self.queries.queries)[-1])

    @rule(data=st.data())
    def pause_or_resume(self, data) -> None:
        """PAUSE or RESUME under a new incarnation: uncommitted work of the old one is thrown away."""
        id_ = data.draw(st.sampled_from(sorted(self.queries.queries)))
        running = self.queries.queries[id_].state == RUNNING
        self.queries.raise_incarnation(id_, PAUSED if running else RUNNING)
        self._follow(id_)

    def _follow(self, id_: str) -> None:
        query = self.queries.queries[id_]
        if query.state == RUNNING:
            self.lead().attach(id_, query.incarnation, attach_state(query, [p.manifest for p in self.parts]))
        else:
            self.lead().detach(id_, PARTITIONS)
        for part in self.parts:
            part.states.pop(id_, None)
            if query.state == RUNNING:
                part.states[id_] = QueryState.resume(query, STREAM, part.manifest.queries.get(id_), [])

    # -- what must hold --------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """After healing, every running query reaches the end in every key part, having counted each offset once."""
        for id_, query in self.queries.queries.items():
            if query.state != RUNNING:
                self.queries.raise_incarnation(id_, RUNNING)
                self._follow(id_)
        self.hands = []
        self.recover()
        for _ in range(100):
            self.claim("z", 5, True)
            if not self.hands:
                break
            self._push_all()
            for k in range(KEY_PARTS):
                self.step(k)
                self.commit(k)
        for part in self.parts:
            for id_, query in self.queries.queries.items():
                entry = part.manifest.queries[id_]
                for p, start in query.start.items():
                    assert entry.positions.get(p, start) == max(END, start), (id_, p, entry.positions)
                counted = sum(END - min(start, END) for start in query.start.values())
                assert entry.counters["tuples"] == counted, (id_, entry.counters, counted)

    def _push_all(self) -> None:
        generation, claim = self.hands.pop()
        assert self.exchange.push(STREAM.id, generation, claim, claim.tasks, None, [made(claim, claim.tasks)] * KEY_PARTS)


def made(claim: Claim, tasks: dict[str, int]) -> tuple[bytes, bytes]:
    """An entry without cells, which counts a tuple for each offset."""
    header = Header(claim.partition, claim.start, claim.end, tasks, claim.end, None)
    return encode(header, {query: Share(counts={"tuples": claim.end - claim.start}) for query in tasks})


@pytest.mark.timeout(120)
def test_nothing_is_lost_or_doubled_in_any_order_of_steps(redis_address):
    Protocol.address = redis_address
    run_state_machine_as_test(Protocol, settings=settings(
        max_examples=50, stateful_step_count=40, deadline=None, phases=[Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck)))
