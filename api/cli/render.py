"""Answers of the API as text or bytes: table, vertical, json, csv, arrow. Pure: rows in, output out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from mars.model import types

CELL_WIDTH = 60
TIMES = {"TIMESTAMP": "datetime64[us]", "DATE": "datetime64[D]"}


def render(answer: dict, format_: str, expanded: bool = False, cell_width: int | None = CELL_WIDTH) -> bytes:
    """The rows of an answer of kind rows or plan in one of the formats, ready to be written to stdout. In a table, cells
    beyond a width are cut, none if that is None."""
    columns, rows = answer["columns"], answer["rows"]
    if format_ == "arrow":
        return arrow(columns, rows)
    if format_ == "table":
        if answer["kind"] == "plan":
            text = "\n".join(str(row[0]) for row in rows)
        else:
            text = vertical(columns, rows) if expanded else table(columns, rows, cell_width)
    else:
        text = as_json(columns, rows) if format_ == "json" else as_csv(columns, rows)
    return (text.rstrip("\n") + "\n").encode() if text else b""


def as_json(columns: Sequence[dict], rows: Sequence[list]) -> str:
    """An array of objects, one per line."""
    names = [column["name"] for column in columns]
    lines = ",\n".join(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]" if rows else "[]"


def as_csv(columns: Sequence[dict], rows: Sequence[list]) -> str:
    """RFC 4180 with a header; NULL is empty, the empty text is two quotes."""
    lines = [[column["name"] for column in columns], *rows]
    return "".join(",".join(map(_csv_field, line)) + "\n" for line in lines)


def _csv_field(value: object) -> str:
    text = "" if value is None else str(_plain(value))
    if value == "" or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def table(columns: Sequence[dict], rows: Sequence[list], cell_width: int | None = CELL_WIDTH) -> str:
    """Columns side by side, numbers to the right, cells beyond a width cut."""
    from wcwidth import wcswidth

    texts = [[_cell(value, cell_width) for value in row] for row in rows]
    heads = [column["name"] for column in columns]
    widths = [max([_width(wcswidth, head), *(_width(wcswidth, row[i]) for row in texts)])
              for i, head in enumerate(heads)]
    right = [types.is_numeric(column["type"]) for column in columns]

    def line(cells: Sequence[str]) -> str:
        padded = []
        for cell, width, to_right in zip(cells, widths, right, strict=True):
            space = " " * (width - _width(wcswidth, cell))
            padded.append(space + cell if to_right else cell + space)
        return " " + " | ".join(padded).rstrip()

    rule = "-" + "-+-".join("-" * width for width in widths) + "-"
    return "\n".join([line(heads), rule, *(line(row) for row in texts)])


def vertical(columns: Sequence[dict], rows: Sequence[list]) -> str:
    """One line per value, for rows that are too wide."""
    width = max((len(column["name"]) for column in columns), default=0)
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-[ row {number} ]".ljust(width + 12, "-"))
        lines += [f"{column['name']:<{width}} | {_plain(value)}"
                  for column, value in zip(columns, row, strict=True)]
    return "\n".join(lines)


def arrow(columns: Sequence[dict], rows: Sequence[list]) -> bytes:
    """An Arrow IPC stream with the columns' own types."""
    import numpy as np
    import pyarrow as pa

    arrays = []
    for index, column in enumerate(columns):
        values = [_read(row[index], column["type"]) for row in rows]
        unit = TIMES.get(column["type"])  # numpy reads years beyond 9999 too
        array = pa.array(values if unit is None else np.array(values, unit))
        arrays.append(array.cast(types.to_arrow(column["type"])))
    schema = pa.schema([(column["name"], types.to_arrow(column["type"])) for column in columns])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return sink.getvalue().to_pybytes()


def _read(value: object, type_: str) -> object:
    """A JSON value in a form that Arrow can cast. Values that JSON cannot express come as text."""
    if type_ in TIMES and isinstance(value, str):
        return value.removeprefix("+").removesuffix("Z")
    return float(value) if type_ in ("FLOAT", "DOUBLE") and isinstance(value, str) else value


def _cell(value: object, width: int | None) -> str:
    text = _plain(value).replace("\n", "\\n").replace("\t", "\\t")
    return text if width is None or len(text) <= width else text[:width - 1] + "…"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "NULL" if value is None else str(value)


def _width(measure: Callable[[str], int], text: str) -> int:
    """Terminal columns; control characters have none, so their count stands in."""
    return max(measure(text), 0) or len(text)
