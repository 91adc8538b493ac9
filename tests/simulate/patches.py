"""Hands the real modules the simulation's clock, threads and outside systems; nothing of their own code is replaced."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import mapper.claim
import mapper.ends
import mapper.job
import mapper.lease
import mars.adapters.view_cache
import mars.faults
import reducer.broken
import reducer.commit
import reducer.job
import reducer.keypart
import reducer.lead
import reducer.memory
import reducer.merge
import reducer.watch_topic
from tests.simulate import cells, kafka, redis, scheduler, storage, zookeeper

# Waits of the real code that only make a run longer, and sweeps that would come too rarely in one.
CONSTANTS: list[tuple[ModuleType, str, float]] = [
    (mapper.job, "VIEW_AGE_S", 0.2), (mapper.job, "PAUSE_S", 0.2),
    (mapper.ends, "LOOK_S", 0.05), (mapper.claim, "EMPTY_S", 0.1),
    (reducer.job, "IDLE_S", 0.03), (reducer.job, "IDLE_MAX_S", 0.1), (reducer.job, "VIEW_AGE_S", 0.1),
    (reducer.keypart, "NOWS_S", 0.2),
    (reducer.keypart, "SWEEP_S", 0.5), (reducer.commit, "KEEP_UNUSED_S", 1.0), (reducer.commit, "DELTAS_MAX", 4),
    (reducer.watch_topic, "OFFSETS_S", 1e9),
    (reducer.memory, "LOOK_S", 0.1), (reducer.memory, "FULL_S", 0.4), (reducer.memory, "ROOM_S", 0.4),
]


@contextlib.contextmanager
def installed(sched: scheduler.Scheduler, disk: storage.Disk, point: Callable[[str], None],
              poison: Callable[[str, int, int, int], None]) -> Iterator[None]:
    """The real modules work in the simulation while this lasts."""
    time, threads, numbers = scheduler.Time(sched), scheduler.Threading(sched), itertools.count()
    queues = SimpleNamespace(Queue=lambda maxsize=1_000_000: scheduler.Queue(sched, maxsize), Empty=scheduler.Empty,
                             Full=scheduler.Full)
    names = SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=f"{next(numbers):08x}"))
    changes = {
        mars.faults: {"point": point, "poison": poison},
        mapper.job: {"time": time, "threading": threads, "queue": queues, "uuid": names, "spill": storage.Spill(disk),
                     "ZooKeeper": zookeeper.ZooKeeper, "Exchange": redis.Exchange, "Parser": cells.Parser,
                     "aggregate_task": cells.aggregate_task, "max_event_time": cells.max_event_time,
                     "encode": cells.encode, "open_reader": lambda *_: kafka.Reader(),
                     # No tuple is bad here, so there are no dead letters.
                     "LetterBox": lambda _: SimpleNamespace(keep=lambda *_: True, keep_unread=lambda *_: True)},
        mapper.lease: {"threading": threads},
        mars.adapters.view_cache: {"time": time, "threading": threads},
        mapper.claim: {"time": time},
        mapper.ends: {"time": time},
        reducer.job: {"time": time, "threading": threads, "uuid": names, "ZooKeeper": zookeeper.ZooKeeper,
                      "Exchange": redis.Exchange, "Storage": storage.Storage, "Wakeups": redis.Wakeups,
                      "keep_letters": lambda *_: None},
        reducer.lead: {"time": time},
        reducer.broken: {"time": time},
        reducer.memory: {"time": time},
        reducer.keypart: {"time": time, "decode": cells.decode, "schema": lambda *_: None},
        reducer.merge: {"cells": cells.CELLS, "decode": cells.decode, "schema": lambda *_: None, "tuple_count": len,
                         "_first_start": cells.first_start},
        reducer.commit: {"time": time, "cells": cells.CELLS, "cells_finish": cells.FINISH, "encode": cells.encode,
                         "_rows_blob": cells.encode, "describe": cells.describe},
        reducer.watch_topic: {"time": time, "KafkaAdmin": kafka.Admin, "Consumer": kafka.Group},
    }
    with contextlib.ExitStack() as stack:
        for module, values in changes.items():
            for name, value in values.items():
                if hasattr(module, name):
                    stack.enter_context(patch.object(module, name, value))
        for module, name, value in CONSTANTS:
            if hasattr(module, name):
                stack.enter_context(patch.object(module, name, value))
        level = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        stack.callback(logging.disable, level)
        yield
