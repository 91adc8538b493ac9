"""The embedded engine's errors for a failed statement, in Mars's own form."""

from __future__ import annotations

import re

from mars.errors import SqlError

CONVERSIONS = ("Conversion Error", "Out of Range Error", "Invalid Input Error")


def refused(sql: str, error: Exception) -> SqlError:
    """The engine's message with the place that it names. An error that comes while rows are fetched has the same text but
    another class."""
    text = str(error)
    kind, _, message = _first_line(text).partition(": ")
    if kind == "Out of Memory Error":
        return SqlError("the statement needs too much memory", _first_line(text),
                        "narrow it by a condition on window_start", sql=sql)
    line, column, length = _place(sql, text)
    meant = re.search(r"(?:Did you mean|Candidate bindings:|Candidate functions:) (.+)", text)
    hint = "DESCRIBE the query for its columns"
    if meant:
        hint = f"did you mean {meant[1].strip('?')}?"
    elif message.startswith("Division by zero"):
        # The engine's text continues with the advice to SET something, which is refused here.
        message, hint = message.split(". ")[0], "divide by nullif(x, 0): that gives NULL"
    elif kind in CONVERSIONS:
        hint = "try_cast(x AS type) gives NULL for a value that does not fit"
    return SqlError("the embedded engine refuses the statement", message or kind, hint, sql=sql,
                    line=line, column=column, length=length)


def _place(sql: str, text: str) -> tuple[int, int, int]:
    """Line, column and length of the place that the engine's message is about; zeros if it names none."""
    marked = re.search(r"LINE (\d+): (.*)\n( *)\^", text)
    if marked and (place := _marked(sql, int(marked[1]), marked[2], len(marked[3]) - len(f"LINE {marked[1]}: "))):
        return place
    named = re.search(r'(?:column|name|alias) "?([^\s"!]+)"?', text)
    if not named:
        return 0, 0, 0
    found = re.search(rf"(?<!\w){re.escape(named[1])}(?!\w)", sql, re.IGNORECASE)
    if not found:
        return 0, 0, 0
    return sql.count("\n", 0, found.start()) + 1, found.start() - sql.rfind("\n", 0, found.start()), len(named[1])


def _marked(sql: str, number: int, excerpt: str, at: int) -> tuple[int, int, int] | None:
    """The place of an excerpt's character in the user's lines, if it is in one of them. The engine's own lines come
    before the user's, and it cuts long lines at both ends."""
    lead = 3 if excerpt.startswith("...") else 0
    shown = excerpt[lead:].removesuffix("...")
    lines = sql.split("\n")
    for place in range(min(number, len(lines)) - 1, -1, -1):
        shift = lines[place].find(shown)
        if shift >= 0:
            return place + 1, max(1, at - lead + shift + 1), 1
    return None


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0]
