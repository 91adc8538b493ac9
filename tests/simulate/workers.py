"""The real workers of a run, put together as run_mapper and run_reducer do it, of what the simulation has."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

from mapper.connections import Connections as MapperConnections
from mapper.job import Mapper
from mapper.steps import Steps
from mars.config import Config
from reducer.connections import Connections as ReducerConnections
from reducer.job import Reducer
from tests.simulate import cells, changing, kafka, redis, storage, zookeeper

if TYPE_CHECKING:
    from tests.simulate.world import World

CONFIG = Config().model_copy(update={
    "batch_tuples": 3, "run_tuples_max": 4, "claim_ahead_tuples": 12, "lease_ms": 500, "commit_interval_ms": 80,
    "future_limit_ms": kafka.FUTURE_LIMIT_MS, "zookeeper_session_ms": 700})
STEPS = Steps(cells.Parser, cells.judge, cells.aggregate_task, cells.encode)
# No tuple is bad here, so there are no dead letters: neither to write, nor to keep in bounds.
LETTERS = SimpleNamespace(keep=lambda *_: True, keep_unread=lambda *_: True)
NO_LETTERS = SimpleNamespace(retain=lambda *_: 0, tidy=lambda *_: None)


def mapper(world: World, slot: int) -> Mapper:
    """A mapper on the current node."""
    connections = MapperConnections(
        zookeeper.ZooKeeper(world.ensemble, CONFIG.zookeeper_session_ms), redis.Exchange(world.server), world.disk.spill,
        LETTERS, lambda stream: kafka.Reader(world.topic, stream.topic_id))
    return Mapper(CONFIG, slot, connections, world.runtime, changing.STEPS if world.changes else STEPS)


def reducer(world: World, slot: int) -> Reducer:
    """A reducer on the current node, which tells the world of each broken invariant that it meets."""
    session, store = zookeeper.ZooKeeper(world.ensemble, CONFIG.zookeeper_session_ms), storage.Storage(world.disk)
    store.require()
    connections = ReducerConnections(
        session, redis.Exchange(world.server), store, NO_LETTERS, kafka.Wire(world.topic), kafka.Group,
        lambda heard: redis.Wakeups(world.server, heard))
    made = Reducer(CONFIG, slot, connections, world.runtime)
    remedies = made.holdings.remedies
    recover = remedies.recover
    remedies.recover = lambda held, error: (world.met(f"r{slot}", held.view, error), recover(held, error))
    return made


Start = Callable[["World", int], Mapper | Reducer]
WORKERS: dict[str, Start] = {"m0": mapper, "m1": mapper, "r0": reducer, "r1": reducer}
SPARE: dict[str, Start] = {"m2": mapper, "r2": reducer}  # which run only while more are wanted than at the start
