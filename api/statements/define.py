"""CREATE, DROP, PAUSE and RESUME: statements that change what exists."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from api.statements import adhoc_job, sinks
from api.statements.answers import Answer, unchanged
from api.statements.context import Context
from mars.adapters.catalog_names import did_you_mean, how_to_fill, require_free
from mars.adapters.kafka.cluster import TopicInfo
from mars.errors import ConflictError, MarsError, NotFoundError, NotReadyError, SqlError
from mars.model.identifiers import identifier
from mars.model.partials import kept_once
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import RUNNING, Query
from mars.results.formats import timestamp_text
from sql import statements as kinds
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.read.sinks import parse_into
from sql.read.words import read_words
from sql.refusals import refusal, unknown_source

YEAR_1990_US, YEAR_2100_US = 631_152_000_000_000, 4_102_444_800_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOOKED_AT = 20
FIND_TRIES = 3


def create_stream(context: Context, statement: kinds.CreateStream) -> Answer:
    """Register a topic under a name. The topic must exist; its newest tuples are checked for warnings."""
    if statement.unless_there and _is_there(context, statement.name.text, "stream"):
        return unchanged("created", statement.name.text, "stream")
    stream = replace(compile_stream(statement), key_parts=context.config.key_parts)
    _require_free(context, statement)
    topic = _topic(context, statement)
    made = context.definitions.create_stream(replace(stream, topic_id=topic.topic_id), topic.partitions)
    return Answer("created", made.name, notes=_look_at_tuples(context, made))


def drop_stream(context: Context, statement: kinds.DropStream) -> Answer:
    """Forget a stream that no query uses; the topic is left alone."""
    if statement.if_there and not _is_there(context, statement.name.text, None):
        return unchanged("dropped", statement.name.text, None)
    return Answer("dropped", context.definitions.drop_stream(statement.name.text).name)


def create_query(context: Context, statement: kinds.CreateQuery) -> Answer:
    """Start a continuous query at offsets that are fixed before this returns."""
    if statement.unless_there and _is_there(context, statement.name.text, "query"):
        return unchanged("created", statement.name.text, "query")
    _stream, plan = compile_query(context, statement)
    query, notes = _start(context, statement, plan)
    return Answer("created", query.name, notes=notes)


def create_or_find(context: Context, name: str, sql: str, into: str | None) -> tuple[bool, list[str]]:
    """Start the query of a SELECT. (False, []) if a query of that name and meaning exists; ConflictError if another one
    has the name."""
    clause = None if into is None else parse_into(into)
    select = parse(sql, context.definitions.catalog().kind)
    if not isinstance(select, kinds.SelectStatement):
        raise SqlError("this is not a SELECT over a stream", "the body's sql must be only the query's SELECT",
                       "send other statements to POST /v1/sql", sql=sql)
    statement = kinds.CreateQuery(kinds.Name(name), clause, select, sql)
    _stream, plan = compile_query(context, statement)
    for tries_left in reversed(range(FIND_TRIES)):
        there = _query(context, name)
        if there is not None:
            break
        try:
            return True, _start(context, statement, plan)[1]
        except ConflictError:  # an equal request may have made it meanwhile, and another request may have dropped it again
            if not tries_left:
                raise
    assert there is not None, name  # the last try raises
    if _meaning(there.plan) != _meaning(plan):
        raise ConflictError("the name exists", f"query {there.name} is: {there.plan.sql}",
                            f"choose another name, or DROP QUERY {identifier(there.name)} first")
    sinks.require_same(context, there, clause)
    return False, []


def _meaning(plan: QueryPlan) -> QueryPlan:
    """The plan without its text, and without the names under which a version of Mars keeps its partials."""
    aggregation = replace(plan.aggregation, partials=kept_once(plan.presentation.aggregates))
    return replace(plan, sql="", aggregation=aggregation)


def _query(context: Context, name: str) -> Query | None:
    try:
        return context.definitions.query(name)[1]
    except NotFoundError:
        return None


def drop_query(context: Context, statement: kinds.DropQuery) -> Answer:
    """End a query and its results."""
    if statement.if_there and not _is_there(context, statement.name.text, None):
        return unchanged("dropped", statement.name.text, None)
    return Answer("dropped", drop(context, statement.name.text).name)


def _is_there(context: Context, name: str, kind: str | None) -> bool:
    """Does something of this kind have the name? None is any kind."""
    found = context.definitions.catalog().kind(name)
    return found is not None if kind is None else found == kind


def drop(context: Context, name: str) -> Query:
    """End a query, its results and the sink that was made with it; ConflictError if it has others."""
    return context.definitions.drop_query(name, context.sink_definitions.drop_with_query)


def pause_query(context: Context, statement: kinds.PauseQuery) -> Answer:
    """Stop a query where it is."""
    return Answer("paused", context.definitions.pause(statement.name.text).name)


def resume_query(context: Context, statement: kinds.ResumeQuery) -> Answer:
    """Let a query go on."""
    return Answer("resumed", resume(context, statement.name.text).name)


def resume(context: Context, name: str) -> Query:
    """Resume a query; ConflictError if its topic is gone or is another one."""
    stream, query = context.definitions.query(name)
    if query.state in ("DATA_LOSS", "TOPIC_RECREATED"):
        same_topic(context, stream)
    elif query.state != RUNNING:
        with contextlib.suppress(NotReadyError):  # if Kafka is away, the query itself waits for it
            same_topic(context, stream)
    return context.definitions.resume(name)


def compile_query(context: Context, statement: kinds.CreateQuery) -> tuple[Stream, QueryPlan]:
    """The stream and the checked plan; the plan's text is the SELECT alone."""
    stream = source(context, statement.select)
    plan = compile_select(statement.select, stream, continuous=True)
    start = next((word.start for word in read_words(statement.sql) if word.is_("SELECT")), 0)
    return stream, replace(plan, sql=statement.sql[start:].strip().rstrip(";").rstrip())


