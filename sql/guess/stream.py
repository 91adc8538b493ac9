"""A stream's declaration guessed from some messages: format, columns, types, event time and its unit.

A guess is a proposal that the user sees and may correct. It claims only what holds for all lines. A few lines that are
unlike all the others are set aside first, and the statement says how many.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from mars.model.free_names import FreeNames
from mars.model.identifiers import BARE, quoted
from mars.model.types import normalize
from sql.guess.types import Seen, time_unit, type_of
from sql.read.create import RESERVED

TIME_NAMES = ("timestamp", "event_time", "eventtime", "ts", "time", "datetime", "date", "created_at", "at")
DELIMITERS = ",\t;|"
KINDS = {"INT": "number", "BIGINT": "number", "DOUBLE": "number", "DATE": "time", "TIMESTAMP": "time"}
ENOUGH = 1000
SPARE = 10    # among this many lines of CSV, one may be unlike the others
LINE_CHARACTERS_MAX = 100_000  # nobody would look at a longer line, and csv refuses longer fields


@dataclass(frozen=True)
class GuessedColumn:
    """`type` is a type of the dialect; `path` the dotted path into a JSON object, None for the name
    itself."""

    name: str
    type: str
    path: str | None = None


@dataclass(frozen=True)
class Guess:
    """What the messages look like. `header` is True if the first line names the columns of CSV (it is not a tuple).
    `time_column` is None if nothing looks like a time; `unit` is None unless that column is an integer. `unlike` of the
    `lines` looked at were set aside: they are not of this format, or do not fit these columns."""

    format: str
    header: bool
    delimiter: str
    columns: tuple[GuessedColumn, ...]
    time_column: str | None
    unit: str | None
    lines: int = 0
    unlike: int = 0


def guess_schema(messages: Iterable[bytes]) -> Guess | None:
    """The guess over the first messages (each with one line or many); None if they hold no tuple of at most
    LINE_CHARACTERS_MAX. It is JSON if more than half of the lines are."""
    texts = looked_at(messages)
    lines = [line for text in texts for line in text]
    if not lines:
        return None
    objects, read = json_objects(lines)
    if objects and read * 2 > len(lines):
        return replace(guess_json(objects), lines=len(lines), unlike=len(lines) - read)
    return guess_csv(texts)


def looked_at(messages: Iterable[bytes]) -> list[list[str]]:
    """The first ENOUGH lines that are neither blank nor too long, grouped by message."""
    texts, left = [], ENOUGH
    for message in messages:
        lines = [line for line in lines_of(message) if line.strip() and len(line) <= LINE_CHARACTERS_MAX][:left]
        texts += [lines] if lines else []
        left -= len(lines)
    return texts


def lines_of(message: bytes) -> list[str]:
    """The lines of a message, cut where its tuples are cut: at newlines alone, which may have a carriage return before
    them."""
    return [line.removesuffix(b"\r").decode("utf-8", "replace") for line in message.split(b"\n")]


def create_stream_sql(guess: Guess, name: str, topic: str) -> str:
    """A CREATE STREAM statement for the guess, ready to run; without a time column a comment at its place says what to write
    there. Lines that were set aside are counted in a comment before the columns."""
    columns = []
    for column in guess.columns:
        path = f" PATH {text(column.path)}" if column.path else ""
        columns.append(f"  {name_text(column.name)} {column.type}{path}")
    options = (
        f" (DELIMITER {text(guess.delimiter)})" if guess.format == "CSV" and guess.delimiter != "," else ""
    )
    time = name_text(guess.time_column) if guess.time_column else \
        "/* write the name of the event-time column here, and behind it UNIT s, ms, us or ns if it is a number */"
    unit = f" UNIT {guess.unit}" if guess.unit else ""
    fit = "does not fit" if guess.unlike == 1 else "do not fit"
    # A /* */ comment, because a -- comment would swallow the columns if the lines are joined.
    remark = f"  /* {guess.unlike} of the {guess.lines} lines looked at {fit} */\n" if guess.unlike else ""
    return (f"CREATE STREAM {name_text(name)} (\n{remark}" + ",\n".join(columns)
            + f"\n) FROM KAFKA {text(topic)} FORMAT {guess.format}{options} TIMESTAMP {time}{unit}")


def json_objects(lines: list[str]) -> tuple[list[dict], int]:
    """The objects of the lines that are JSON objects or arrays of them, and how many lines those are."""
    objects: list[dict] = []
    read = 0
    for line in lines:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            values = value if isinstance(value, list) else [value]
            if all(isinstance(v, dict) for v in values):
                objects += values
                read += 1
    return objects, read


def guess_json(objects: list[dict]) -> Guess:
    """Columns are the keys in the order of their first appearance; one level of PATH reaches inside an object."""
    seen: dict[tuple[str, ...], Seen] = {}
    for value in objects:
        for key, inner in value.items():
            inside = inner.items() if isinstance(inner, dict) and inner else ()
            leaves: list[tuple[tuple[str, ...], object]] = [((key, k), v) for k, v in inside]
            for path, leaf in leaves or [((key,), inner)]:
                seen.setdefault(path, Seen()).add_json(leaf)
    names = FreeNames(RESERVED)
    columns = [GuessedColumn(names.take("_".join(path)), found.type(), None) for path, found in seen.items()]
    columns = [c if (c.name,) == path else GuessedColumn(c.name, c.type, ".".join(path))
               for c, path in zip(columns, seen, strict=True)]
    return with_time("JSON", False, ",", columns, list(seen.values()))


def guess_csv(texts: list[list[str]]) -> Guess | None:
    """Columns by their place. The first line names them if a number, date or time is below a text. None without a line
    that ends."""
    delimiter = delimiter_of([line for text in texts for line in text])
    rows = csv_rows(texts, delimiter)
    if not rows:
        return None
    header = looks_like_header(rows)
    titles, body = (rows[0], rows[1:]) if header else ([], rows)
    alike = without_unlike(body)
    width = max(len(row) for row in (titles, *alike))
    seen = [Seen() for _ in range(width)]
    for row in alike:
        for place, value in enumerate(row):
            seen[place].add_text(value)
    names = FreeNames(RESERVED)
    titles = [*titles, *[""] * (width - len(titles))]
    columns = [GuessedColumn(names.take(title.strip() or f"c{i + 1}"), found.type())
               for i, (title, found) in enumerate(zip(titles, seen, strict=True))]
    guess = with_time("CSV", header, delimiter, columns, seen)
    return replace(guess, lines=len(rows), unlike=len(body) - len(alike))


def delimiter_of(lines: list[str]) -> str:
    """The delimiter of the first line. If other lines lack it: the one that occurs most often in every line, except those
    that may be unlike the others."""
    first, spare = max(DELIMITERS, key=lines[0].count), len(lines) // SPARE
    if not spare or sum(first not in line for line in lines) <= spare:
        return first
    return max(DELIMITERS, key=lambda d: (sorted(line.count(d) for line in lines)[spare], d == first))


def csv_rows(texts: list[list[str]], delimiter: str) -> list[list[str]]:
    """The fields of all lines. A quote ends with its message at the latest, as for mappers."""
    rows: list[list[str]] = []
    for lines in texts:
        whole = "\n".join(lines).replace("\r", " ")  # within a line it ends nothing, but csv would refuse it
        with suppress(csv.Error):  # a quote that is never closed may turn everything after it into a field that is too long
            for row in csv.reader(io.StringIO(whole), delimiter=delimiter):
                rows += [row] if row else []
    return rows


def looks_like_header(rows: list[list[str]]) -> bool:
    """True if the first line has only different texts, and some column below is not text. If its width differs from the
    others, it may only lack names of empty columns."""
    first = rows[0]
    if len(rows) < 2 or len(set(first)) < len(first) or not all(v.strip() for v in first):
        return False
    if any(type_of(value) != "STRING" for value in first):
        return False
    alike = like_in_width(rows)
    if alike[0] is not first and any("".join(row[len(first):]) for row in alike):
        return False
    return any(type_of(value) not in ("STRING", None) for row in rows[1:20] for value in row)


def without_unlike(rows: list[list[str]]) -> list[list[str]]:
    """The rows without those that are unlike the others, at most one in SPARE. Such a row has another number of fields
    than usual, or a value of another kind in a column that otherwise holds numbers or times."""
    alike = like_in_width(rows)
    spare = len(rows) // SPARE - (len(rows) - len(alike))
    if not spare:
        return alike
    odd: set[int] = set()
    # Columns with the fewest strangers first: a column with numbers and many texts is a column of texts, and must not
    # remove rows.
    for strangers in sorted((strangers_in(alike, place) for place in range(max(map(len, alike)))), key=len):
        odd |= strangers if len(odd | strangers) <= spare else set()
    return [row for i, row in enumerate(alike) if i not in odd]


def like_in_width(rows: list[list[str]]) -> list[list[str]]:
    """The rows with the usual number of fields, if at most one in SPARE has another number; else all rows."""
    [(usual, count)] = Counter(map(len, rows)).most_common(1)
    return [row for row in rows if len(row) == usual] if len(rows) - count <= len(rows) // SPARE else rows


def strangers_in(rows: list[list[str]], place: int) -> set[int]:
    """The rows whose value is not a number in a column of numbers, or not a time in a column of times. Such a column has
    at most one value in SPARE of another kind."""
    types = {i: type_of(row[place]) for i, row in enumerate(rows) if place < len(row)}
    kinds = {i: KINDS.get(type_) for i, type_ in types.items() if type_}
    [(usual, count)] = Counter(kinds.values()).most_common(1) or [(None, 0)]
    is_few = len(kinds) - count <= len(kinds) // SPARE
    return {i for i, kind in kinds.items() if kind != usual} if usual and is_few else set()


def with_time(
    format_: str, header: bool, delimiter: str, columns: list[GuessedColumn], seen: list[Seen]
) -> Guess:
    """The guess, with the event time: a column whose values are times. A column with a telling name is preferred to the
    first one."""
    times: list[tuple[int, int, str, str | None]] = []
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
    """A name as a statement needs it: in backticks unless it is a plain word and not a type."""
    return name if BARE.match(name) and normalize(name) is None else quoted(name.replace("`", "_"))


def text(value: str) -> str:
    """A text in single quotes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''").replace("\t", "\\t") + "'"
