"""Who is paused when Redis is full, and who goes on when it is not any more."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mars.adapters.exchange import StaleGenerationError
from mars.adapters.view import StreamView
from mars.model.registry import QuerySet
from reducer.leading import memory
from reducer.leading.memory import MemoryWatch
from tests.clock import ManualClock
from tests.reducer.pieces import QUERY, STREAM

LIMIT = 1_000_000
UNRECOVERED = 99  # a stream whose recovery waits for a file


class Redis(SimpleNamespace):
    """Stands for the exchange: used bytes, and what each task holds."""

    def memory(self) -> tuple[int, int]:
        return self.used, self.limit

    def weigh(self, stream_id: int, generation: int, key_parts: int) -> dict:
        if stream_id == UNRECOVERED:
            raise StaleGenerationError("another generation is in the exchange", "None")
        return self.weights


class World:
    """Two running queries; `stopped` and `written` say what the watch did."""

    def __init__(self, monkeypatch) -> None:
        self.clock, self.stopped, self.written = ManualClock(100.0), [], []
        self.redis = Redis(used=0, limit=LIMIT, weights={("q1", 1): 200_000, ("q2", 2): 300_000, ("q2", 1): 900_000})
        monkeypatch.setattr(memory, "stop_queries",
                            lambda zk, stream, ids, state, why: self.stopped.append((*ids, state, why)))
        zookeeper = SimpleNamespace(transact=lambda *operations: self.written.append(operations[-1]) or True)
        leads = SimpleNamespace(guard=lambda: ("check", "/mars/leader", 1))
        self.watch = MemoryWatch(self.redis, zookeeper, leads, self.clock)
        self.queries = QuerySet(9, (0, 1), {"q1": replace(QUERY), "q2": replace(QUERY, id="q2", incarnation=2)})

    def pass_(self, seconds: float, used: int) -> None:
        self.redis.used, end_s = used, self.clock.now_s + seconds
        while self.clock.now_s < end_s:
            self.clock.now_s += memory.LOOK_S
            self.watch.look([StreamView(STREAM, self.queries, 1, 1, 1)])


@pytest.fixture
def world(monkeypatch) -> World:
    return World(monkeypatch)


def test_the_heaviest_that_runs_is_paused_with_its_figures(world):
    world.pass_(memory.FULL_S + 1, 900_000)
    [(id_, state, reason)] = world.stopped
    assert (id_, state) == ("q2", "PAUSED_BY_MEMORY")
    assert "900,000 of 1,000,000" in reason
    assert "300,000" in reason  # what its former incarnation has does not count


def test_a_stream_that_cannot_be_weighed_protects_nobody(world):
    """Its commits do not read, so no generation is installed; the others' queries are paused all the same."""
    world.redis.used = 900_000
    view = StreamView(STREAM, world.queries, 1, 1, 1)
    for _ in range(int(memory.FULL_S / memory.LOOK_S) + 1):
        world.clock.now_s += memory.LOOK_S
        world.watch.look([replace(view, stream=replace(STREAM, id=UNRECOVERED)), view])
    assert [id_ for id_, _, _ in world.stopped] == ["q2"]


def test_a_short_peak_pauses_nobody(world):
    for _ in range(5):
        world.pass_(memory.FULL_S - 2 * memory.LOOK_S, 990_000)
        world.pass_(memory.LOOK_S, 600_000)
    assert world.stopped == []


def test_if_it_did_not_help_another_one_follows(world):
    world.pass_(memory.FULL_S + memory.LOOK_S, 990_000)
    world.redis.weights = {("q1", 1): 200_000}
    world.pass_(memory.FULL_S + memory.LOOK_S, 990_000)
    assert [id_ for id_, _, _ in world.stopped] == ["q2", "q1"]


def test_nobody_is_paused_for_what_others_hold(world):
    world.redis.weights = {("q1", 1): 200}
    world.pass_(10, 999_000)
    assert world.stopped == []


def test_a_redis_without_limit_is_never_full(world):
    world.redis.limit = 0
    world.pass_(10, 10**12)
    assert world.stopped == []


def test_the_one_that_was_paused_first_goes_on_when_there_is_room(world):
    for id_ in ("q2", "q1"):
        world.queries.raise_incarnation(id_, "PAUSED_BY_MEMORY", "full")
    world.pass_(memory.ROOM_S - 1, 100_000)
    assert world.written == []
    world.pass_(2, 100_000)
    [(_, _, data, version)] = world.written
    resumed = QuerySet.load(data)
    assert (resumed.queries["q2"].state, resumed.queries["q1"].state, version) == ("RUNNING", "PAUSED_BY_MEMORY", 1)
    assert resumed.queries["q2"].incarnation == 11


def test_whom_a_user_has_paused_stays_so(world):
    world.queries.raise_incarnation("q1", "PAUSED")
    world.pass_(30, 100_000)
    assert world.written == []
