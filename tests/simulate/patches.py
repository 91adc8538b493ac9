"""What a run changes in modules of the real code.

Clocks, threads, outside systems and the steps of mappers are not among it: workers and readers are handed those by their
constructors (workers.py, readers.py), and the code its crash points by mars.faults.

Each change has its reason beside it; no name that is private to a module is touched.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import orjson

import mapper.claim
import mapper.ends
import mapper.fetching
import mars.model.registry
import mars.results.changes
import mars.results.open_windows
import mars.results.tables
import reducer.committing.commit
import reducer.committing.history
import reducer.committing.results
import reducer.committing.sweep
import reducer.committing.truth
import reducer.holdings
import reducer.job
import reducer.keypart
import reducer.leading.lead
import reducer.leading.memory
import reducer.leading.watch_topic
import reducer.state.limits
import reducer.state.merge
import reducer.state.sharing
import reducer.state.timed
from mars import faults
from mars.model.plan import QueryPlan
from tests.plans import changed
from tests.simulate import cells
from tests.simulate.world import World

Change = tuple[ModuleType, str, object]  # a name of a module, and what it stands for during a run

# Waits that only make a run longer, and limits and sweeps that no short run would come to.
CONSTANTS: list[Change] = [
    (mapper.fetching, "VIEW_AGE_S", 0.2), (mapper.fetching, "PAUSE_S", 0.2), (mapper.fetching, "BUSY_S", 0.03),
    (mapper.fetching, "FINISH_S", 0.5),
    (mapper.claim, "EMPTY_S", 0.1), (mapper.ends, "LOOK_S", 0.05),
    (reducer.job, "VIEW_AGE_S", 0.1), (reducer.holdings, "REFUSED_S", 0.06), (reducer.keypart, "SHARE_S", 0.3),
    (reducer.committing.sweep, "SWEEP_S", 0.5), (reducer.committing.sweep, "KEEP_UNUSED_S", 1.0),
    (reducer.committing.commit, "DELTAS_MAX", 4), (reducer.committing.results, "RECENT_MAX", 3),
    (reducer.committing.history, "SPACING", 2), (reducer.committing.history, "SPACING_MAX", 8),
    (reducer.leading.watch_topic, "OFFSETS_S", 0.5), (reducer.leading.lead, "SILENT_S", 1.0),
    (reducer.leading.memory, "LOOK_S", 0.1), (reducer.leading.memory, "FULL_S", 0.4),
    (reducer.leading.memory, "ROOM_S", 0.4),
]
# Cells are lists of ids instead of Arrow tables (cells.py): a loss and a double cannot cancel each other, and a run takes a
# tenth of the time. What computes with cells is pure and calls these functions by name, so it is handed none.
CELLS: list[Change] = [
    (reducer.committing.truth, "decode", cells.decode), (reducer.committing.truth, "schema", lambda *_: None),
    (reducer.state.limits, "cells", cells.CELLS),
    (reducer.state.sharing, "cells", cells.CELLS),
    (reducer.state.timed, "cells_stamps", cells.STAMPS),
    (reducer.state.merge, "cells", cells.CELLS), (reducer.state.merge, "decode", cells.decode),
    (reducer.state.merge, "schema", lambda *_: None), (reducer.state.merge, "tuple_count", len),
    (reducer.state.merge, "cells_late", cells.LATE), (reducer.committing.commit, "Late", cells.KEPT),
    (reducer.committing.commit, "Closed", cells.Closed), (reducer.committing.commit, "encode", cells.encode),
    (mars.results.tables, "cells", cells.OPEN), (mars.results.open_windows, "cells", cells.OPEN),
]
# Rows that change are made of real cells (changing.py), few at a time.
REAL_CELLS: list[Change] = [(mars.results.changes, "CHUNK_ROWS", 2)]
# Query sets are read and written at a tenth of the cost: each text is read once, and without compression. Whoever asks makes
# objects of its own from what is read, and changes nothing of it.
JSON = SimpleNamespace(loads=functools.lru_cache(64)(orjson.loads), dumps=orjson.dumps, Fragment=orjson.Fragment,
                       OPT_NON_STR_KEYS=orjson.OPT_NON_STR_KEYS)
PLAIN = SimpleNamespace(compress=lambda data, level: data, decompress=lambda data: data)


def _query_sets(plan: QueryPlan) -> list[Change]:
    """All queries have this plan, with limits of their own; few, which are not read each time."""
    @functools.lru_cache
    def own(max_ahead_ms: int | None, rate: int | None) -> QueryPlan:
        return replace(changed(plan, max_ahead_ms=max_ahead_ms), rate=rate)

    def read(data: dict) -> QueryPlan:
        return own(data["aggregation"].get("max_ahead_ms"), data.get("rate"))

    return [(mars.model.registry, "orjson", JSON), (mars.model.registry, "zlib", PLAIN),
            (mars.model.registry, "QueryPlan", SimpleNamespace(from_json=read))]


@contextlib.contextmanager
def installed(world: World) -> Iterator[None]:
    """The real code works in this world while this lasts, and says nothing to the log."""
    changes = CONSTANTS + (REAL_CELLS if world.changes else CELLS) + _query_sets(world.plan)
    undo = [(module, name, getattr(module, name)) for module, name, _ in changes]
    loggers = [one for name, one in logging.root.manager.loggerDict.items() if name.startswith("mars.")]
    try:
        for module, name, value in changes:
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
