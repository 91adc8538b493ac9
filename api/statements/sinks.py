"""Sinks: CREATE, DROP, PAUSE, RESUME, ALTER. What they are shown as lies in api/statements/sink_status.py."""

from __future__ import annotations

from dataclasses import dataclass, replace

from api.statements.answers import Answer, unchanged
from api.statements.context import Context
from mars.adapters.catalog import Beside
from mars.adapters.catalog_names import require_free
from mars.adapters.sink_catalog import require_new
from mars.errors import ConflictError, NotFoundError, NotReadyError, SqlError
from mars.model import expressions
from mars.model.connections import ICEBERG, KAFKA, POSTGRES, Connection
from mars.model.expressions import Expression
from mars.model.identifiers import identifier
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import Catalog, Query
from mars.model.sinks import CONNECTS, PARQUET, WEBHOOK, Into, Sink
from mars.publisher.target import Shape, Way, check_shape
from mars.publisher.targets import open_target
from mars.results.schema import columns_of
from mars.results.times import instant_us
from sql import statements as kinds
from sql.check.condition import result_condition
from sql.refusals import did_you_mean, refusal, refusal_at

MADE = {KAFKA: "Topic", POSTGRES: "Table", ICEBERG: "Table", PARQUET: "Folder"}


def create_sink(context: Context, statement: kinds.CreateSink) -> Answer:
    """Deliver a query's closed windows to a target, whose table or topic is made or checked before this returns."""
    if statement.unless_there and context.sink_definitions.read().find(statement.name.text):
        return unchanged("created", statement.name.text, "sink")
    stream, query = _query(context, statement)
    sink = replace(_into_sink(context, statement.name.text, statement.into, statement.sql, query.plan, stream),
                   query=query.name, query_id=query.id)
    sink = replace(_begun(context, statement, sink, stream, query), sql=_written(sink, statement))
    notes = _look_at_target(context, sink, query.plan)
    made = context.sink_definitions.create(sink)
    return Answer("created", made.name, notes=notes)


def drop_sink(context: Context, statement: kinds.DropSink) -> Answer:
    """End a sink; what it has delivered stays."""
    if statement.if_there and context.sink_definitions.read().find(statement.name.text) is None:
        return unchanged("dropped", statement.name.text, None)
    return Answer("dropped", context.sink_definitions.drop(statement.name.text).name)


def pause_sink(context: Context, statement: kinds.PauseSink) -> Answer:
    """Stop a sink where it is."""
    return Answer("paused", context.sink_definitions.pause(statement.name.text).name)


def resume_sink(context: Context, statement: kinds.ResumeSink) -> Answer:
    """Let a sink go on."""
    return Answer("resumed", context.sink_definitions.resume(statement.name.text).name)


def replay_sink(context: Context, statement: kinds.ReplaySink) -> Answer:
    """Let a sink deliver again what is kept of windows from a time on."""
    return Answer("altered", replay(context, statement.name.text, statement.start).name)


def replay(context: Context, name: str, start: str) -> Sink:
    """As replay_sink; `start` is EARLIEST or an instant. ConflictError if the sink's query is not there any more."""
    sink = context.sink_definitions.sink(name)
    stream, query = context.definitions.query(sink.query)
    if query.id != sink.query_id:
        raise ConflictError("the query was dropped", f"sink {sink.name} delivered another query {query.name}",
                            f"DROP SINK {identifier(sink.name)}")
    first_us = None if start == "EARLIEST" else instant_us("FROM", start)
    return context.sink_definitions.replay(name, first_us, context.tables.gone_us(context.snapshots.read(stream, query)))


@dataclass(frozen=True)
class Companion:
    """A sink that is made with its query: what CatalogStore.create_query is to make beside it, and notes for a person."""

    beside: Beside
    notes: list[str]


def companion(context: Context, name: str, clause: kinds.IntoClause | None, sql: str, stream: Stream,
              plan: QueryPlan) -> Companion:
    """The sink of CREATE QUERY name INTO ..., whose target is made or checked now; nothing without INTO."""
    if clause is None:
        return Companion(lambda _query: [], [])
    sink = replace(_into_sink(context, name, clause, sql, plan, stream), query=name)
    return Companion(context.sink_definitions.with_query(sink), _look_at_target(context, sink, plan))


def require_same(context: Context, query: Query, clause: kinds.IntoClause | None) -> None:
    """ConflictError unless the sink that was made with the query is the one that is asked for."""
    there = [sink for sink in context.sink_definitions.read().of_query(query.id) if sink.with_query]
    asked = None if clause is None else _into(clause, query.plan, clause.sql)
    if [sink.into for sink in there] != ([] if asked is None else [asked]):
        shown = there[0].into.shown() if there else "none"
        raise ConflictError("the name exists", f"query {query.name} was made with another sink: {shown}",
                            f"choose another name, or CREATE SINK ... FROM {identifier(query.name)}")


