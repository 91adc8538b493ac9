"""CREATE STREAM: its grammar and its checks.

    CREATE STREAM s (col TYPE [PATH 'a.b'], ...) FROM KAFKA 'topic' FORMAT CSV | JSON [(option, ...)]
    TIMESTAMP col [UNIT s | ms | us | ns]
"""

from __future__ import annotations

from mars.errors import SqlError
from mars.model import types
from mars.model.plan import UNITS_PER_SECOND, Stream, StreamColumn
from sql.read.reader import Reader, as_name
from sql.refusals import did_you_mean, no_type, refusal_at
from sql.statements import ColumnDefinition, CreateStream, Name

RESERVED = ("window_start", "window_end")
TYPES = (
    "BOOLEAN",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "STRING",
    "DATE",
    "TIMESTAMP",
    *types.ALIASES,
)
TYPE_LIST = "the types are BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), STRING, DATE, TIMESTAMP"
DEFAULTS = {"delimiter": ",", "quote": '"', "null": "", "strict": False}


def read_create_stream(reader: Reader) -> CreateStream:
    """Reads on after CREATE STREAM."""
    name = as_name(reader.take_name("the stream"))
    reader.take(
        "(", hint="write CREATE STREAM s (column TYPE, ...) FROM KAFKA 'topic' FORMAT CSV TIMESTAMP column"
    )
    columns = [read_column(reader)]
    while reader.accept(","):
        columns.append(read_column(reader))
    reader.take(")", hint="columns are separated by commas: (a INT, b STRING)")
    reader.take("FROM")
    reader.take("KAFKA", hint="write FROM KAFKA 'topic'")
    topic = as_name(reader.take_text("the topic"))
    reader.take("FORMAT", hint="write FORMAT CSV or FORMAT JSON")
    format_ = as_name(reader.take("CSV", "JSON"))
    options = read_options(reader) if reader.accept("(") else ()
    reader.take("TIMESTAMP", hint="name the event-time column: TIMESTAMP column UNIT ms")
    time_column = as_name(reader.take_name("the event-time column"))
    unit = as_name(reader.take(*(u.upper() for u in UNITS_PER_SECOND))) if reader.accept("UNIT") else None
    reader.take_end()
    return CreateStream(name, tuple(columns), topic, format_, options, time_column, unit, reader.sql)


def read_column(reader: Reader) -> ColumnDefinition:
    """`name TYPE [PATH 'a.b']`."""
    name = as_name(reader.take_name("a column"))
    first = last = reader.take_name(f"the type of {name.text}")
    if reader.accept("("):
        while reader.word.kind == "number" or reader.word.is_(","):
            reader.advance()
        last = reader.take(")", hint="write DECIMAL(10, 2)")
    type_ = Name(reader.sql[first.start:last.end], first.start, last.end)
    path = as_name(reader.take_text("the path")) if reader.accept("PATH") else None
    return ColumnDefinition(name, type_, path)


def read_options(reader: Reader) -> tuple[tuple[Name, Name], ...]:
    """`DELIMITER ',', QUOTE '"', NULL '', STRICT)`, after the opening parenthesis."""
    options = []
    while True:
        option = as_name(reader.take("DELIMITER", "QUOTE", "NULL", "STRICT"))
        strict = option.text.upper() == "STRICT"
        options.append(
            (option, Name("") if strict else as_name(reader.take_text(f"the value of {option.text.upper()}")))
        )
        if not reader.accept(","):
            reader.take(")", hint="options are separated by commas")
            return tuple(options)


def compile_stream(create: CreateStream) -> Stream:
    """The stream that the statement describes, with id 0 and no topic id. It gets these when it is registered."""
    columns = compile_columns(create)
    if not create.topic.text:
        raise at(create, create.topic, "the topic has no name", "", "write FROM KAFKA 'topic'")
    format_ = create.format.text.upper()
    by_lower = {c.name.lower(): c for c in columns}
    time_column = by_lower.get(create.time_column.text.lower())
    if time_column is None:
        raise at(
            create,
            create.time_column,
            f"unknown column {create.time_column.text}",
            "the event-time column must be one of the columns",
            did_you_mean(
                create.time_column.text, (c.name for c in columns), "declare it: (time BIGINT, ...)"
            ),
        )
    return Stream(name=create.name.text, id=0, topic=create.topic.text, topic_id="", columns=columns,
                  format=format_, time_column=time_column.name, time_unit=compile_unit(create, time_column),
                  options=compile_options(create) if format_ == "CSV" else refuse_options(create),
                  sql=create.sql)


