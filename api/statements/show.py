"""SHOW, DESCRIBE, PEEK and EXPLAIN: statements that only look."""

from __future__ import annotations

import re

import pyarrow as pa

from api.statements import status
from api.statements.answers import Answer, listing
from api.statements.context import Context
from api.statements.define import source
from mars.adapters.catalog_names import did_you_mean, how_to_fill
from mars.adapters.kafka.admin import Message
from mars.adapters.storage import CorruptFileError
from mars.errors import NotFoundError
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import RUNNING, Query
from mars.results.cursors import Selection
from mars.results.reason import why_empty
from mars.results.times import instants
from mars.results.waits import what_it_waits_for
from sql import statements as kinds
from sql.check.compile import compile_select
from sql.guess.stream import create_stream_sql, guess_schema
from sql.refusals import refusal
from sql.say.explain import WIDTH
from sql.say.explain import explain as explain_plan
from sql.say.spark import spark_sql

SHARERS = 5  # whose names are shown
PEEKED, PEEKED_CHARS = 10, 10_000
GUESSED_FROM = 200


def show_streams(context: Context, _statement: kinds.ShowStreams) -> Answer:
    """One row for each stream."""
    lines = [(s.name, s.topic, s.format, s.event_time, ", ".join(c.name for c in s.columns), ", ".join(queries))
             for s, queries in status.streams(context)]
    columns = ("name", "topic", "format", "event_time", "columns", "queries")
    return Answer("rows", table=listing(dict.fromkeys(columns, "STRING"), lines))


def show_queries(context: Context, _statement: kinds.ShowQueries) -> Answer:
    """One row for each query."""
    lines = [(d["name"], d["stream"], d["state"], d["reason"], d["watermark"], d["lag"] and d["lag"]["tuples"],
              d["counters"]["tuples"], d["counters"]["late"], d["counters"]["bad"], d["sql"])
             for d in status.query_documents(context)]
    text, number = "STRING", "BIGINT"
    return Answer("rows", table=listing(
        {"name": text, "stream": text, "state": text, "reason": text, "watermark": text, "lag": number, "tuples": number,
         "late": number, "bad": number, "sql": text}, lines))


def describe(context: Context, statement: kinds.Describe) -> Answer:
    """Everything about a stream or query, one fact per row."""
    name, catalog = statement.name.text, context.catalog.catalog()
    kind = catalog.kind(name)
    if kind is None:
        raise NotFoundError("unknown name", f"there is no stream or query {name}",
                            f"{did_you_mean(name, catalog.names())}`SHOW STREAMS` and `SHOW QUERIES` list them")
    if kind == "stream":
        stream = context.catalog.stream(name)
        return _facts(stream.name, _stream_facts(context, stream))
    stream, query = context.catalog.late(name) if kind == "late" else context.catalog.query(name)
    return _facts(query.name, _query_facts(context, stream, query))


def peek(context: Context, statement: kinds.Peek) -> Answer:
    """Some messages of a topic, and a CREATE STREAM that reads them."""
    place = statement.topic
    topic = context.kafka.describe(place.text)
    if topic is None:
        near = did_you_mean(place.text, context.kafka.topics())
        raise refusal(f"PEEK '{place.text}'", place.start, place.end, f"Kafka has no topic '{place.text}'",
                      f"at {context.config.kafka_address}", near or how_to_fill(place.text))
    messages = context.kafka.peek(place.text, GUESSED_FROM)
    table, cut = _shown(messages[:PEEKED])
    guess = guess_schema(m.value for m in messages if m.value)
    if guess is None:
        none = "no tuple that is short enough to guess a stream from" if any(m.value for m in messages) else "no tuple"
        return Answer("rows", table=table, notes=[*cut, f"Topic '{place.text}' holds {none}."])
    create = create_stream_sql(guess, re.sub(r"\W+", "_", place.text), place.text)
    header = ["The first line names the columns. As a tuple it is bad, and is counted as bad."] if guess.header else []
    ready = f"This stream reads these messages. Check it, then run it:\n{create}"
    return Answer("rows", table=table, notes=[*cut, *header, ready],
                  extra={"create_stream": create})


def _shown(messages: list[Message]) -> tuple[pa.Table, list[str]]:
    """The messages as rows, and a note if some are too long to be shown whole."""
    texts = [m.value and m.value.decode("utf-8", "replace") for m in messages]
    lines = [(m.partition, m.offset, m.time_ms, text and text[:PEEKED_CHARS])
             for m, text in zip(messages, texts, strict=True)]
    table = listing({"partition": "INT", "offset": "BIGINT", "time": "BIGINT", "message": "STRING"}, lines)
    is_cut = any(text and len(text) > PEEKED_CHARS for text in texts)
    return table.set_column(2, "time", instants(table["time"])), \
        [f"Longer messages are cut to their first {PEEKED_CHARS:,} characters."] if is_cut else []


