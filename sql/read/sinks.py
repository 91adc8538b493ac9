"""CREATE SINK, ALTER SINK, and INTO of CREATE QUERY.

    CREATE SINK name FROM query INTO target [WHERE condition] [FROM EARLIEST | LATEST | 't']
    ALTER SINK name REPLAY FROM EARLIEST | 't'
    target := POSTGRES connection TABLE 'schema.table'
            | KAFKA TOPIC 'topic' [AT connection] [KEY (column, ...)] [FORMAT JSON]
            | ICEBERG connection TABLE 'namespace.table' [pace]
            | PARQUET 'folder' [AT connection] [pace]
            | WEBHOOK connection
    pace := EVERY duration [OR n MB]

A condition is kept as text; sql.check.condition compiles it over the result's columns.
"""

from __future__ import annotations

from dataclasses import replace

from mars.errors import SqlError
from mars.model.connections import ICEBERG, KAFKA, POSTGRES
from mars.model.sinks import MIB, PARQUET, WEBHOOK
from sql.read.clauses import read_start
from sql.read.reader import Reader, as_name
from sql.read.words import Word, read_words
from sql.refusals import not_supported, refusal_at
from sql.statements import CreateSink, IntoClause, Name, ReplaySink

LATER = ("S3", "HTTP", "DELTA")
POSTGRES_HINT = "write INTO POSTGRES connection TABLE 'public.results'"
KAFKA_HINT = "write INTO KAFKA TOPIC 'results' KEY (page) FORMAT JSON"
PARQUET_HINT = "write INTO PARQUET '/data/results' EVERY 60 s OR 128 MB"
S3_HINT = "write INTO PARQUET 's3://bucket/results' AT connection, of which CREATE CONNECTION c TO S3 makes one"
ICEBERG_HINT = "write INTO ICEBERG connection TABLE 'stats.results' EVERY 60 s OR 128 MB"
PACE_MS, PACE_MB, PACE_MB_MAX = 60_000, 128, 1024
STARTS = "FROM"


def read_create_sink(reader: Reader) -> CreateSink:
    """After CREATE SINK."""
    name = as_name(reader.take_name("the sink"))
    reader.take("FROM", hint=f"write CREATE SINK {name.text} FROM query INTO ...")
    query = as_name(reader.take_name("the query"))
    reader.take("INTO", hint=POSTGRES_HINT)
    into = read_into(reader)
    where, start = None, None
    while reader.word.is_("WHERE", STARTS):
        word = reader.advance()
        if word.is_("WHERE"):
            _once(reader, word, where)
            where = _condition(reader, word)
        else:
            _once(reader, word, start)
            start = read_start(reader, word)["start"]
    reader.take_end()
    return CreateSink(name, query, into, where, start or "EARLIEST", reader.sql)


def read_alter_sink(reader: Reader, name: Name) -> ReplaySink:
    """After ALTER SINK name: REPLAY FROM EARLIEST | 't'."""
    hint = f"write ALTER SINK {name.text} REPLAY FROM '2026-01-31T12:00:00Z'"
    reader.take("REPLAY", hint=hint)
    word = reader.take("FROM", hint=hint)
    if reader.word.is_("LATEST"):
        raise refusal_at(reader.sql, reader.word, "a replay cannot begin with the latest window",
                         "it delivers windows again that are closed", "write FROM EARLIEST, or FROM and a time")
    start = read_start(reader, word)["start"]
    reader.take_end()
    return ReplaySink(name, start)


def read_into(reader: Reader) -> IntoClause:
    """After INTO: the target."""
    first = reader.word
    if first.is_(*LATER):
        raise not_supported(reader.sql, first.start, first.end, f"INTO {first.value.upper()}",
                            "write INTO POSTGRES connection TABLE 'public.results', or INTO KAFKA TOPIC 'results'")
    kind = reader.take(*READERS, hint=f"{POSTGRES_HINT}, or INTO KAFKA TOPIC 'results'").value.upper()
    into = READERS[kind](reader)
    return replace(into, sql=reader.sql[first.start:reader.words[reader.position - 1].end])


def parse_into(text: str) -> IntoClause:
    """The target of a text that stands alone, as in the body of a request."""
    reader = Reader(text, read_words(text))
    into = read_into(reader)
    reader.take_end()
    return into


