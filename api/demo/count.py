"""An independent count over the lines of a file, by DuckDB: what the demo compares the results of the user's own file
with."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
import pyarrow as pa

from mars.model.plan import UNITS_PER_SECOND
from mars.model.types import to_arrow

WINDOWS_S = (1, 10, 60, 600, 3_600, 86_400)
WATERMARK_S = 5
FUTURE_S = 300
KEY_VALUES_MAX = 10_000
CALENDAR_US = (-62_104_060_800_000_000, 253_370_764_800_000_000)  # the years 2 to 9998, beyond which no event time reads
# Our own columns beside those of the lines, under names that those do not have.
LINE, US, OBJECT = '"mars line"', '"mars us"', '"mars object"'


class LineCount:
    """Lines that another engine than Mars's own has read, as a stream that the API shows says how. Proposes a `key`, a
    `window_s` that gives some ten windows, and a watermark that covers the `disorder_s` of the lines."""

    def __init__(self, path: Path, header: bool, stream: dict) -> None:
        self.format, self.delimiter = stream["format"], stream["options"].get("delimiter", ",")
        self.paths = {c["name"]: c.get("path") or c["name"] for c in stream["columns"]}
        self.types = {c["name"]: c["type"] for c in stream["columns"]}
        self.db = duckdb.connect(config={"threads": 2})
        self.db.execute("SET TimeZone = 'UTC'")
        us, (first, last) = self._us(stream["time_column"], stream["time_unit"]), CALENDAR_US
        self.db.execute(f"CREATE TABLE lines AS SELECT row_number() OVER () AS {LINE}, CASE WHEN {us} BETWEEN {first} AND "
                        f"{last} THEN {us} END AS {US}, * FROM ({self._source(path, header)})")
        low, high, disorder = self._one(f"SELECT min({US}), max({US}), max(seen - {US}) FROM "
                                        f"(SELECT {US}, max({US}) OVER (ORDER BY {LINE}) AS seen FROM lines)")
        span_s = ((high or 0) - (low or 0)) / 1e6
        self.window_s = max((size for size in WINDOWS_S if span_s / size >= 10), default=1)
        self.disorder_s = max(WATERMARK_S, -(-(disorder or 0) // 1_000_000))
        self.key = self._choose_key(stream["time_column"])

    def objects(self) -> int | None:
        """How many tuples lines of JSON are; None if one is no object: it may be any number of tuples that do not read."""
        rows, objects = self._one(f"SELECT count(*), count(*) FILTER ({OBJECT}) FROM lines")
        return rows if rows == objects else None

    def groups(self) -> pa.Table:
        """Counts by window_start and key of the tuples that read and do not lie in the future."""
        size = self.window_s * 1_000_000
        where = [f"{US} <= {int((time.time() + FUTURE_S) * 1e6)}"]
        columns = [f"{US} - (({US} % {size}) + {size}) % {size} AS window_start"]  # DuckDB divides towards zero
        types = [pa.timestamp("us", "UTC"), *([to_arrow(self.types[self.key])] if self.key else []), pa.int64()]
        if self.key:
            name, type_ = _quoted(self.key), self.types[self.key]
            value = name if type_ == "STRING" else f"TRY_CAST(trim({name}) AS {type_})"
            columns.append(f"{value} AS {name}")
            where.append(f"({name} IS NULL OR {value} IS NOT NULL)")
        found = self.db.sql(f"SELECT {', '.join(columns)}, count(*) AS count FROM lines "
                            f"WHERE {' AND '.join(where)} GROUP BY ALL").to_arrow_table()
        return found.cast(pa.schema(zip(found.column_names, types, strict=True)))

    def _source(self, path: Path, header: bool) -> str:
        """SQL for the lines with each column as text."""
        file = "'" + str(path).replace("'", "''") + "'"
        if self.format == "JSON":
            fields = [f"json ->> '{_json_path(path)}' AS {_quoted(name)}" for name, path in self.paths.items()]
            tuples = "CASE WHEN json_type(json) = 'ARRAY' THEN json_extract(json, '$[*]') ELSE [json] END"
            return (f"SELECT coalesce(json_type(json) = 'OBJECT', false) AS {OBJECT}, {', '.join(fields)} FROM "
                    f"(SELECT unnest({tuples}) AS json FROM read_ndjson_objects({file}, ignore_errors = true))")
        names = ", ".join("'" + name.replace("'", "''") + "': 'VARCHAR'" for name in self.paths)
        delimiter = self.delimiter.replace("'", "''")
        return (f"SELECT * FROM read_csv({file}, delim = '{delimiter}', header = {header}, columns = {{{names}}}, "
                "quote = '\"', escape = '\"', null_padding = true, ignore_errors = true, strict_mode = false, "
                "allow_quoted_nulls = false, auto_detect = false, parallel = false)")

    def _one(self, sql: str) -> tuple:
        return self.db.execute(sql).fetchall()[0]

    def _us(self, name: str, unit: str) -> str:
        """SQL for the event time in microseconds, NULL where it does not read."""
        if self.types[name] in ("INT", "BIGINT"):
            return f"TRY_CAST(TRY_CAST(trim({_quoted(name)}) AS HUGEINT) * 1000000 // {UNITS_PER_SECOND[unit]} AS BIGINT)"
        return f"epoch_us(TRY_CAST({_quoted(name)} AS TIMESTAMPTZ))"

    def _choose_key(self, time_column: str) -> str | None:
        """The column with the fewest values of those that have several, texts first."""
        ranks = []
        for name, type_ in self.types.items():
            if name != time_column and type_ in ("STRING", "INT", "BIGINT", "BOOLEAN"):
                values, = self._one(f"SELECT count(DISTINCT {_quoted(name)}) FROM lines")
                ranks += [(type_ != "STRING", values, name)] if 1 < values <= KEY_VALUES_MAX else []
        return min(ranks, key=lambda rank: rank[:2])[2] if ranks else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _json_path(path: str) -> str:
    return "$." + ".".join('"' + part.replace("'", "''") + '"' for part in path.split("."))
