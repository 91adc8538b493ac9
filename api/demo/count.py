"""An independent count over lines of text, by DuckDB: what the demo compares the results of the user's own
data with."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from api.demo.check import Bounds, Counted
from mars.model.plan import UNITS_PER_SECOND
from mars.model.types import to_arrow

WINDOWS_S = (1, 10, 60, 600, 3_600, 86_400)
WATERMARK_S = 5
FUTURE_S = 300
KEY_VALUES_MAX = 10_000
CALENDAR_US = (-62_104_060_800_000_000, 253_370_764_800_000_000)  # the years 2 to 9998, beyond which no event time reads
# Our own columns beside those of the lines, under names that those do not have.
FILE, LINE, US, OBJECT = '"mars file"', '"mars line"', '"mars us"', '"mars object"'


@dataclass(frozen=True)
class Shape:
    """How the lines of a stream are read. `columns` maps each name to (type, JSON path)."""

    format: str
    delimiter: str
    columns: dict[str, tuple[str, str]]
    time_column: str
    time_unit: str

    @staticmethod
    def of(document: dict) -> Shape:
        """The shape of a stream as the API shows it."""
        columns = {c["name"]: (c["type"], c.get("path") or c["name"]) for c in document["columns"]}
        return Shape(document["format"], document["options"].get("delimiter", ","), columns, document["time_column"],
                     document["time_unit"])


class TextCount:
    """Lines read as text by another engine than Mars's own; each file has those of one partition, in their order. Chooses on
    the way a key, a window that gives some ten windows, and a watermark that covers the disorder of the lines."""

    def __init__(self, files: Sequence[Path], header: bool, shape: Shape) -> None:
        self.shape = shape
        self.db = duckdb.connect(config={"threads": 2})
        self.db.execute("SET TimeZone = 'UTC'")
        self._read("lines", files, header)
        low, high, disorder = self._one(
            f"SELECT min({US}), max({US}), max(seen - {US}) FROM "
            f"(SELECT {US}, max({US}) OVER (PARTITION BY {FILE} ORDER BY {LINE}) AS seen FROM lines)")
        span_s = ((high or 0) - (low or 0)) / 1e6
        self.window_s = max((size for size in WINDOWS_S if span_s / size >= 10), default=1)
        self.disorder_s = max(WATERMARK_S, -(-(disorder or 0) // 1_000_000))
        self.key = self._choose_key()

    def counted(self, lines: Bounds) -> Counted:
        """Counts by window_start and key of the tuples that read and do not lie in the future; `lines` says how many lines
        there are."""
        return self._counted("lines", lines)

    def further(self, files: Sequence[Path], lines: Bounds) -> Counted:
        """The same of further lines."""
        self._read("further", files, False)
        return self._counted("further", lines)

    def _counted(self, name: str, lines: Bounds) -> Counted:
        if self.shape.format != "JSON":
            return Counted(self._counts(name), lines)
        rows, objects = self._one(f"SELECT count(*), count(*) FILTER ({OBJECT}) FROM {name}")
        # What is no object may be any number of tuples that do not read.
        return Counted(self._counts(name), Bounds(objects, rows if rows == objects else math.inf))

    def _read(self, name: str, files: Sequence[Path], header: bool) -> None:
        parts = [f"SELECT {number} AS {FILE}, row_number() OVER () AS {LINE}, {self._time()} AS {US}, * FROM "
                 f"({self._source(path, header)})" for number, path in enumerate(files)]
        self.db.execute(f"CREATE OR REPLACE TABLE {name} AS {' UNION ALL '.join(parts)}")

    def _counts(self, name: str) -> pa.Table:
        size = self.window_s * 1_000_000
        where = [f"{US} <= {int((time.time() + FUTURE_S) * 1e6)}"]
        columns = [f"{US} - (({US} % {size}) + {size}) % {size} AS window_start"]  # DuckDB divides towards zero
        if self.key:
            value = _cast(_quoted(self.key), self.shape.columns[self.key][0])
            columns.append(f"{value} AS {_quoted(self.key)}")
            where.append(f"({_quoted(self.key)} IS NULL OR {value} IS NOT NULL)")
        found = self.db.sql(f"SELECT {', '.join(columns)}, count(*) AS count FROM {name} "
                            f"WHERE {' AND '.join(where)} GROUP BY ALL").to_arrow_table()
        types = [pa.timestamp("us", "UTC"), *([to_arrow(self.shape.columns[self.key][0])] if self.key else [])]
        return pa.table({name: found[name].cast(type_) for name, type_ in
                         zip(found.column_names, [*types, pa.int64()], strict=True)})

    def _source(self, path: Path, header: bool) -> str:
        """SQL for the lines with each column as text."""
        file = "'" + str(path).replace("'", "''") + "'"
        if self.shape.format == "JSON":
            fields = [f"json ->> '{_json_path(path)}' AS {_quoted(name)}"
                      for name, (_, path) in self.shape.columns.items()]
            tuples = "CASE WHEN json_type(json) = 'ARRAY' THEN json_extract(json, '$[*]') ELSE [json] END"
            return (f"SELECT coalesce(json_type(json) = 'OBJECT', false) AS {OBJECT}, {', '.join(fields)} FROM "
                    f"(SELECT unnest({tuples}) AS json FROM read_ndjson_objects({file}, ignore_errors = true))")
        names = ", ".join("'" + name.replace("'", "''") + "': 'VARCHAR'" for name in self.shape.columns)
        delimiter = self.shape.delimiter.replace("'", "''")
        return (f"SELECT * FROM read_csv({file}, delim = '{delimiter}', header = {header}, columns = {{{names}}}, "
                "quote = '\"', escape = '\"', null_padding = true, ignore_errors = true, strict_mode = false, "
                "allow_quoted_nulls = false, auto_detect = false, parallel = false)")

    def _one(self, sql: str) -> tuple:
        return self.db.execute(sql).fetchall()[0]

    def _time(self) -> str:
        """SQL for the event time in microseconds, NULL where it does not read."""
        return f"CASE WHEN {(us := self._us())} BETWEEN {CALENDAR_US[0]} AND {CALENDAR_US[1]} THEN {us} END"

    def _us(self) -> str:
        column = _quoted(self.shape.time_column)
        if self.shape.columns[self.shape.time_column][0] in ("INT", "BIGINT"):
            units = UNITS_PER_SECOND[self.shape.time_unit]
            return f"TRY_CAST(TRY_CAST(trim({column}) AS HUGEINT) * 1000000 // {units} AS BIGINT)"
        return f"epoch_us(TRY_CAST({column} AS TIMESTAMPTZ))"

    def _choose_key(self) -> str | None:
        """The column with the fewest values of those that have several, texts first."""
        best = None
        for name, (type_, _) in self.shape.columns.items():
            if name == self.shape.time_column or type_ not in ("STRING", "INT", "BIGINT", "BOOLEAN"):
                continue
            values, = self._one(f"SELECT count(DISTINCT {_quoted(name)}) FROM lines")
            rank = (type_ != "STRING", values)
            if 1 < values <= KEY_VALUES_MAX and (best is None or rank < best[0]):
                best = (rank, name)
        return best[1] if best else None


def _cast(column: str, type_: str) -> str:
    return column if type_ == "STRING" else f"TRY_CAST(trim({column}) AS {type_})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _json_path(path: str) -> str:
    return "$." + ".".join('"' + part.replace("'", "''") + '"' for part in path.split("."))