def _postgres(reader: Reader) -> IntoClause:
    connection = as_name(reader.take_name("the connection"))
    reader.take("TABLE", hint=POSTGRES_HINT)
    return IntoClause(POSTGRES, as_name(reader.take_text("the table")), connection)


def _webhook(reader: Reader) -> IntoClause:
    connection = as_name(reader.take_name("the connection"))
    return IntoClause(WEBHOOK, connection, connection)


def _iceberg(reader: Reader) -> IntoClause:
    connection = as_name(reader.take_name("the connection"))
    reader.take("TABLE", hint=ICEBERG_HINT)
    table = as_name(reader.take_text("the table"))
    every_ms, bytes_max = _pace(reader, ICEBERG_HINT)
    return IntoClause(ICEBERG, table, connection, every_ms=every_ms, bytes_max=bytes_max)


def _parquet(reader: Reader) -> IntoClause:
    word = reader.word
    folder, connection = as_name(reader.take_text("the folder")), None
    if reader.accept("AT"):
        connection = as_name(reader.take_name("the connection"))
    if (connection is not None) != folder.text.startswith("s3://"):
        raise refusal_at(reader.sql, word, "AT and the folder do not fit", "a folder in S3 needs a connection, and any "
                         "other has none", S3_HINT)
    every_ms, bytes_max = _pace(reader, PARQUET_HINT)
    return IntoClause(PARQUET, folder, connection, every_ms=every_ms, bytes_max=bytes_max)


def _pace(reader: Reader, hint: str) -> tuple[int, int]:
    """EVERY duration [OR n MB]: how long and how much is held, in ms and bytes."""
    every_ms, size_mb = PACE_MS, PACE_MB
    if reader.accept("EVERY"):
        every_ms = reader.take_duration("EVERY")
        if reader.accept("OR"):
            word = reader.advance()
            size_mb = int(word.value) if word.kind == "number" and word.value.isdigit() else 0
            if not 1 <= size_mb <= PACE_MB_MAX:
                raise refusal_at(reader.sql, word, f"this is no size from 1 to {PACE_MB_MAX} MB", "rows wait in memory "
                                 "until they are written", hint)
            reader.take("MB", hint=hint)
    return every_ms, size_mb * MIB


def _kafka(reader: Reader) -> IntoClause:
    reader.take("TOPIC", hint=KAFKA_HINT)
    topic, connection, key, is_told = as_name(reader.take_topic()), None, None, False
    while reader.word.is_("AT", "KEY", "FORMAT"):
        word = reader.advance()
        if word.is_("AT"):
            _once(reader, word, connection)
            connection = as_name(reader.take_name("the connection"))
        elif word.is_("KEY"):
            _once(reader, word, key)
            key = _columns(reader)
        else:
            _once(reader, word, is_told or None)
            is_told = reader.take("JSON", hint="write FORMAT JSON") is not None
    return IntoClause(KAFKA, topic, connection, key)


def _columns(reader: Reader) -> tuple[Name, ...]:
    reader.take("(", hint=KAFKA_HINT)
    columns = [as_name(reader.take_name("a column of the result"))]
    while reader.accept(","):
        columns.append(as_name(reader.take_name("a column of the result")))
    reader.take(")", hint=KAFKA_HINT)
    return tuple(columns)


def _condition(reader: Reader, where: Word) -> Name:
    """All that stands before the clause FROM or the end, with its place."""
    first = last = reader.word
    depth = 0
    while reader.word.kind != "end" and not reader.word.is_(";"):
        if depth == 0 and reader.word.is_(STARTS) and not last.is_("DISTINCT"):
            break
        depth += reader.word.is_("(") - reader.word.is_(")")
        last = reader.advance()
    if reader.word is first:
        raise refusal_at(reader.sql, where, "WHERE needs a condition", "there is none after it", "write WHERE count > 10")
    return Name(reader.sql[first.start:last.end], first.start, last.end)


def _once(reader: Reader, word: Word, known: object) -> None:
    if known is not None:
        raise _twice(reader, word)


def _twice(reader: Reader, word: Word) -> SqlError:
    keyword = word.value.upper()
    return refusal_at(reader.sql, word, f"{keyword} stands twice", "each clause stands once", f"remove one {keyword}")


READERS = {POSTGRES: _postgres, KAFKA: _kafka, ICEBERG: _iceberg, PARQUET: _parquet, WEBHOOK: _webhook}
