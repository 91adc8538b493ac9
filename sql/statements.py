"""Every statement of the dialect, as parsed: nothing here has been checked against a stream yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from sql.statement_parts import Clauses as Clauses
from sql.statement_parts import ColumnDefinition as ColumnDefinition
from sql.statement_parts import IntoClause as IntoClause
from sql.statement_parts import Name as Name


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
