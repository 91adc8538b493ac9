"""Rows as JSON, CSV or an Arrow stream, one page at a time, column by column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from mars.errors import FormatError

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
WILDCARDS = {"*/*": JSON, "application/*": JSON, "text/*": CSV}
WRITTEN_ROWS = 10_000
SPECIAL = re.compile(r'[,"\r\n]')
TEXT = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def choose(accept: str) -> str:
    """The media type to answer with; FormatError if the API has none of the accepted ones."""
    offers = []
    for position, part in enumerate(accept.split(",") if accept.strip() else ["*/*"]):
        name, *parameters = [piece.strip().lower() for piece in part.split(";")]
        quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        if quality not in ("0", "0.0", "0.00", "0.000"):
            offers.append((-_number(quality), position, WILDCARDS.get(name, name)))
    for _, _, name in sorted(offers):
        if name in (JSON, CSV, ARROW):
            return name
    raise FormatError("no accepted format", f"Accept is {accept}", f"accept {JSON}, {CSV} or {ARROW}")


LEAST_TIME = "-290308-12-21T19:59:05.224192"  # of -2^63 microseconds
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - isoformat of one with a zone would tell the zone
# The years 1 to 9999.
CALENDAR_US = (-62_135_596_800_000_000, 253_402_300_800_000_000)


def to_json(document: dict, table: pa.Table) -> bytes:
    """The document with `rows` of the table. It is written in portions, because rows as Python objects are many times as
    large as their text."""
    pieces = [orjson.dumps(rows(table.slice(first, WRITTEN_ROWS)))[1:-1] for first in range(0, len(table), WRITTEN_ROWS)]
    return b"%b%b]}" % (orjson.dumps({**document, "rows": []})[:-2], b",".join(pieces))


def rows(table: pa.Table) -> list[tuple]:
    """The rows as JSON values: DECIMAL, TIMESTAMP, DATE, NaN and the infinities are text."""
    columns = [_converter(column.type)(column) for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else []


def to_csv(table: pa.Table) -> bytes:
    """RFC 4180 with a header; NULL is empty, the empty text `""`."""
    columns = [_csv_fields(column) for column in table.columns]
    lines = [",".join(map(_quoted, table.column_names)), *map(",".join, zip(*columns, strict=True)), ""]
    return "\r\n".join(lines).encode()


def to_arrow(table: pa.Table) -> bytes:
    """An Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def type_name(type_: pa.DataType) -> str:
    """The dialect's name of an Arrow type in rows."""
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    names = {"bool": "BOOLEAN", "int32": "INT", "int64": "BIGINT", "float": "FLOAT", "double": "DOUBLE",
             "date32[day]": "DATE", "null": "VOID"}
    return "TIMESTAMP" if pa.types.is_timestamp(type_) else names.get(str(type_), "STRING")


def named_types(schema: pa.Schema) -> list[dict[str, str]]:
    """The columns as every answer lists them."""
    return [{"name": field.name, "type": type_name(field.type)} for field in schema]


def timestamp_text(time_us: int | None) -> str | None:
    """An instant as RFC 3339 in UTC; None stays None. Outside the calendar it is written as a number of seconds."""
    if time_us is None:
        return None
    if not CALENDAR_US[0] <= time_us < CALENDAR_US[1]:
        return f"{time_us / 1e6:.0f} s after 1970"
    return f"{_trimmed((EPOCH + timedelta(microseconds=time_us)).isoformat())}Z"  # Arrow would take a hundred times as long


def _converter(type_: pa.DataType) -> Callable[[pa.ChunkedArray], list]:
    if pa.types.is_timestamp(type_):
        return _timestamps
    if pa.types.is_decimal(type_):
        return lambda column: [None if v is None else format(v, "f") for v in column.to_pylist()]
    if pa.types.is_date(type_):
        return lambda column: _written(column.combine_chunks().cast(pa.int32()), "D")
    if pa.types.is_floating(type_):
        return _floats
    return lambda column: column.to_pylist()


def _timestamps(column: pa.ChunkedArray) -> list[str | None]:
    # Many rows share few instants, so each instant is written once.
    coded = column.cast(pa.timestamp("us")).combine_chunks().dictionary_encode()
    texts = [text and f"{_trimmed(text)}Z" for text in _written(coded.dictionary.cast(pa.int64()), "us")]
    return [None if code is None else texts[code] for code in coded.indices.to_pylist()]


def _written(column: pa.Array, unit: str) -> list[str | None]:
    """Times since the epoch in ISO 8601; a year beyond 9999, which RFC 3339 does not know, has a sign."""
    values = column.fill_null(0).to_numpy().astype(np.int64)
    least = np.iinfo(np.int64).min  # numpy takes this number for 'no time'
    texts = np.datetime_as_string(np.maximum(values, least + 1).view(f"datetime64[{unit}]")).tolist()
    for row in np.flatnonzero(values == least).tolist():
        texts[row] = LEAST_TIME
    return [_with_year(text) if known else None for text, known in zip(texts, column.is_valid().to_pylist(), strict=True)]


def _with_year(text: str) -> str:
    """The year with a sign unless it has four digits and is not below 0."""
    if text[0] == "-":
        year, _, rest = text[1:].partition("-")
        return f"-{year.rjust(4, '0')}-{rest}"
    return text if text[4] == "-" else f"+{text}"


def _trimmed(text: str) -> str:
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction.ljust(3 if len(fraction) <= 3 else 6, '0')}" if fraction else whole


def _floats(column: pa.ChunkedArray) -> list[float | str | None]:
    if pa.types.is_float32(column.type):  # through its shortest text, because the nearest double has other digits
        column = column.cast(pa.string()).cast(pa.float64())
    values = column.to_pylist()
    if pc.all(pc.is_finite(column), min_count=0).as_py():
        return values
    return [v if v is None or math.isfinite(v) else TEXT[str(v)] for v in values]


def _csv_fields(column: pa.ChunkedArray) -> list[str]:
    values = _converter(column.type)(column)
    if pa.types.is_string(column.type):
        return ["" if value is None else _quoted(value) for value in values]
    if pa.types.is_boolean(column.type):
        return ["" if value is None else str(value).lower() for value in values]
    return ["" if value is None else str(value) for value in values]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if not text or SPECIAL.search(text) else text


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
