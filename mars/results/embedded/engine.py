"""The embedded SQL engine (DuckDB). It reads Arrow tables in memory, and results piece by piece. It has no files, no
network, no settings, and runs one SELECT at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mars.errors import SqlError
from mars.model.free_names import FreeNames
from mars.results.embedded.refusal import refused
from mars.results.embedded.scan import Closed, Scan, without_zone
from mars.results.embedded.watch import Limits, Watch

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "allow_community_extensions": "false", "python_enable_replacements": "false", "temp_directory": "",
    "memory_limit": "1GB", "threads": "2", "lock_configuration": "true",
}
# Types of the engine that the dialect has too, or whose values fit a type of the dialect. Values of all other types
# become text.
KEPT = {"boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint", "hugeint",
        "float", "double", "decimal", "varchar", "date", "timestamp", "timestamp with time zone", "null"}
BATCH_ROWS = 2_048
PLACES = 8


class Engine:
    """One locked database; every statement runs on a connection of its own that sees only the tables given to it. A
    statement that reads whole results takes one of `places` meanwhile."""

    def __init__(self) -> None:
        self._database = duckdb.connect(":memory:", config=SETTINGS)
        self._lock = threading.Lock()
        self.places = threading.Semaphore(PLACES)

    def run(self, sql: str, tables: Mapping[str, pa.Table | Closed], limits: Limits | None = None) -> pa.Table:
        """The rows of a SELECT in DuckDB's dialect. TIMESTAMP columns go in and come out as instants in UTC. SqlError for
        whatever the engine refuses, and for an answer beyond the limits. Beyond the limit of rows, only the first rows
        are returned. An error that reading a table raises is passed on unchanged."""
        limits = limits or Limits()
        with self._lock:
            connection = self._database.cursor()
        scans: list[Scan] = []
        try:
            with Watch(connection, limits) as watch:
                try:
                    for name, table in tables.items():
                        if isinstance(table, Closed):
                            scans.append(table := Scan(table, watch.check))
                        else:
                            table = table.cast(without_zone(table.schema))
                        connection.register(name, table)
                    _require_select(connection, sql)
                    return _fetch(connection, sql, limits)
                except (duckdb.Error, OSError) as error:
                    if watch.why:
                        raise watch.error(sql) from None
                    raise next((scan.failure for scan in scans if scan.failure), refused(sql, error)) from None
        finally:
            connection.close()


def _require_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SqlError("only one SELECT is allowed here", hint="write SELECT ... FROM the query", sql=sql)


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str, limits: Limits) -> pa.Table:
    relation = connection.sql(sql)
    if relation is None:
        raise SqlError("the statement gives no rows", hint="write SELECT ... FROM the query", sql=sql)
    if limits.rows_max is not None:
        relation = relation.limit(limits.rows_max)
    relation = _as_text(relation)
    with relation.to_arrow_reader(BATCH_ROWS) as reader:
        return _as_dialect_types(_read(reader, sql, limits.bytes_max), [type_.id for type_ in relation.types])


def _read(reader: pa.RecordBatchReader, sql: str, bytes_max: int | None) -> pa.Table:
    """All rows of an answer; the engine computes them only while they are read."""
    batches, bytes_ = [], 0
    for batch in reader:
        batches.append(batch)
        bytes_ += batch.nbytes
        if bytes_max is not None and bytes_ > bytes_max:
            raise SqlError("the answer is too large",
                           f"it may have {bytes_max >> 20} MiB; its first {sum(map(len, batches)):,} rows already have more",
                           "give it a smaller LIMIT or fewer columns, or read /v1/queries/{name}/results?from= page by page",
                           sql=sql)
    return pa.Table.from_batches(batches, reader.schema)


def _as_text(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The relation, with types that only the engine has turned into text by the engine: intervals, lists, times of
    day."""
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


def _as_dialect_types(table: pa.Table, kinds: list[str]) -> pa.Table:
    """The columns in types that the dialect has, each under a unique name; counts stay whole numbers. `kinds` are the
    engine's own types: Arrow has no 128-bit integers and gets them as decimals."""
    columns = [_as_dialect_type(column, kind) for column, kind in zip(table.columns, kinds, strict=True)]
    free = FreeNames()
    return pa.Table.from_arrays(columns, names=[free.take(name) for name in table.column_names])


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
    """As BIGINT if the values fit, else in the wider type: DuckDB sums BIGINT as a 128-bit integer."""
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        return column.cast(wider)
