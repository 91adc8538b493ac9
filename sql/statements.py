"""Every statement of the dialect, as parsed: nothing here has been checked against a stream yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from mars.model.plan import Window


@dataclass(frozen=True)
class Name:
    """A name and its place in the statement: sql[start:end]."""

    text: str
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True)
class ColumnDefinition:
    """`name TYPE [PATH 'a.b']`; `type_place` is the place of the type, `type` its text as written."""

    name: Name
    type: Name
    path: Name | None = None


@dataclass(frozen=True)
class CreateStream:
    """`options` are (option, value) as written; STRICT has the value ''. `unit` None is the default."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    topic: Name
    format: Name
    options: tuple[tuple[Name, Name], ...]
    time_column: Name
    unit: Name | None
    sql: str
    unless_there: bool = False


@dataclass(frozen=True)
class Clauses:
    """What our own clauses of a SELECT say; None where one was not written. `idle_ms` 0 is IDLE OFF; `late_for_ms` is that
    of LATE UPDATE, `late_to` the name behind LATE TO, `emission` the word behind EMIT, and `timeout_ms` that of EMIT FINAL
    TIMEOUT; `time` is the column that a window function names as the event time, and `partition` what it names as keys.
    `places` has (start, end) of each clause by its keyword."""

    window: Window | None = None
    watermark_ms: int | None = None
    idle_ms: int | None = None
    grace_ms: int | None = None
    max_ahead_ms: int | None = None
    emit_every_ms: int | None = None
    late_for_ms: int | None = None
    late_to: Name | None = None
    emission: str | None = None
    timeout_ms: int | None = None
    start: str | None = None
    rate: int | None = None
    time: Name | None = None
    partition: tuple[Name, ...] | None = None
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def is_of_a_query(self) -> bool:
        """Is there a clause that only CREATE QUERY takes?"""
        parts = (self.late_for_ms, self.late_to, self.timeout_ms)
        return self.emission in ("CHANGES", "EVERY") or any(part is not None for part in parts)


@dataclass(frozen=True)
class SelectStatement:
    """A SELECT over a stream: given alone it runs once over what the topic holds. `tree` is the plain SQL without our
    clauses, `texts` the text of each column of the select list, `last` the place of the statement's last word."""

    sql: str
    source: Name
    tree: exp.Select = field(compare=False, repr=False)
    clauses: Clauses = field(compare=False)
    texts: tuple[str, ...] = field(compare=False, repr=False)
    last: tuple[int, int] = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class SelectFromQuery:
    """SQL over the closed windows of queries, for an embedded engine. `engine_sql` is the same statement
    with names in double quotes and texts in the standard's form; `queries` are the names in it that are
    queries."""

    sql: str
    queries: tuple[str, ...]
    engine_sql: str = field(default="", compare=False)


@dataclass(frozen=True)
class IntoClause:
    """Where a sink delivers to: `kind` POSTGRES, KAFKA, ICEBERG, PARQUET or WEBHOOK; `target` the table, topic, folder
    or, of a webhook, the connection. A file or snapshot is written after `every_ms` or with `bytes_max`. `sql` is the clause
    as written."""

    kind: str
    target: Name
    connection: Name | None = None
    key: tuple[Name, ...] | None = None
    every_ms: int = 0
    bytes_max: int = 0
    sql: str = field(default="", compare=False)


@dataclass(frozen=True)
class CreateQuery:
    """CREATE QUERY name AS SELECT ...; `into` is the sink that is made with it, None for the built-in results alone."""

    name: Name
    into: IntoClause | None
    select: SelectStatement
    sql: str
    unless_there: bool = False


@dataclass(frozen=True)
class AlterQuery:
    """ALTER QUERY name AS SELECT ...; if `or_create`, CREATE OR REPLACE QUERY, which makes it if it is not there."""

    name: Name
    select: SelectStatement
    sql: str
    or_create: bool = False


@dataclass(frozen=True)
class DropStream:
    name: Name
    if_there: bool = False


@dataclass(frozen=True)
class DropQuery:
    name: Name
    if_there: bool = False


@dataclass(frozen=True)
class PauseQuery:
    name: Name


@dataclass(frozen=True)
class ResumeQuery:
    name: Name


@dataclass(frozen=True)
class ShowStreams:
    pass


@dataclass(frozen=True)
class ShowQueries:
    pass


@dataclass(frozen=True)
class ShowDeadLetters:
    """`where` is a condition over letters; `limit` None is the default."""

    stream: Name
    where: Name | None
    limit: int | None
    sql: str


@dataclass(frozen=True)
class ShowLate:
    """`name` is the one of a query's LATE TO; `limit` None is the default."""

    name: Name
    limit: int | None


@dataclass(frozen=True)
class RedriveDeadLetters:
    """`topic` None is the stream's own; `dry_run` only counts."""

    stream: Name
    topic: Name | None
    where: Name | None
    dry_run: bool
    sql: str


@dataclass(frozen=True)
class Describe:
    """`name` is a stream or a query."""

    name: Name


@dataclass(frozen=True)
class Peek:
    """`topic` is a Kafka topic, with or without a stream."""

    topic: Name


@dataclass(frozen=True)
class CreateConnection:
    """`options` are (option, value), values as text or number; `secrets` are (option, name of a secret)."""

    name: Name
    kind: str
    options: tuple[tuple[str, str | int], ...]
    secrets: tuple[tuple[str, Name], ...]
    sql: str
    unless_there: bool = False


@dataclass(frozen=True)
class CreateSink:
    """`where` is a condition over the result's columns, `start` EARLIEST, LATEST or an instant."""

    name: Name
    query: Name
    into: IntoClause
    where: Name | None
    start: str
    sql: str
    unless_there: bool = False


@dataclass(frozen=True)
class DropSink:
    name: Name
    if_there: bool = False


@dataclass(frozen=True)
class PauseSink:
    name: Name


@dataclass(frozen=True)
class ResumeSink:
    name: Name


@dataclass(frozen=True)
class ReplaySink:
    """`start` is EARLIEST or an instant."""

    name: Name
    start: str


@dataclass(frozen=True)
class DropConnection:
    name: Name
    if_there: bool = False


@dataclass(frozen=True)
class ShowSinks:
    pass


@dataclass(frozen=True)
class ShowConnections:
    pass


@dataclass(frozen=True)
class ExplainSink:
    """What a sink does, and why it is where it is."""

    name: Name


@dataclass(frozen=True)
class AlterWorkers:
    """`counts` are (mappers or reducers, how many are wanted, the place of that number)."""

    counts: tuple[tuple[str, int, Name], ...]
    sql: str


@dataclass(frozen=True)
class ShowWorkers:
    pass


@dataclass(frozen=True)
class Explain:
    """Of a SELECT, or of a running query. `format` is TEXT or SPARK; `why` asks why a query's results are as
    they are."""

    format: str
    select: SelectStatement | None
    query: Name | None
    why: bool = False


Statement = (
    CreateStream | DropStream | CreateQuery | AlterQuery | DropQuery | PauseQuery | ResumeQuery | ShowStreams
    | ShowQueries | ShowDeadLetters | ShowLate | RedriveDeadLetters | Describe | Peek | Explain | CreateConnection
    | CreateSink | DropSink | PauseSink | ResumeSink | ReplaySink | DropConnection | ShowSinks | ShowConnections
    | ExplainSink | AlterWorkers | ShowWorkers | SelectStatement | SelectFromQuery
)