def _query(context: Context, statement: kinds.CreateSink) -> tuple[Stream, Query]:
    name = statement.query
    try:
        return context.definitions.query(name.text)
    except NotFoundError as error:
        if name.start == name.end:
            raise
        raise refusal_at(statement.sql, name, error.title, error.detail, error.hint) from None


def _into_sink(context: Context, name: str, clause: kinds.IntoClause, sql: str, plan: QueryPlan, stream: Stream) -> Sink:
    """A sink of that target. SqlError and ConflictError where name, connection, topic or columns cannot be so."""
    require_free(Catalog(), name)
    require_new(context.sink_definitions.read(), name)
    _connection(context, clause, sql)
    into = _into(clause, plan, sql)
    if into.kind == KAFKA and into.connection is None and into.name == stream.topic:
        raise refusal_at(sql, clause.target, f"topic '{into.name}' is what the query reads",
                         f"stream {stream.name} would count its own results", "name another topic")
    return Sink("", name, "", "", into, sql=sql)


def _connection(context: Context, clause: kinds.IntoClause, sql: str) -> Connection | None:
    name = clause.connection
    if name is None:
        return None
    known = context.sink_definitions.read().connections
    found = known.get(name.text.lower())
    if found is None:
        names = [c.name for c in known.values()]
        raise refusal_at(sql, name, f"unknown connection {name.text}", "there is none of this name",
                         did_you_mean(name.text, names, "CREATE CONNECTION makes one; SHOW CONNECTIONS lists them all"))
    if found.kind != CONNECTS[clause.kind]:
        raise refusal_at(sql, name, f"connection {found.name} goes to {found.kind}",
                         f"INTO {clause.kind} needs one to {CONNECTS[clause.kind]}", "SHOW CONNECTIONS lists them all")
    return found


def _into(clause: kinds.IntoClause, plan: QueryPlan, sql: str) -> Into:
    """The target, with the columns of KEY as the result calls them."""
    columns = {name.lower(): name for name, _ in columns_of(plan)}
    for column in clause.key or ():
        if column.text.lower() not in columns:
            raise refusal_at(sql, column, f"unknown column {column.text}", f"the result has {', '.join(columns.values())}",
                             did_you_mean(column.text, columns.values(), "name columns of the result"))
    key = None if clause.key is None else tuple(columns[column.text.lower()] for column in clause.key)
    name = "" if clause.kind == WEBHOOK else clause.target.text
    return Into(clause.kind, name, clause.connection.text if clause.connection else None, key, every_ms=clause.every_ms,
                bytes_max=clause.bytes_max)


def _begun(context: Context, statement: kinds.CreateSink, sink: Sink, stream: Stream, query: Query) -> Sink:
    """The sink with its condition, and with the place where it begins."""
    if statement.where is not None:
        compiled = _condition(statement.where, statement.sql, query.plan)
        condition = expressions.to_json(compiled)
        assert isinstance(condition, dict), condition
        sink = replace(sink, where=statement.where.text, condition=condition)
    snapshot = context.snapshots.read(stream, query)
    if statement.start == "LATEST" and query.plan.aggregation.is_changelog:
        return replace(sink, since=snapshot.vector)
    if statement.start == "LATEST":
        return replace(sink, above_us=snapshot.watermark_us)
    first_us = None if statement.start == "EARLIEST" else instant_us("FROM", statement.start)
    return replace(sink, first_us=first_us, gone_us=context.tables.gone_us(snapshot))


def _written(sink: Sink, statement: kinds.CreateSink) -> str:
    """The statement that makes the sink, also if it came otherwise."""
    start = statement.start if statement.start in ("EARLIEST", "LATEST") else f"'{statement.start}'"
    where = "" if statement.where is None else f" WHERE {statement.where.text}"
    return f"CREATE SINK {identifier(sink.name)} FROM {identifier(sink.query)} INTO {sink.into.shown()} FROM {start}{where}"


def _condition(where: kinds.Name, sql: str, plan: QueryPlan) -> Expression:
    """The condition, compiled; a refusal points into the statement."""
    try:
        return result_condition(where.text, tuple(columns_of(plan)))
    except SqlError as error:
        if where.start == 0:  # it stands alone, in the body of a request
            raise
        lines = where.text.split("\n")
        start = where.start + sum(len(line) + 1 for line in lines[:error.line - 1]) + error.column - 1
        raise refusal(sql, start, start + error.length, error.title, error.detail, error.hint) from None


def _look_at_target(context: Context, sink: Sink, plan: QueryPlan) -> list[str]:
    """Make or check the table or topic. A target that does not answer is waited for by the sink."""
    shape = Shape.of(plan)
    check_shape(sink.into, shape)
    name = sink.into.connection
    connection = None if name is None else context.sink_definitions.connection(name)
    try:
        target = open_target(Way(context.config, context.secrets.get, ""), sink, shape, connection)
        try:
            made = target.prepare(may_make=True)
        finally:
            target.close()
    except NotReadyError as error:
        return [f"Warning: the target does not answer now, and the sink waits for it: {error}"]
    return [f"{MADE[sink.into.kind]} '{sink.into.name}' was made."] if made else []
