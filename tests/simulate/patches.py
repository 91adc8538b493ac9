"""Hands the real modules the simulation's clock, threads and outside systems; nothing of their own code is replaced."""

from __future__ import annotations

import contextlib
import functools
import logging
import queue
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import orjson

import mapper.claim
import mapper.ends
import mapper.fetching
import mars.model.registry
import mars.results.open_windows
import mars.results.pages
import mars.results.tables
import reducer.committing.commit
import reducer.committing.history
import reducer.home
import reducer.job
import reducer.keypart
import reducer.leading.lead
import reducer.leading.memory
import reducer.leading.watch_topic
import reducer.state.limits
import reducer.state.merge
from mars import faults
from mars.model.plan import QueryPlan
from tests.simulate import cells, kafka, redis, storage, threads, zookeeper
from tests.simulate.world import World

# Waits of the real code that only make a run longer, and sweeps that would come too rarely in one.
CONSTANTS: list[tuple[ModuleType, str, float]] = [
    (mapper.fetching, "VIEW_AGE_S", 0.2), (mapper.fetching, "PAUSE_S", 0.2), (mapper.fetching, "BUSY_S", 0.03),
    (mapper.claim, "EMPTY_S", 0.1), (mapper.ends, "LOOK_S", 0.05),
    (reducer.job, "VIEW_AGE_S", 0.1), (reducer.job, "REFUSED_S", 0.06),
    (reducer.keypart, "SWEEP_S", 0.5),
    (reducer.committing.commit, "KEEP_UNUSED_S", 1.0), (reducer.committing.commit, "DELTAS_MAX", 4),
    (reducer.committing.commit, "RECENT_MAX", 3),
    (reducer.committing.history, "SPACING", 2), (reducer.committing.history, "SPACING_MAX", 8),
    (reducer.leading.watch_topic, "OFFSETS_S", 0.5), (reducer.leading.lead, "SILENT_S", 1.0),
    (reducer.leading.memory, "LOOK_S", 0.1), (reducer.leading.memory, "FULL_S", 0.4),
    (reducer.leading.memory, "ROOM_S", 0.4),
]


OURS = ("mapper.", "reducer.", "mars.", "api.")
# What reads and writes query sets at a tenth of the cost: another library, each text once, and no compression. Whoever asks
# makes objects of its own from what is read, and changes nothing of it.
JSON = SimpleNamespace(loads=functools.lru_cache(64)(orjson.loads), dumps=lambda value: orjson.dumps(value).decode())
PLAIN = SimpleNamespace(compress=lambda data, level: data, decompress=lambda data: data)


def _users(of: ModuleType) -> list[tuple[ModuleType, str]]:
    """Each module of ours that has imported this one, and its name there: nobody may see the real clock or real threads."""
    return [(module, name) for path, module in sorted(sys.modules.items()) if path.startswith(OURS)
            for name, value in vars(module).items() if value is of]


USERS = {of: _users(of) for of in (time, threading, queue, uuid)}


@contextlib.contextmanager
def installed(world: World, plan: QueryPlan) -> Iterator[None]:
    """The real modules work in the simulation while this lasts. All queries have one plan, which is not read each time."""
    sched = world.scheduler
    stands_for = {
        time: threads.Time(sched), threading: threads.Threading(sched),
        queue: SimpleNamespace(Queue=lambda: threads.Queue(sched), Empty=threads.Empty),
        uuid: SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=world.runtime.new_id()))}
    new = [(module, name, stands_for[of]) for of, users in USERS.items() for module, name in users]
    new += [(module, name, value) for module, values in _seams(world, plan).items() for name, value in values.items()]
    new += CONSTANTS
    undo = [(module, name, getattr(module, name)) for module, name, _ in new]
    loggers = [one for name, one in logging.root.manager.loggerDict.items() if name.startswith("mars.")]
    try:
        for module, name, value in new:
            setattr(module, name, value)
        for logger in loggers:
            logger.disabled = True
        faults.arm_with(world)
        yield
    finally:
        faults.arm_with(None)
        for logger in loggers:
            logger.disabled = False
        for module, name, value in undo:
            setattr(module, name, value)


def _seams(world: World, plan: QueryPlan) -> dict[ModuleType, dict[str, object]]:
    """What stands for outside systems, and for the work on tuples."""
    outside = {"ZooKeeper": lambda hosts, session_ms: zookeeper.ZooKeeper(world.ensemble, session_ms),
               "Exchange": lambda address: redis.Exchange(world.server)}
    return {
        mars.model.registry: {"QueryPlan": SimpleNamespace(from_json=lambda data: plan), "json": JSON, "zlib": PLAIN},
        reducer.home: {"Storage": lambda *_: storage.Storage(world.disk)},
        reducer.job: {**outside, "Wakeups": lambda address, heard: redis.Wakeups(world.server, heard),
                      "keep_letters": lambda *_: None},
        reducer.keypart: {"decode": cells.decode, "schema": lambda *_: None},
        reducer.state.limits: {"cells": cells.CELLS},
        reducer.state.merge: {"cells": cells.CELLS, "decode": cells.decode, "schema": lambda *_: None, "tuple_count": len,
                              "_first_start": cells.first_start, "window": cells.WINDOW, "np": cells.NUMPY},
        reducer.committing.commit: {
            "cells_finish": cells.FINISH, "encode": cells.encode, "pa": cells.ARROW,
            "_rows_blob": cells.encode, "describe": cells.describe},
        reducer.leading.watch_topic: {"Wire": lambda *_, **__: kafka.Wire(world.topic), "Consumer": kafka.Group},
        mars.results.tables: {"pa": cells.READ},
        mars.results.open_windows: {"cells": cells.OPEN},
    }
