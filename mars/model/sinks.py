"""Sinks: what delivers a query's closed windows to another system, and how far that is. Pure data, kept in ZooKeeper.

The place up to which a sink has delivered is its mark. The mark lies in the target and is written in the same transaction as
the rows; what ZooKeeper has of it is a copy.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace

from mars.model.connections import HTTP, ICEBERG, KAFKA, POSTGRES, S3, Connection
from mars.model.durations import format_duration
from mars.model.identifiers import identifier

WEBHOOK, PARQUET = "WEBHOOK", "PARQUET"  # kinds of targets, beside those that are called like their connections
# The kind of connection that a kind of target takes.
CONNECTS = {POSTGRES: POSTGRES, KAFKA: KAFKA, ICEBERG: ICEBERG, PARQUET: S3, WEBHOOK: HTTP}
MIB = 1 << 20
RUNNING, PAUSED = "RUNNING", "PAUSED"
FAILED, PROGRESS_LOST, BEHIND_RETENTION = "FAILED", "SINK_PROGRESS_LOST", "SINK_BEHIND_RETENTION"
STARTING, DELIVERING, WAITING = "STARTING", "DELIVERING", "WAITING"  # what a running sink is doing


@dataclass(frozen=True)
class Into:
    """Where a sink delivers to. `name` is the table, 'schema.table', the topic or the folder; empty for a webhook.
    `connection` None: a folder of this machine, or Mars's own Kafka. `key` has the columns of a message's key; None:
    window_start and the query's keys. A file or a snapshot is written once its first row has waited `every_ms`, or with
    `bytes_max` of rows."""

    kind: str
    name: str
    connection: str | None = None
    key: tuple[str, ...] | None = None
    format: str = "JSON"
    every_ms: int = 0
    bytes_max: int = 0

    def shown(self) -> str:
        """As it is written in SQL."""
        name = "'" + self.name.replace("'", "''") + "'"
        if self.kind == WEBHOOK:
            return f"WEBHOOK {identifier(self.connection or '')}"
        at = f" AT {identifier(self.connection)}" if self.connection else ""
        pace = f" EVERY {format_duration(self.every_ms)} OR {self.bytes_max // MIB} MB" if self.every_ms else ""
        if self.kind == PARQUET:
            return f"PARQUET {name}{at}{pace}"
        if self.kind != KAFKA:
            return f"{self.kind} {identifier(self.connection or '')} TABLE {name}{pace}"
        key = "" if self.key is None else f" KEY ({', '.join(map(identifier, self.key))})"
        return f"KAFKA TOPIC {name}{at}{key} FORMAT {self.format}"


@dataclass(frozen=True)
class Sink:
    """`id` is never used again. `condition` is the expression (expressions.to_json) of `where`. Rows of windows that start
    before `first_us`, or that had closed at the watermark `above_us`, are not delivered; nor, of rows that change, what had
    changed up to the commits `since`, one of each key part. Up to `gone_us` windows had lost rows to the retention when the
    sink was made. `state` is RUNNING, PAUSED, or what stopped it, with `reason`. `attempt` changes with each change of the
    state. `accepts` is the loss with which somebody has resumed it. `replay` is the attempt with which it was last told to
    deliver from `first_us` on again; 0 if it never was. `with_query`: one statement made it and its query."""

    id: str
    name: str
    query: str
    query_id: str
    into: Into
    where: str | None = None
    condition: dict | None = None
    first_us: int | None = None
    above_us: int | None = None
    gone_us: int | None = None
    state: str = RUNNING
    reason: str = ""
    attempt: int = 1
    accepts: str = ""
    replay: int = 0
    with_query: bool = False
    since: tuple[int, ...] | None = None
    created_ms: int = 0
    sql: str = ""

    def changed(self, state: str, reason: str = "", accepts: str = "") -> Sink:
        """The sink in another state."""
        return replace(self, state=state, reason=reason, accepts=accepts, attempt=self.attempt + 1)

    def replayed(self, first_us: int | None, gone_us: int | None) -> Sink:
        """The sink that begins anew with windows that start at `first_us`. It runs, unless it is paused."""
        state = PAUSED if self.state == PAUSED else RUNNING
        accepts = PROGRESS_LOST if self.state == PROGRESS_LOST else ""
        return replace(self.changed(state, accepts=accepts), first_us=first_us, gone_us=gone_us, above_us=None,
                       since=None, replay=self.attempt + 1)

    @staticmethod
    def from_json(data: dict) -> Sink:
        """The sink of a form made by dataclasses.asdict."""
        into, since = data["into"], data.get("since")
        return Sink(**{**data, "since": None if since is None else tuple(since),
                       "into": Into(**{**into, "key": None if into["key"] is None else tuple(into["key"])})})


@dataclass
class SinkSet:
    """All sinks by id and all connections by name in small letters; one znode, changed by compare-and-set."""

    next_id: int = 1
    sinks: dict[str, Sink] = field(default_factory=dict)
    connections: dict[str, Connection] = field(default_factory=dict)

    def find(self, name: str) -> Sink | None:
        """The sink of that name in any case."""
        return next((sink for sink in self.sinks.values() if sink.name.lower() == name.lower()), None)

    def of_query(self, query_id: str) -> list[Sink]:
        """The sinks of a query."""
        return [sink for sink in self.sinks.values() if sink.query_id == query_id]

    def users(self, connection: str) -> list[str]:
        """The names of the sinks that use a connection, sorted."""
        return sorted(s.name for s in self.sinks.values() if (s.into.connection or "").lower() == connection.lower())

    def dump(self) -> bytes:
        """The znode's data."""
        return json.dumps({"next_id": self.next_id, "sinks": {id_: asdict(sink) for id_, sink in self.sinks.items()},
                           "connections": {key: c.to_json() for key, c in self.connections.items()}}).encode()

    @staticmethod
    def load(data: bytes) -> SinkSet:
        """The set of a znode's data."""
        raw = json.loads(data) if data else {}
        return SinkSet(raw.get("next_id", 1), {id_: Sink.from_json(sink) for id_, sink in raw.get("sinks", {}).items()},
                       {key: Connection(**c) for key, c in raw.get("connections", {}).items()})


