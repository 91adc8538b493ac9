"""The embedded SQL engine (DuckDB) over Arrow tables in memory: no file, no network, no settings, one SELECT at a time."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mars.errors import SqlError

SETTINGS = {
    "enable_external_access": "false", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "allow_community_extensions": "false", "python_enable_replacements": "false", "temp_directory": "",
    "memory_limit": "1GB", "threads": "2", "lock_configuration": "true",
}
# Types of the engine that the dialect has too, or whose values fit one that it has; values of all others become text.
KEPT = {"boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint", "hugeint",
        "float", "double", "decimal", "varchar", "date", "timestamp", "timestamp with time zone", "null"}
CONVERSIONS = ("Conversion Error", "Out of Range Error", "Invalid Input Error")
TIMEOUT_S = 30.0
ROWS_MAX = 10_000


class Engine:
    """One locked database; every statement runs on a connection of its own that sees only the tables given to it."""

    def __init__(self) -> None:
        self._database = duckdb.connect(":memory:", config=SETTINGS)
        self._lock = threading.Lock()

    def run(self, sql: str, tables: Mapping[str, pa.Table], rows_max: int | None = None,
            timeout_s: float = TIMEOUT_S) -> pa.Table:
        """The rows of a SELECT in DuckDB's dialect, at most `rows_max` of them. TIMESTAMP columns go in and come out as
        instants in UTC. SqlError for whatever the engine refuses."""
        with self._lock:
            connection = self._database.cursor()
        timer = threading.Timer(timeout_s, connection.interrupt)
        timer.start()
        try:
            for name, table in tables.items():
                connection.register(name, _without_zone(table))
            _require_select(connection, sql)
            return _fetch(connection, sql, rows_max)
        except duckdb.InterruptException:
            raise SqlError("the statement took too long", f"it was stopped after {timeout_s:g} s",
                           "narrow it by a condition on window_start", sql=sql) from None
        except duckdb.OutOfMemoryException as error:
            raise SqlError("the statement needs too much memory", _first_line(error),
                           "narrow it by a condition on window_start", sql=sql) from None
        except duckdb.Error as error:
            raise _refusal(sql, error) from None
        finally:
            timer.cancel()
            connection.close()


def _require_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SqlError("only one SELECT is allowed here", hint="write SELECT ... FROM the query", sql=sql)


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str, rows_max: int | None) -> pa.Table:
    relation = connection.sql(sql)
    if relation is None:
        raise SqlError("the statement gives no rows", hint="write SELECT ... FROM the query", sql=sql)
    if rows_max is not None:
        relation = relation.limit(rows_max)
    relation = _as_text(relation)
    return _as_dialect_types(relation.to_arrow_table(), [type_.id for type_ in relation.types])


def _as_text(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The relation with types that nobody else has as text, written by the engine: intervals, lists, times of day."""
    def column(place: int, type_: str) -> str:
        if type_ in KEPT:
            return f"#{place}"
        return f"CAST(#{place} AS {'TIMESTAMP' if type_.startswith('timestamp') else 'VARCHAR'})"

    types = [type_.id for type_ in relation.types]
    if KEPT.issuperset(types):
        return relation
    names = ['"' + name.replace('"', '""') + '"' for name in relation.columns]
    return relation.project(", ".join(f"{column(i, type_)} AS {name}"
                                      for i, (type_, name) in enumerate(zip(types, names, strict=True), 1)))


def _without_zone(table: pa.Table) -> pa.Table:
    """Instants as plain UTC timestamps, because time zones would need an extension."""
    fields = [field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
              for field in table.schema]
    return table.cast(pa.schema(fields))


def _as_dialect_types(table: pa.Table, kinds: list[str]) -> pa.Table:
    """The columns in types that the dialect has; counts stay whole numbers. `kinds` are the engine's own types, as Arrow has
    none for its 128-bit integers and gets them as decimals."""
    columns = [_as_dialect_type(column, kind) for column, kind in zip(table.columns, kinds, strict=True)]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _as_dialect_type(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    type_ = column.type
    if pa.types.is_timestamp(type_):
        return column.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    if kind == "hugeint":
        return _whole_numbers(column, type_)
    if pa.types.is_integer(type_) and type_ != pa.int32():
        return _whole_numbers(column, pa.decimal128(20, 0))
    return column.cast(pa.string()) if pa.types.is_large_string(type_) else column


def _whole_numbers(column: pa.ChunkedArray, wider: pa.DataType) -> pa.ChunkedArray:
    """As BIGINT, else in the wider type: DuckDB sums BIGINT as a 128-bit integer."""
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        return column.cast(wider)


def _refusal(sql: str, error: duckdb.Error) -> SqlError:
    """The engine's message with the place that it names."""
    text = str(error)
    kind, _, message = _first_line(error).partition(": ")
    line, column, length = _place(sql, text)
    meant = re.search(r"(?:Did you mean|Candidate bindings:|Candidate functions:) (.+)", text)
    hint = "DESCRIBE the query for its columns"
    if meant:
        hint = f"did you mean {meant[1].strip('?')}?"
    elif kind in CONVERSIONS:
        hint = "try_cast(x AS type) gives NULL for what does not fit"
    return SqlError("the embedded engine refuses the statement", message or kind, hint, sql=sql,
                    line=line, column=column, length=length)


def _place(sql: str, text: str) -> tuple[int, int, int]:
    """Line, column and length of what the engine's message is about; zeros if it does not say."""
    marked = re.search(r"LINE (\d+): (.*)\n( *)\^", text)
    if marked and (place := _marked(sql, int(marked[1]), marked[2], len(marked[3]) - len(f"LINE {marked[1]}: "))):
        return place
    named = re.search(r'(?:column|name|alias) "?([^\s"!]+)"?', text)
    found = named and re.search(rf"(?<!\w){re.escape(named[1])}(?!\w)", sql, re.IGNORECASE)
    if not found:
        return 0, 0, 0
    return sql.count("\n", 0, found.start()) + 1, found.start() - sql.rfind("\n", 0, found.start()), len(named[1])


def _marked(sql: str, number: int, excerpt: str, at: int) -> tuple[int, int, int] | None:
    """The place of an excerpt's character in the user's lines, if it is of one: the engine counts lines of its own before
    them, and cuts long ones at both ends."""
    lead = 3 if excerpt.startswith("...") else 0
    shown = excerpt[lead:].removesuffix("...")
    lines = sql.split("\n")
    for place in range(min(number, len(lines)) - 1, -1, -1):
        shift = lines[place].find(shown)
        if shift >= 0:
            return place + 1, max(1, at - lead + shift + 1), 1
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
