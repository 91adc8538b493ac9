"""When Redis runs out of room: the query that fills it most is paused, and goes on by itself when there is room again.

Above 70 % of the limit mappers claim nothing new (mapper/claim.py), which is enough as long as what waits can be merged.
What cannot, for instance behind a range whose worker ended, may fill the rest. A query that is paused loses its cells: the
owners delete its entries, and RESUME reads them again from the committed positions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from mars.adapters.exchange import FULL_SHARE, Exchange, StaleGenerationError
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.model import names
from mars.model.registry import RUNNING, QuerySet
from mars.runtime.system import SYSTEM, Clock
from reducer.leading.elect import Candidate

log = logging.getLogger("mars.leader")
STATE = "PAUSED_BY_MEMORY"
ROOM_SHARE = 0.5  # below what stops mappers: a query that goes on there does not fill Redis at once
LOOK_S = 0.5
FULL_S = 2.0  # longer than a burst that owners merge away
ROOM_S = 5.0  # longer, so that a query does not come and go
WEIGHT_SHARE_MIN = 0.01  # of the limit: pausing what holds less frees nothing


class MemoryWatch:
    """The leader's look at Redis's memory; of the streams that share this Redis."""

    def __init__(self, exchange: Exchange, zookeeper: ZooKeeper, candidate: Candidate, clock: Clock = SYSTEM.clock) -> None:
        self.exchange, self.zookeeper, self.candidate, self.clock = exchange, zookeeper, candidate, clock
        self.looked_at = 0.0
        self.full_since: float | None = None
        self.room_since: float | None = None

    def look(self, views: Iterable[StreamView]) -> None:
        """Pause the heaviest running query once FULL_SHARE has been passed for FULL_S, and another if that did not help;
        resume the one that was paused first once less than ROOM_SHARE has been used for ROOM_S."""
        now = self.clock.monotonic_s()
        if now - self.looked_at < LOOK_S:
            return
        self.looked_at = now
        used, limit = self.exchange.memory()
        share = used / limit if limit else 0.0
        self.full_since = None if share < FULL_SHARE else now if self.full_since is None else self.full_since
        self.room_since = None if share > ROOM_SHARE else now if self.room_since is None else self.room_since
        if self.full_since is not None and now - self.full_since >= FULL_S:
            self.full_since = now
            self._pause(list(views), used, limit)
        elif self.room_since is not None and now - self.room_since >= ROOM_S:
            self.room_since = now
            self._resume(list(views), used, limit)

    def _pause(self, views: list[StreamView], used: int, limit: int) -> None:
        weights: dict[tuple[int, str], tuple[int, StreamView]] = {}
        for view in views:
            running = view.queries.running()
            try:
                found = self.exchange.weigh(view.stream.id, view.generation, view.stream.key_parts)
            except StaleGenerationError as error:  # it waits for a recovery, and nothing can be paused for what it has left
                log.warning("stream %s is not weighed: %s", view.stream.name, error)
                continue
            for (id_, incarnation), size in found.items():
                if id_ in running and running[id_].incarnation == incarnation:
                    weights[view.stream.id, id_] = (size, view)
        heaviest = max(weights, key=lambda key: weights[key][0], default=None)
        if heaviest is None or weights[heaviest][0] < WEIGHT_SHARE_MIN * limit:
            size = weights[heaviest][0] if heaviest else 0
            log.warning("Redis uses %s of %s bytes, and no query's cells are more than %s of it", used, limit, size)
            return
        size, view = weights[heaviest]
        reason = (f"Redis used {used:,} of {limit:,} bytes, and cells of this query {size:,}, more than of any other: they "
                  f"were deleted and are read again. It goes on by itself when less than {ROOM_SHARE:.0%} is used, or by "
                  "RESUME QUERY; a larger redis_memory_bytes_max (maxmemory of a foreign Redis) prevents it")
        log.error("query %s is paused: %s", view.queries.queries[heaviest[1]].name, reason)
        stop_queries(self.zookeeper, view.stream, [heaviest[1]], STATE, reason)

    def _resume(self, views: list[StreamView], used: int, limit: int) -> None:
        paused = [(query.incarnation, query.id, view) for view in views for query in view.queries.queries.values()
                  if query.state == STATE]
        if not paused:
            return
        _, id_, view = min(paused, key=lambda item: item[:2])
        queries = QuerySet.load(view.queries.dump())  # the view is not ours to change
        queries.raise_incarnation(id_, RUNNING)
        log.warning("query %s goes on: Redis uses %s of %s bytes", queries.queries[id_].name, used, limit)
        self.zookeeper.transact(self.candidate.guard(),
                                ("set", names.queries(view.stream.id), queries.dump(), view.queries_version))
