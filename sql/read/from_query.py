"""A SELECT over the results of queries: finds the names of streams and queries in it, and writes its text for the
engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from sql.read.reader import Reader, amount
from sql.read.words import Word
from sql.refusals import refusal_at
from sql.statements import SelectFromQuery


@dataclass
class Level:
    """The state of reading between two parentheses. `query`: it is a SELECT of its own. `listing`: its FROM continues.
    `defining`: its WITH continues, and `body` is the name whose query is being read. `defined` are the names that WITH
    has defined so far."""

    query: bool
    listing: bool = False
    defining: bool = False
    recursive: bool = False
    body: str = ""
    defined: set[str] = field(default_factory=set)


def sources(words: list[Word]) -> list[Word]:
    """The names after FROM and JOIN, and after the commas of a FROM, at any depth, except those that a WITH defines."""
    found, levels = [], [Level(query=True)]
    for index, word in enumerate(words):
        before = words[index - 1] if index else Word("end", "", 0, 0)
        if before.is_("("):
            levels.append(Level(word.is_("SELECT", "WITH", "FROM", "(")))
        elif before.is_(")") and len(levels) > 1:
            levels.pop()
        level = levels[-1]
        read_with(level, before, word)
        if word.is_("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "SELECT"):
            level.listing = False
        level.query = level.query or word.is_("SELECT")
        # FROM is a part of IS DISTINCT FROM, too, and of calls: extract(hour FROM t).
        after = before.is_("JOIN") or (before.is_("FROM") and level.query and not words[index - 2].is_("DISTINCT"))
        level.listing = level.listing or after
        if word.is_("TABLE") and words[index + 1].is_("("):  # a window function: its stream follows the next TABLE
            continue
        after = after or (before.is_("TABLE") and index > 1 and words[index - 2].is_("("))
        if word.kind not in ("name", "quoted") or not (after or (level.listing and before.is_(","))):
            continue
        if not any(word.value.lower() in outer.defined for outer in levels):
            found.append(word)
    return found


def read_with(level: Level, before: Word, word: Word) -> None:
    """Reads on in `WITH [RECURSIVE] name [(column, ...)] AS [[NOT] MATERIALIZED] (query), ... SELECT`. A name is defined
    after the end of its query; a recursive one from the start."""
    if word.is_("WITH") and (before.kind == "end" or before.is_("(")):
        level.defining = True
    elif level.defining and before.is_("WITH") and word.is_("RECURSIVE"):
        level.recursive = True
    elif level.defining and before.is_("WITH", "RECURSIVE", ",") and word.kind in ("name", "quoted"):
        level.body = word.value.lower()
        if level.recursive:
            level.defined.add(level.body)
    elif level.body and before.is_(")") and not word.is_("AS"):
        level.defined.add(level.body)
        level.body = ""
    if word.is_("SELECT"):
        level.defining = False


def read_from_query(reader: Reader, queries: list[Word]) -> SelectFromQuery:
    """The statement as the user wrote it, and as an engine of standard SQL reads it."""
    parts, reached = [], 0
    for word, following in pairwise(reader.words):
        if word.kind in ("quoted", "text"):
            mark = '"' if word.kind == "quoted" else "'"
            parts += [reader.sql[reached:word.start], mark + word.value.replace(mark, mark * 2) + mark]
            reached = word.end
        elif word.is_("WINDOWING", "WATERMARK", "GRACE") and (following.kind == "number" or amount(following)):
            raise refusal_at(reader.sql, word, f"{word.value.upper()} cannot follow the results of a query",
                             "its windows are closed already",
                             "group by window_start, or by date_trunc('hour', window_start)")
        elif word.is_(";") and following.kind != "end":
            raise refusal_at(reader.sql, word, "unexpected ;", "one statement at a time",
                             "remove what follows it")
        elif word.is_(";"):
            parts.append(reader.sql[reached:word.start])
            reached = len(reader.sql)
    parts.append(reader.sql[reached:])
    names = {word.value.lower(): word.value for word in queries}
    return SelectFromQuery(reader.sql, tuple(names.values()), "".join(parts).strip())
