"""The catalog of streams and queries and a stream's query set: pure data, kept in ZooKeeper (rule 1).

Names are found case-insensitively and kept as written. Streams and queries share one namespace.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, field
from functools import lru_cache

import orjson

from mars.model.plan import QueryPlan, Stream

RUNNING, PAUSED = "RUNNING", "PAUSED"
FAULT_STATES = ("DATA_LOSS", "TOPIC_RECREATED", "LOG_TRUNCATED", "QUARANTINED", "LIMIT_EXCEEDED", "PAUSED_BY_MEMORY",
                "STATE_LOST", "INVARIANT_BROKEN", "FAILED")
ANEW = "DROP the query and the stream and create them again"  # what to do if the topic is gone or is another one

PLANS = 10_000  # plans that are kept, so that a query set that changes costs the change
COMPRESSION_LEVEL = 1  # plans are alike, so level 1 leaves a twentieth; a higher level would cost time at every change


@dataclass
class Query:
    """One continuous query. `incarnation` numbers its attachment and is never used again (rule 2). `start` maps each
    partition to the offset where the query starts; a partition added later is entered by the leader with its first
    record. `state` is RUNNING, PAUSED or one of FAULT_STATES, with `reason` in words. `altered` is how often ALTER has
    changed what it shows."""

    id: str
    name: str
    plan: QueryPlan
    incarnation: int
    start: dict[int, int]
    state: str = RUNNING
    reason: str = ""
    created_ms: int = 0
    altered: int = 0

    @property
    def shown_id(self) -> str:
        """Another one whenever the query shows other rows than before."""
        return f"{self.id}.{self.altered}" if self.altered else self.id

    @staticmethod
    def from_json(data: dict) -> Query:
        """The query of a form that is written in a query set."""
        return Query(**{**data, "plan": _plan(orjson.dumps(data["plan"])),
                        "start": {int(p): o for p, o in data["start"].items()}})


@lru_cache(PLANS)
def _plan(text: bytes) -> QueryPlan:
    """The plan of a JSON text; one object for all queries with that text."""
    return QueryPlan.from_json(orjson.loads(text))


@dataclass
class QuerySet:
    """All queries of one stream, its partitions, and the next incarnation; one znode, whose version each commit checks."""

    next_incarnation: int = 1
    partitions: tuple[int, ...] = ()
    queries: dict[str, Query] = field(default_factory=dict)

    def running(self) -> dict[str, Query]:
        """The queries that get tasks."""
        return {id_: q for id_, q in self.queries.items() if q.state == RUNNING}

    def raise_incarnation(self, query_id: str, state: str, reason: str = "") -> None:
        """Give a query a new attachment in `state`. Whatever belongs to the old one is dropped wherever it appears."""
        query = self.queries[query_id]
        query.incarnation, query.state, query.reason = self.next_incarnation, state, reason
        self.next_incarnation += 1

    def dump(self) -> bytes:
        """The znode's data: JSON, compressed because ZooKeeper takes at most 1 MB, and 500 plans have that."""
        raw = {"next_incarnation": self.next_incarnation, "partitions": self.partitions,
               "queries": {id_: {**q.__dict__, "plan": orjson.Fragment(q.plan.text), "start": q.start}
                           for id_, q in self.queries.items()}}
        return zlib.compress(orjson.dumps(raw, option=orjson.OPT_NON_STR_KEYS), COMPRESSION_LEVEL)

    @staticmethod
    def load(data: bytes) -> QuerySet:
        """The query set of a znode's data."""
        raw = orjson.loads(zlib.decompress(data))
        return QuerySet(raw["next_incarnation"], tuple(raw["partitions"]),
                        {id_: Query.from_json(q) for id_, q in raw["queries"].items()})


@dataclass
class Catalog:
    """Names to things: streams by lower-case name, and for each query its stream's name and its id. `late` has the same of
    the names under which queries show their late tuples (LATE TO)."""

    next_id: int = 1
    streams: dict[str, Stream] = field(default_factory=dict)
    queries: dict[str, tuple[str, str]] = field(default_factory=dict)
    late: dict[str, tuple[str, str]] = field(default_factory=dict)

    def kind(self, name: str) -> str | None:
        """'stream', 'query', 'late' or None."""
        key = name.lower()
        held = {"stream": key in self.streams, "query": key in self.queries, "late": key in self.late}
        return next((kind for kind, is_there in held.items() if is_there), None)

    def names(self) -> list[str]:
        """All names, for did-you-mean."""
        return [s.name for s in self.streams.values()] + list(self.queries) + list(self.late)

    def dump(self) -> bytes:
        """The znode's data."""
        return orjson.dumps({"next_id": self.next_id, "queries": self.queries, **({"late": self.late} if self.late else {}),
                             "streams": {k: asdict(s) for k, s in self.streams.items()}})

    @staticmethod
    def load(data: bytes) -> Catalog:
        """The catalog of a znode's data."""
        raw = orjson.loads(data)
        return Catalog(raw["next_id"], {k: Stream.from_json(s) for k, s in raw["streams"].items()},
                       *({k: (s, q) for k, (s, q) in raw.get(of, {}).items()} for of in ("queries", "late")))
