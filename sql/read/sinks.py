"""CREATE SINK, and INTO of CREATE QUERY.

    CREATE SINK name FROM query INTO target [WHERE condition] [FROM EARLIEST | LATEST | 't']
    target := POSTGRES connection TABLE 'schema.table'
            | KAFKA TOPIC 'topic' [AT connection] [KEY (column, ...)] [FORMAT JSON]

A condition is kept as text; sql.check.condition compiles it over the result's columns.
"""

from __future__ import annotations

from mars.errors import SqlError
from mars.model.connections import KAFKA, POSTGRES
from sql.read.clauses import read_start
from sql.read.reader import Reader
from sql.read.words import Word, read_words
from sql.refusals import not_supported, refusal_at
from sql.statements import CreateSink, IntoClause, Name

KINDS = (POSTGRES, KAFKA)
LATER = ("PARQUET", "ICEBERG", "WEBHOOK", "S3", "HTTP", "DELTA")
POSTGRES_HINT = "write INTO POSTGRES connection TABLE 'public.results'"
KAFKA_HINT = "write INTO KAFKA TOPIC 'results' KEY (page) FORMAT JSON"
STARTS = "FROM"


def read_create_sink(reader: Reader) -> CreateSink:
    """After CREATE SINK."""
    name = _name(reader.take_name("the sink"))
    reader.take("FROM", hint=f"write CREATE SINK {name.text} FROM query INTO ...")
    query = _name(reader.take_name("the query"))
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


def read_into(reader: Reader) -> IntoClause:
    """After INTO: the target."""
    first = reader.word
    if first.is_(*LATER):
        raise not_supported(reader.sql, first.start, first.end, f"INTO {first.value.upper()}",
                            "write INTO POSTGRES connection TABLE 'public.results', or INTO KAFKA TOPIC 'results'")
    kind = reader.take(*KINDS, hint=f"{POSTGRES_HINT}, or INTO KAFKA TOPIC 'results'").value.upper()
    target, connection, key = (_postgres if kind == POSTGRES else _kafka)(reader)
    last = reader.words[reader.position - 1]
    return IntoClause(kind, target, connection, key, reader.sql[first.start:last.end])


def parse_into(text: str) -> IntoClause:
    """The target of a text that stands alone, as in the body of a request."""
    reader = Reader(text, read_words(text))
    into = read_into(reader)
    reader.take_end()
    return into


def _postgres(reader: Reader) -> tuple[Name, Name, None]:
    connection = _name(reader.take_name("the connection"))
    reader.take("TABLE", hint=POSTGRES_HINT)
    return _name(reader.take_text("the table")), connection, None


def _kafka(reader: Reader) -> tuple[Name, Name | None, tuple[Name, ...] | None]:
    reader.take("TOPIC", hint=KAFKA_HINT)
    topic, connection, key, is_told = _name(reader.take_topic()), None, None, False
    while reader.word.is_("AT", "KEY", "FORMAT"):
        word = reader.advance()
        if word.is_("AT"):
            _once(reader, word, connection)
            connection = _name(reader.take_name("the connection"))
        elif word.is_("KEY"):
            _once(reader, word, key)
            key = _columns(reader)
        else:
            _once(reader, word, is_told or None)
            is_told = reader.take("JSON", hint="write FORMAT JSON") is not None
    return topic, connection, key


def _columns(reader: Reader) -> tuple[Name, ...]:
    reader.take("(", hint=KAFKA_HINT)
    columns = [_name(reader.take_name("a column of the result"))]
    while reader.accept(","):
        columns.append(_name(reader.take_name("a column of the result")))
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


def _name(word: Word) -> Name:
    return Name(word.value, word.start, word.end)
