"""A stream's declaration guessed from some messages: format, columns, types, event time and its unit.

A guess is a proposal that the user sees and may correct; only what every message agrees on is claimed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass

from mars.identifiers import BARE, quoted
from mars.types import normalize
from sql.create import RESERVED
from sql.free_names import FreeNames
from sql.guess_types import Seen, time_unit, type_of

TIME_NAMES = ("timestamp", "event_time", "eventtime", "ts", "time", "datetime", "date", "created_at", "at")
DELIMITERS = ",\t;|"
ENOUGH = 1000
LINE_CHARACTERS_MAX = 100_000  # a longer line is not what a person would look at, and csv refuses longer fields


@dataclass(frozen=True)
class GuessedColumn:
    """`type` is a type of the dialect; `path` the dotted path into a JSON object, None for the name
    itself."""

    name: str
    type: str
    path: str | None = None


@dataclass(frozen=True)
class Guess:
    """What the messages look like. `header` is True if the first line names the columns of CSV (it is no
    tuple). `time_column` is None if nothing looks like a time; `unit` is None unless that column is an
    integer."""

    format: str
    header: bool
    delimiter: str
    columns: tuple[GuessedColumn, ...]
    time_column: str | None
    unit: str | None


def guess_schema(messages: Iterable[bytes]) -> Guess | None:
    """The guess over the first messages (each with one line or many); None if they hold no tuple of at most
    LINE_CHARACTERS_MAX."""
    lines = [
        line
        for message in messages
        for line in lines_of(message)
        if line.strip() and len(line) <= LINE_CHARACTERS_MAX
    ]
    lines = lines[:ENOUGH]
    if not lines:
        return None
    objects = json_objects(lines)
    try:
        return guess_json(objects) if objects else guess_csv(lines)
    except csv.Error:
        return None    # a quote that is never closed makes one field of them all


def lines_of(message: bytes) -> list[str]:
    """The lines of a message, cut where its tuples are cut: at newlines alone, which may have a carriage return before
    them."""
    return [line.removesuffix(b"\r").decode("utf-8", "replace") for line in message.split(b"\n")]


def create_stream_sql(guess: Guess, name: str, topic: str) -> str:
    """A CREATE STREAM statement for the guess, ready to run; without a time column its place says so in a
    comment."""
    columns = []
    for column in guess.columns:
        path = f" PATH {text(column.path)}" if column.path else ""
        columns.append(f"  {name_text(column.name)} {column.type}{path}")
    options = (
        f" (DELIMITER {text(guess.delimiter)})" if guess.format == "CSV" and guess.delimiter != "," else ""
    )
    time = name_text(guess.time_column) if guess.time_column else "/* which column is the event time? */"
    unit = f" UNIT {guess.unit}" if guess.unit else ""
    return (f"CREATE STREAM {name_text(name)} (\n" + ",\n".join(columns)
            + f"\n) FROM KAFKA {text(topic)} FORMAT {guess.format}{options} TIMESTAMP {time}{unit}")


def json_objects(lines: list[str]) -> list[dict]:
    """The objects of the lines, if they are JSON objects or arrays of them; else none."""
    objects: list[dict] = []
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return []
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(v, dict) for v in values):
            return []
        objects += values
    return objects


def guess_json(objects: list[dict]) -> Guess:
    """Columns are the keys in the order of their first appearance; an object's inside is reached by one
    level of PATH."""
    seen: dict[tuple[str, ...], Seen] = {}
    for value in objects:
        for key, inner in value.items():
            inside = inner.items() if isinstance(inner, dict) and inner else ()
            for path, leaf in [((key, k), v) for k, v in inside] or [((key,), inner)]:
                seen.setdefault(path, Seen()).add_json(leaf)
    names = FreeNames(RESERVED)
    columns = [GuessedColumn(names.take("_".join(path)), found.type(), None) for path, found in seen.items()]
    columns = [c if (c.name,) == path else GuessedColumn(c.name, c.type, ".".join(path))
               for c, path in zip(columns, seen, strict=True)]
    return with_time("JSON", False, ",", columns, list(seen.values()))


def guess_csv(lines: list[str]) -> Guess:
    """Columns by their place; the first line names them if a number, date or time stands under a text."""
    delimiter = max(DELIMITERS, key=lambda d: (lines[0].count(d), -DELIMITERS.index(d)))
    whole = "\n".join(lines).replace("\r", " ")  # within a line it ends nothing, but csv takes offence
    rows = [row for row in csv.reader(io.StringIO(whole), delimiter=delimiter) if row]
    header = looks_like_header(rows)
    body = rows[1:] if header else rows
    width = max(len(row) for row in rows)
    seen = [Seen() for _ in range(width)]
    for row in body:
        for place, value in enumerate(row):
            seen[place].add_text(value)
    names = FreeNames(RESERVED)
    titles = [rows[0][i].strip() if header and i < len(rows[0]) else "" for i in range(width)]
    columns = [GuessedColumn(names.take(title or f"c{i + 1}"), found.type())
               for i, (title, found) in enumerate(zip(titles, seen, strict=True))]
    return with_time("CSV", header, delimiter, columns, seen)


def looks_like_header(rows: list[list[str]]) -> bool:
    """True if the first line is all different texts and some column below is no text."""
    if len(rows) < 2 or len(set(rows[0])) < len(rows[0]) or not all(v.strip() for v in rows[0]):
        return False
    if any(type_of(value) != "STRING" for value in rows[0]):
        return False
    return any(type_of(value) not in ("STRING", None) for row in rows[1:20] for value in row)


def with_time(
    format_: str, header: bool, delimiter: str, columns: list[GuessedColumn], seen: list[Seen]
) -> Guess:
    """The guess, with the event time: a column whose values are times; a telling name goes before the first
    place."""
    times = []
    for column, found in zip(columns, seen, strict=True):
        unit = time_unit(found) if column.type in ("INT", "BIGINT") else None
        iso = column.type in ("TIMESTAMP", "STRING") and found.are_times()
        if unit or iso:
            lower = column.name.lower()
            rank = TIME_NAMES.index(lower) if lower in TIME_NAMES else len(TIME_NAMES) + ("time" not in lower)
            times.append((rank, len(times), column.name, unit))
    time = min(times) if times else (0, 0, None, None)
    return Guess(format_, header, delimiter, tuple(columns), time[2], time[3])


def name_text(name: str) -> str:
    """A name as a statement needs it: in backticks unless it is plain and no type."""
    return name if BARE.match(name) and normalize(name) is None else quoted(name.replace("`", "_"))


def text(value: str) -> str:
    """A text in single quotes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''").replace("\t", "\\t") + "'"
