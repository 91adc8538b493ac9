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
    return _as_dialect_types(relation.to_arrow_table())


def _without_zone(table: pa.Table) -> pa.Table:
    """Instants as plain UTC timestamps, because time zones would need an extension."""
    fields = [field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
              for field in table.schema]
    return table.cast(pa.schema(fields))


def _as_dialect_types(table: pa.Table) -> pa.Table:
    """The columns in types that the dialect has: what it does not know becomes text, counts stay whole numbers."""
    columns = [_as_dialect_type(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _as_dialect_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = column.type
    if pa.types.is_timestamp(type_):
        return column.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    if pa.types.is_decimal(type_) and type_.scale == 0 and type_.precision == 38:
        return _whole_numbers(column)
    if pa.types.is_integer(type_):
        return column.cast(pa.int64()) if type_ != pa.int32() else column
    if pa.types.is_nested(type_) or pa.types.is_binary(type_) or pa.types.is_interval(type_) or pa.types.is_time(type_):
        return pa.chunked_array([pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())])
    return column.cast(pa.string()) if pa.types.is_large_string(type_) else column


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """DuckDB sums BIGINT as a 128-bit integer; as BIGINT again where it fits."""
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        return column


def _refusal(sql: str, error: duckdb.Error) -> SqlError:
    """The engine's message with the place that it names."""
    text = str(error)
    kind, _, message = _first_line(error).partition(": ")
    line, column, length = _place(sql, text)
    meant = re.search(r"(?:Did you mean|Candidate bindings:|Candidate functions:) (.+)", text)
    hint = f"did you mean {meant[1].strip('?')}?" if meant else "DESCRIBE the query for its columns"
    return SqlError("the embedded engine refuses the statement", message or kind, hint, sql=sql,
                    line=line, column=column, length=length)


def _place(sql: str, text: str) -> tuple[int, int, int]:
    """Line, column and length of what the engine's message is about; zeros if it does not say."""
    marked = re.search(r"LINE (\d+): (.*)\n( *)\^", text)
    if marked:
        return int(marked[1]), _column(sql, marked), 1
    named = re.search(r'(?:column|name|alias) "?([^\s"!]+)"?', text)
    found = named and re.search(rf"(?<!\w){re.escape(named[1])}(?!\w)", sql, re.IGNORECASE)
    if not found:
        return 0, 0, 0
    return sql.count("\n", 0, found.start()) + 1, found.start() - sql.rfind("\n", 0, found.start()), len(named[1])


def _column(sql: str, place: re.Match) -> int:
    """The column in the user's line; the engine's excerpt of a long line begins with dots."""
    lead = 3 if place[2].startswith("...") else 0
    shift = sql.split("\n")[int(place[1]) - 1].find(place[2][lead:].removesuffix("..."))
    return max(1, len(place[3]) - len(f"LINE {place[1]}: ") - lead + max(shift, 0) + 1)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