@dataclass(frozen=True)
class Mark:
    """How far a sink has delivered: `rows` in all, and the place (window's start and end in us, rows of that window) behind
    the last one; None before the first. All of windows that close at or before the watermark `above_us` is delivered, too.
    Of a query whose rows change, `changes` is the place instead (mars/results/places.py). `epoch` is the owner's who wrote
    it: the version of the sink's owner znode. `replay`: that of the sink which it is in."""

    epoch: int
    place: tuple[int, int, int] | None = None
    rows: int = 0
    above_us: int | None = None
    replay: int = 0
    changes: tuple[tuple[int, int, int], ...] | None = None

    def to_json(self) -> dict:
        """A JSON-able form, of which `of` makes the mark again."""
        return {name: value for name, value in asdict(self).items() if name != "changes" or value is not None}

    def dump(self) -> str:
        """The text that lies in the target."""
        return json.dumps(self.to_json())

    @staticmethod
    def of(raw: dict) -> Mark:
        """The mark of a form made by dataclasses.asdict."""
        place = None
        if raw["place"] is not None:
            start_us, end_us, rows = raw["place"]
            place = int(start_us), int(end_us), int(rows)
        changes = raw.get("changes")
        if changes is not None:
            changes = tuple((int(commit), int(window), int(keys)) for commit, window, keys in changes)
        return Mark(int(raw["epoch"]), place, int(raw["rows"]), raw["above_us"], int(raw.get("replay", 0)), changes)

    @staticmethod
    def load(text: str) -> Mark:
        """The mark of such a text; ValueError for any other."""
        try:
            return Mark.of(json.loads(text))
        except (TypeError, KeyError) as error:
            raise ValueError(f"{text!r} is no mark") from error


@dataclass(frozen=True)
class SinkStatus:
    """What a sink's owner says of it, for people, and its copy of the mark, None before the owner has one. `attempt` is the
    sink's of which it is said. `until_us`: windows that end there or before are delivered. Times are ms since 1970."""

    state: str = STARTING
    attempt: int = 0
    mark: Mark | None = None
    until_us: int | None = None
    last_error: str = ""
    since_ms: int = 0
    next_try_ms: int | None = None
    publisher: str = ""

    def dump(self) -> bytes:
        """The znode's data."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def load(data: bytes) -> SinkStatus:
        """The status of a znode's data."""
        raw = json.loads(data) if data else {}
        return SinkStatus(**{**raw, "mark": Mark.of(raw["mark"]) if raw.get("mark") else None})
