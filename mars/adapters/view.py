"""What a worker knows of the cluster: streams, their query sets and generations, read from ZooKeeper.

A view may be old. That is safe, because commits and scripts check its versions. A view is replaced as a whole and never
changed in place, so any thread can read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import orjson

from mars.adapters.zookeeper import ZooKeeper
from mars.model import names
from mars.model.plan import Stream
from mars.model.registry import RUNNING, QuerySet


@dataclass(frozen=True)
class StreamView:
    """A stream with its query set and generation, each with the version that a transaction can check."""

    stream: Stream
    queries: QuerySet
    queries_version: int
    generation: int
    generation_version: int

    @cached_property
    def rates(self) -> dict[str, int]:
        """The most tuples a second, of each running query that has a RATE."""
        return {id_: query.plan.rate for id_, query in self.queries.running().items() if query.plan.rate is not None}


def instance_id(zookeeper: ZooKeeper) -> str | None:
    """The id of the instance that owns the ZooKeeper; None if nobody owns it yet."""
    known = zookeeper.get(names.INSTANCE)
    return orjson.loads(known.data)["id"] if known else None


def read_stream(zookeeper: ZooKeeper, stream: Stream) -> StreamView | None:
    """The stream as ZooKeeper has it now, or None if it has just been dropped."""
    queries = zookeeper.get(names.queries(stream.id))
    generation = zookeeper.get(names.generation(stream.id))
    if queries is None or generation is None:
        return None
    return StreamView(stream, QuerySet.load(queries.data), queries.version, int(generation.data), generation.version)


def stop_queries(zookeeper: ZooKeeper, stream: Stream, query_ids: Iterable[str], state: str, reason: str,
                 only_running: bool = True) -> list[str]:
    """Put running queries into a fault state, each under a new incarnation; if not `only_running`, also queries in any
    other state. Returns the ids that were stopped."""
    while True:
        node = zookeeper.get_synced(names.queries(stream.id))
        if node is None:
            return []
        queries = QuerySet.load(node.data)
        stopped = [id_ for id_ in query_ids if (query := queries.queries.get(id_)) is not None
                   and (query.state == RUNNING if only_running else query.state != state)]
        for id_ in stopped:
            queries.raise_incarnation(id_, state, reason)
        if not stopped or zookeeper.transact(("set", names.queries(stream.id), queries.dump(), node.version)):
            return stopped
