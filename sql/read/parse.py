"""One statement's text to a Statement. Whether it is valid for a stream is checked later, in compile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mars.errors import SqlError
from sql.read import connections, create, letters, queries, sinks, workers
from sql.read.from_query import read_from_query, sources
from sql.read.reader import Reader, as_name
from sql.read.select import read_select
from sql.read.words import read_words, spans
from sql.refusals import did_you_mean, refusal, refusal_at
from sql.statements import (
    Describe,
    DropConnection,
    DropQuery,
    DropSink,
    DropStream,
    Explain,
    ExplainSink,
    Name,
    PauseQuery,
    PauseSink,
    Peek,
    ResumeQuery,
    ResumeSink,
    SelectFromQuery,
    SelectStatement,
    ShowConnections,
    ShowQueries,
    ShowSinks,
    ShowStreams,
    ShowWorkers,
    Statement,
)

Resolve = Callable[[str], str | None]
# Reading a longer statement would take seconds.
STATEMENT_MAX = 65_536


def parse(sql: str, resolve: Resolve | None = None) -> Statement:
    """The statement, with or without a semicolon at its end; SqlError for any other text.

    resolve: says whether a name is a 'stream', a 'query', that of 'late' tuples or neither (None); a SELECT over queries and
    late tuples alone is kept as text for the embedded engine. Without it every name counts as a stream.
    """
    refuse_unreadable(sql)
    try:
        return read_statement(sql, resolve or (lambda name: "stream"))
    except RecursionError:
        raise refusal(sql, 0, 1, "too deeply nested", "the statement has too many levels",
                      "use less nesting, with IN or AND") from None


def refuse_unreadable(sql: str) -> None:
    """Refuses a statement that is too long or has an invalid character, before any of it is parsed."""
    if len(sql) > STATEMENT_MAX:
        raise SqlError("the statement is too long", f"it has {len(sql):,} characters, and may have {STATEMENT_MAX:,}",
                       "put long lists of values into a stream of their own, or ask in parts")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise refusal(sql, error.start, error.end, "the statement has half of a character",
                      f"{sql[error.start]!a} is not a character by itself",
                      "send the text in UTF-8, or both halves of the character") from None


def split_statements(sql: str) -> list[str]:
    """The statements of a script, without their semicolons; semicolons in quotes and comments do not split, and a part
    without a word is left out."""
    parts, start, has_word = [], 0, False
    cuts = [(kind, begin, end) for kind, begin, end in spans(sql)] + [("semicolon", len(sql), len(sql))]
    reached = 0
    for kind, begin, end in cuts:
        has_word = has_word or kind in ("quoted", "open") or bool(sql[reached:begin].strip())
        reached = end
        if kind == "semicolon":
            if has_word:
                parts.append(sql[start:begin].strip())
            start, has_word = end, False
        elif kind == "open":
            parts.append(sql[start:].strip())
            return parts
    return parts


def read_statement(sql: str, resolve: Resolve) -> Statement:
    """Reads a statement according to its first word."""
    reader = Reader(sql, read_words(sql))
    if reader.word.kind == "end" or (reader.word.is_(";") and len(reader.words) == 2):
        raise refusal(sql, 0, 0, "the statement is empty", "there is no word in it",
                      "write SHOW STREAMS, or CREATE STREAM ...")
    first = reader.word
    if first.is_("SELECT", "WITH", "("):
        return read_rows(reader, resolve)
    keyword = first.value.upper() if first.kind == "name" else ""
    if keyword not in STATEMENTS:
        raise unknown_statement(reader)
    reader.advance()
    return STATEMENTS[keyword](reader)


def unknown_statement(reader: Reader) -> SqlError:
    """The refusal of a first word that begins no statement."""
    word = reader.word
    hints = {
        "INSERT": "tuples come from Kafka: produce to the stream's topic",
        "USE": "there is one namespace",
        "DELETE": "tuples lie in Kafka and are not changed",
        "UPDATE": "tuples lie in Kafka and are not changed",
    }
    known = [*STATEMENTS, "SELECT"]
    hint = hints.get(word.value.upper()) or did_you_mean(
        word.value, known, "a statement begins with " + ", ".join(known)
    )
    return refusal_at(reader.sql, word, f"no statement begins with {reader.shown()}", "", hint)


def read_rows(reader: Reader, resolve: Resolve) -> SelectStatement | SelectFromQuery:
    """A SELECT: over a stream, or over the results of queries."""
    sql = reader.sql
    kinds = [(word, resolve(word.value)) for word in sources(reader.words)]
    queries = [word for word, kind in kinds if kind in ("query", "late")]
    streams = [word for word, kind in kinds if kind == "stream"]
    if queries and streams:
        word = streams[0]
        raise refusal_at(sql, word, f"stream {word.value} cannot be joined with a query's results",
                      "a SELECT reads one stream, or the results of queries",
                      "make a query of the stream's part, and read both queries' results")
    if queries:
        return read_from_query(reader, queries)
    return read_select(sql, reader.words[reader.position:])


def read_create(reader: Reader) -> Statement:
    """CREATE STREAM | QUERY | SINK | CONNECTION."""
    if reader.accept("QUERY"):
        return queries.read_create_query(reader)
    if reader.accept("OR"):
        return queries.read_replace_query(reader)
    if reader.accept("SINK"):
        unless_there = queries.accept_unless_there(reader)
        return replace(sinks.read_create_sink(reader), unless_there=unless_there)
    if reader.accept("CONNECTION"):
        unless_there = queries.accept_unless_there(reader)
        return replace(connections.read_create_connection(reader), unless_there=unless_there)
    if reader.word.is_("TABLE", "VIEW", "SOURCE", "MATERIALIZED"):
        raise refusal_at(reader.sql, reader.word, f"there is no CREATE {reader.shown().upper()}", "",
                         "CREATE STREAM names a topic, CREATE QUERY starts a continuous query")
    reader.take("STREAM", "QUERY", "SINK", "CONNECTION")
    unless_there = queries.accept_unless_there(reader)
    return replace(create.read_create_stream(reader), unless_there=unless_there)


def refuse_if_exists(reader: Reader) -> None:
    """Refuses IF EXISTS and IF NOT EXISTS where the dialect does not have them."""
    following = reader.words[reader.position + 1:reader.position + 3]
    last = following[-1] if following and following[0].is_("NOT") else next(iter(following), reader.word)
    if reader.word.is_("IF") and last.is_("EXISTS"):
        words = "IF NOT EXISTS" if following[0].is_("NOT") else "IF EXISTS"
        raise refusal(reader.sql, reader.word.start, last.end, f"there is no {words} here",
                      "if the name already exists, or does not exist, an error says so",
                      "leave it out, and ignore that error: 409 or 404 over REST")


def read_drop(reader: Reader) -> Statement:
    """DROP STREAM | QUERY | SINK | CONNECTION [IF EXISTS] name."""
    kind = reader.take(*DROPS, hint="write DROP STREAM s, DROP QUERY q, DROP SINK s or DROP CONNECTION c").value.upper()
    if_there = queries.accept_if_there(reader)
    return DROPS[kind](read_last_name(reader, f"the {kind.lower()}"), if_there)


def read_pause(reader: Reader) -> Statement:
    """PAUSE QUERY | SINK name."""
    kind = reader.take("QUERY", "SINK", hint="write PAUSE QUERY q or PAUSE SINK s").value.upper()
    return PAUSES[kind](read_last_name(reader, f"the {kind.lower()}"))


def read_resume(reader: Reader) -> Statement:
    """RESUME QUERY | SINK name."""
    kind = reader.take("QUERY", "SINK", hint="write RESUME QUERY q or RESUME SINK s").value.upper()
    return RESUMES[kind](read_last_name(reader, f"the {kind.lower()}"))


def read_alter(reader: Reader) -> Statement:
    """ALTER QUERY | SINK name ... | ALTER WORKERS SET ..."""
    hint = "write ALTER QUERY q AS SELECT ..., ALTER SINK s REPLAY ..., or ALTER WORKERS SET MAPPERS n"
    word = reader.take("QUERY", "SINK", "WORKERS", hint=hint)
    if word.is_("QUERY"):
        return queries.read_alter_query(reader)
    if word.is_("WORKERS"):
        return workers.read_alter_workers(reader)
    return sinks.read_alter_sink(reader, read_name(reader, "the sink"))


def read_show(reader: Reader) -> Statement:
    """SHOW STREAMS | QUERIES | SINKS | CONNECTIONS | WORKERS | DEAD LETTERS ... | LATE FROM ..."""
    hint = ("write SHOW STREAMS, SHOW QUERIES, SHOW SINKS, SHOW CONNECTIONS, SHOW WORKERS, SHOW DEAD LETTERS FROM stream or "
            "SHOW LATE FROM name")
    kind = reader.take(*SHOWS, "DEAD", "LATE", hint=hint).value.upper()
    if kind in ("DEAD", "LATE"):
        return letters.read_show_letters(reader) if kind == "DEAD" else letters.read_show_late(reader)
    reader.take_end()
    return SHOWS[kind]()


def read_describe(reader: Reader) -> Statement:
    """DESCRIBE name."""
    following = reader.words[reader.position + 1] if reader.word.kind != "end" else reader.word
    if reader.word.is_("STREAM", "QUERY") and following.kind in ("name", "quoted"):
        reader.advance()
    return Describe(read_last_name(reader, "a stream or query"))


def read_peek(reader: Reader) -> Statement:
    """PEEK 'topic'."""
    topic = as_name(reader.take_topic())
    reader.take_end()
    return Peek(topic)


def read_explain(reader: Reader) -> Statement:
    """EXPLAIN [(FORMAT TEXT | SPARK)] SELECT ... | EXPLAIN QUERY name [WHY] | EXPLAIN SINK name [WHY]."""
    if reader.accept("SINK"):
        sink = read_name(reader, "the sink")
        reader.accept("WHY")
        reader.take_end()
        return ExplainSink(sink)
    format_ = "TEXT"
    if reader.accept("("):
        reader.take("FORMAT", hint="write EXPLAIN (FORMAT SPARK) SELECT ...")
        format_ = reader.take("TEXT", "SPARK").value.upper()
        reader.take(")")
    if reader.accept("QUERY"):
        query = read_name(reader, "the query")
        why = reader.accept("WHY") is not None
        reader.take_end()
        return Explain(format_, None, query, why)
    if not reader.word.is_("SELECT"):
        raise reader.expected(
            "SELECT or QUERY", "write EXPLAIN SELECT ... or EXPLAIN QUERY q", ("SELECT", "QUERY")
        )
    return Explain(format_, read_select(reader.sql, reader.words[reader.position:]), None)


def read_name(reader: Reader, what: str) -> Name:
    """A name with its place; IF EXISTS before it is refused by its own words."""
    refuse_if_exists(reader)
    return as_name(reader.take_name(what))


def read_last_name(reader: Reader, what: str) -> Name:
    """A name, after which the statement ends."""
    name = read_name(reader, what)
    reader.take_end()
    return name


DROPS: dict[str, Callable[[Name, bool], Statement]] = {
    "STREAM": DropStream, "QUERY": DropQuery, "SINK": DropSink, "CONNECTION": DropConnection}
PAUSES: dict[str, Callable[[Name], Statement]] = {"QUERY": PauseQuery, "SINK": PauseSink}
RESUMES: dict[str, Callable[[Name], Statement]] = {"QUERY": ResumeQuery, "SINK": ResumeSink}
SHOWS: dict[str, Callable[[], Statement]] = {
    "STREAMS": ShowStreams, "QUERIES": ShowQueries, "SINKS": ShowSinks, "CONNECTIONS": ShowConnections,
    "WORKERS": ShowWorkers}
STATEMENTS = {
    "CREATE": read_create,
    "DROP": read_drop,
    "PAUSE": read_pause,
    "RESUME": read_resume,
    "ALTER": read_alter,
    "SHOW": read_show,
    "REDRIVE": letters.read_redrive,
    "DESCRIBE": read_describe,
    "DESC": read_describe,
    "PEEK": read_peek,
    "EXPLAIN": read_explain,
}