def compile_columns(create: CreateStream) -> tuple[StreamColumn, ...]:
    """The declared columns: known types, different names, paths in JSON alone."""
    columns: dict[str, StreamColumn] = {}
    for definition in create.columns:
        name, type_ = definition.name, types.normalize(definition.type.text)
        if name.text.lower() in columns:
            raise at(create, name, f"column {name.text} is declared twice", "names are case-insensitive",
                     "rename one of them")
        if name.text.lower() in RESERVED:
            raise at(
                create,
                name,
                f"{name.text} is reserved",
                "every result has a column of this name",
                f"call it {name.text}_ and read it with PATH"
                if create.format.text.upper() == "JSON"
                else "rename it",
            )
        if type_ is None:
            word = definition.type.text.split("(")[0].strip()
            raise at(create, definition.type, *no_type(definition.type.text, type_hint(word), TYPE_LIST))
        if definition.path and create.format.text.upper() != "JSON":
            raise at(create, definition.path, "PATH is for JSON", "columns of CSV are read by their position",
                     "remove PATH")
        if definition.path and not all(definition.path.text.split(".")):
            raise at(create, definition.path, "the path has an empty part", "", "write PATH 'a.b'")
        columns[name.text.lower()] = StreamColumn(
            name.text, type_, definition.path.text if definition.path else None
        )
    return tuple(columns.values())


def type_hint(word: str) -> str:
    """What to write instead of a type that does not exist."""
    usual = {
        "VARCHAR": "STRING",
        "CHAR": "STRING",
        "TINYINT": "INT",
        "SMALLINT": "INT",
        "REAL": "FLOAT",
        "DATETIME": "TIMESTAMP",
        "TIMESTAMP_NTZ": "TIMESTAMP",
        "UUID": "STRING",
    }
    instead = usual.get(word.upper())
    return f"write {instead}" if instead else did_you_mean(word, TYPES, "write one of these types")


def compile_unit(create: CreateStream, column: StreamColumn) -> str:
    """The unit of the event time: as declared for integers, microseconds for TIMESTAMP and STRING."""
    if column.type in ("TIMESTAMP", "STRING"):
        if create.unit:
            raise at(create, create.unit, f"UNIT does not go with {column.type}",
                     "a TIMESTAMP or STRING is read as ISO 8601", "remove UNIT, or declare the column BIGINT")
        return "us"
    if column.type not in types.INTEGERS:
        raise at(create, create.time_column, f"{column.type} cannot be an event time",
                 "an event time is INT, BIGINT, TIMESTAMP or STRING in ISO 8601",
                 f"declare {column.name} BIGINT")
    return create.unit.text.lower() if create.unit else "ms"


def compile_options(create: CreateStream) -> dict:
    """The options of CSV, with the defaults of those that were not written."""
    options = dict(DEFAULTS)
    seen: set[str] = set()
    for option, value in create.options:
        key = option.text.lower()
        if key in seen:
            raise at(create, option, f"{option.text.upper()} is given twice", "", "remove one")
        seen.add(key)
        plain = len(value.text) == 1 and value.text.isascii() and value.text not in "\r\n\0"
        if key in ("delimiter", "quote") and not plain:
            raise at(create, value, f"{option.text.upper()} must be one character",
                     "one ASCII character, no end of line", f"write {option.text.upper()} '{DEFAULTS[key]}'")
        if key == "null" and create.sql[value.start:value.end] == r"'\N'":
            raise at(create, value, r"NULL '\N' is read as N", "a backslash escapes the character after it",
                     r"write NULL '\\N'")
        options[key] = True if key == "strict" else value.text
    if options["delimiter"] == options["quote"]:
        raise at(
            create, create.options[0][0], "DELIMITER and QUOTE are the same", "", "choose two characters"
        )
    return options


def refuse_options(create: CreateStream) -> dict:
    """JSON has no options."""
    if create.options:
        option = create.options[0][0]
        raise at(
            create, option, f"{option.text.upper()} is not an option of JSON", "JSON has no options", "remove it"
        )
    return {}


def at(create: CreateStream, name: Name, title: str, detail: str, hint: str) -> SqlError:
    """The refusal at a name of the statement."""
    return refusal_at(create.sql, name, title, detail, hint)