def explain(context: Context, statement: kinds.Explain) -> Answer:
    """A plan in words, or as plain Spark SQL. For a query with WHY, also why its result is as it is."""
    if statement.query is not None:
        stream, query = context.catalog.query(statement.query.text)
        lines = _plan_lines(query.plan, stream, statement.format)
        lines += [] if statement.format == "SPARK" else _shared(context, stream, query.plan, query.id)
        return _plan([*lines, *(_why(context, stream, query) if statement.why else [])])
    assert statement.select is not None, statement  # of the two there is always one
    stream = source(context, statement.select)
    # A SELECT with a window may be meant for CREATE QUERY. Given alone, it differs only in where it starts; but some clauses
    # have a meaning there alone.
    plan = compile_select(statement.select, stream, continuous=statement.select.clauses.is_of_a_query)
    lines = _plan_lines(plan, stream, statement.format)
    return _plan(lines if statement.format == "SPARK" else lines + _shared(context, stream, plan))


def _plan_lines(plan: QueryPlan, stream: Stream, format_: str) -> list[str]:
    return spark_sql(plan, stream, stream.name).split("\n") if format_ == "SPARK" else explain_plan(plan, stream)


def _shared(context: Context, stream: Stream, plan: QueryPlan, own: str = "") -> list[str]:
    """Which queries keep the same cells, in a line; none if no other does."""
    others = [query.name for query in context.catalog.query_set(stream).running().values()
              if query.id != own and query.plan.aggregation.cells_name == plan.aggregation.cells_name]
    if not others:
        return []
    listed = ", ".join(sorted(others)[:SHARERS]) + (f" and {len(others) - SHARERS} more" if len(others) > SHARERS else "")
    return [f"{'shares':<{WIDTH}} its cells with {listed}: they are computed and kept once, where both have read as far"]


def _plan(lines: list[str]) -> Answer:
    return Answer("plan", table=listing({"plan": "STRING"}, [(line,) for line in lines]))


def _why(context: Context, stream: Stream, query: Query) -> list[str]:
    state = [f"state     {query.state}: {query.reason}"] if query.reason else [f"state     {query.state}"]
    try:
        snapshot = context.snapshots.read(stream, query)
    except CorruptFileError as error:
        return [*state, f"results   {error.title}: {error.hint}"]
    counted = ", ".join(f"{count} {name}" for name, count in snapshot.counters().items())
    trouble = status.no_room(context)
    state += [f"waits     {trouble}"] if trouble else []
    state += [f"rate      at most {query.plan.rate:,} tuples a second, as its RATE says"] if query.plan.rate else []
    lines = [*state, f"counted   {counted}"] + [f"bad       {n} {r}" for r, n in snapshot.bad_reasons().items()]
    if not any(part.results or part.results_index for part in snapshot.committed()):
        return [*lines, f"results   {why_empty(context.results, snapshot, Selection())}"]
    return [*lines, f"next      {what_it_waits_for(snapshot)}"] if query.state == RUNNING else lines


def _stream_facts(context: Context, stream: Stream) -> list[tuple[str, str]]:
    document = status.stream_document(stream, [q.name for q in context.catalog.query_set(stream).queries.values()])
    given = {name.upper(): value for name, value in stream.options.items() if value is not False}
    options = ", ".join(name if value is True else f"{name} {value!r}" for name, value in given.items())
    facts = [("stream", stream.name), ("topic", f"{stream.topic} (id {stream.topic_id})"),
             ("format", f"{stream.format} ({options})" if options else stream.format),
             ("event time", stream.event_time), ("key parts", str(stream.key_parts))]
    facts += [(f"column {c['name']}", c["type"] + (f" PATH '{c['path']}'" if "path" in c else ""))
              for c in document["columns"]]
    return [*facts, ("queries", ", ".join(document["queries"]) or "none"), ("sql", stream.sql)]


def _query_facts(context: Context, stream: Stream, query: Query) -> list[tuple[str, str]]:
    document = status.query_document(context, stream, query)
    facts = [(name, document[key]) for name, key in (("query", "name"), ("state", "state"), ("reason", "reason"))
             if document[key]]
    facts += [(line[:WIDTH].strip(), line[WIDTH:].strip()) for line in explain_plan(query.plan, stream)]
    facts += [("watermark now", document["watermark"] or "not known yet"), ("commit", _figure(document["commit"]))]
    lag = document["lag"]
    facts.append(("lag", f"{lag['tuples']} tuples" if lag else f"not known: {document['lag_unknown']}"))
    facts += [(name.replace("_", " "), _figure(count)) for name, count in document["counters"].items()]
    facts += [(f"bad: {reason}", str(count)) for reason, count in document["bad_reasons"].items()]
    return [*facts, ("sql", query.plan.sql)]


def _figure(number: int | None) -> str:
    return "not known" if number is None else str(number)


def _facts(name: str, facts: list[tuple[str, str]]) -> Answer:
    return Answer("rows", name, listing({"property": "STRING", "value": "STRING"}, facts))