def source(context: Context, select: kinds.SelectStatement) -> Stream:
    """The stream that a SELECT reads; SqlError at its place with a did-you-mean."""
    catalog, name = context.definitions.catalog(), select.source
    stream = catalog.streams.get(name.text.lower())
    if stream is not None:
        return stream
    if (kind := catalog.kind(name.text)) in ("query", "late"):
        found = "is a query" if kind == "query" else "are the late tuples of a query"
        raise refusal(select.sql, name.start, name.end, f"{name.text} {found}, not a stream",
                      "a query reads a stream", "give a SELECT over a query's results alone")
    raise unknown_source(select.sql, name.text, name.start, name.end, catalog.names())


def start_offsets(context: Context, stream: Stream, select: kinds.SelectStatement, plan: QueryPlan,
                  topic: TopicInfo) -> dict[int, int]:
    """The offset of each partition at which FROM says to begin. SqlError for a time in the future (rule 18)."""
    if plan.start == "EARLIEST":
        return context.kafka.start_offsets(stream.topic, topic.partitions)
    if plan.start == "LATEST":
        return context.kafka.end_offsets(stream.topic, topic.partitions)
    instant = datetime.fromisoformat(plan.start)
    if instant.timestamp() > time.time():
        start, end = select.clauses.places.get("FROM", select.last)
        raise refusal(select.sql, start, end, "the start is in the future", f"FROM '{plan.start}'", "write FROM LATEST")
    # Round t up to Kafka's whole milliseconds: a record stamped in the millisecond that t cuts is stamped before t. For
    # Kafka, -1 means the end.
    time_ms = max(0, -((EPOCH - instant) // timedelta(milliseconds=1)))
    return context.kafka.offsets_at(stream.topic, topic.partitions, time_ms)


def same_topic(context: Context, stream: Stream) -> TopicInfo:
    """The stream's topic; ConflictError if it is gone or another topic has its name."""
    topic = context.kafka.describe_new(stream.topic)
    if topic is not None and topic.topic_id == stream.topic_id:
        return topic
    title, fate = ("the stream's topic is gone", "no longer exists") if topic is None else \
        ("the stream's topic is another one", "was deleted and created again")
    queries = context.definitions.query_set(stream).queries.values()
    drops = sorted(f"DROP QUERY {identifier(query.name)}" for query in queries)
    steps = ", ".join([*drops, f"DROP STREAM {identifier(stream.name)}"])
    raise ConflictError(title, f"topic '{stream.topic}' {fate}", f"{steps}, then CREATE STREAM again")


def _start(context: Context, statement: kinds.CreateQuery, plan: QueryPlan) -> tuple[Query, list[str]]:
    stream = source(context, statement.select)
    _require_free(context, statement)
    offsets = start_offsets(context, stream, statement.select, plan, same_topic(context, stream))
    into_sql = statement.into.sql if statement.name.start == statement.name.end and statement.into else statement.sql
    made = sinks.companion(context, statement.name.text, statement.into, into_sql, stream, plan)
    query = context.definitions.create_query(statement.name.text, plan, offsets, made.beside)
    return query, [*_skipped(context, stream, offsets, plan), *made.notes]


def _require_free(context: Context, statement: kinds.CreateStream | kinds.CreateQuery) -> None:
    """Refuses a name that is taken or invalid. An invalid name is refused with its place; in the body of a request it has
    none."""
    name = statement.name
    try:
        require_free(context.definitions.catalog(), name.text)
    except SqlError as error:
        if name.start == name.end:
            raise
        raise refusal(statement.sql, name.start, name.end, error.title, error.detail, error.hint) from None


def _skipped(context: Context, stream: Stream, offsets: dict[int, int], plan: QueryPlan) -> list[str]:
    """A note on how many tuples are before the query's start, and how to count them too."""
    if plan.start == "EARLIEST":
        return []
    first = context.kafka.start_offsets(stream.topic, offsets)
    before = sum(max(0, offset - first[partition]) for partition, offset in offsets.items())
    if not before:
        return [f"Topic '{stream.topic}' holds no tuple before the start."]
    return [f"{before} tuples of topic '{stream.topic}' are before the start and are not counted. (Each offset is taken as "
            "one tuple, though its message may have many lines, be empty or aborted.) To count them, add FROM EARLIEST at "
            "the end of the SELECT."]


def _topic(context: Context, statement: kinds.CreateStream) -> TopicInfo:
    name = statement.topic
    topic = context.kafka.describe_new(name.text)
    if topic is not None:
        return topic
    near = did_you_mean(name.text, context.kafka.topics())
    raise refusal(statement.sql, name.start, name.end, f"Kafka has no topic '{name.text}'",
                  f"at {context.config.kafka_address}",
                  near + how_to_fill(name.text))


def _look_at_tuples(context: Context, stream: Stream) -> list[str]:
    """Warnings about the newest tuples: none of them can be read, or the event time looks like another unit."""
    try:
        messages = context.kafka.peek(stream.topic, LOOKED_AT, newest=True)
    except MarsError as error:
        return [f"The topic's tuples could not be read: {error.title}."]
    time_us, fault = adhoc_job.first_event_time(stream, messages)
    if time_us is None:
        warning = f"Warning: none of the newest tuples can be read ({fault}); PEEK '{stream.topic}' shows them."
        return [warning] if fault else []
    if YEAR_1990_US <= time_us < YEAR_2100_US:
        return []
    wrong = f"it is read in {stream.time_unit}. If that is the wrong UNIT" if stream.has_unit else "if that column is wrong"
    return [f"Warning: the event time {stream.time_column} of a tuple is {timestamp_text(time_us)}, outside 1990 to "
            f"2100; {wrong}, drop the stream and name the right one."]
