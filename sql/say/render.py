"""An SqlError as text for a terminal: what, the line, a caret under the cause, why, and what to write
instead. A password that was written into a statement is not repeated."""

from __future__ import annotations

from mars.errors import SqlError
from sql.read.connections import hide_texts

WIDTH = 120


def caret(error: SqlError) -> str:
    """The error in lines, without colours. A long line is cut around the cause; tabs count as one column."""
    lines = [f"error: {error.title}"]
    if error.line and error.sql:
        lines += marked_line(error)
    if error.detail:
        lines.append(f"  {error.detail}")
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    return "\n".join(lines)


def marked_line(error: SqlError) -> list[str]:
    """The line of the cause with its number, and the carets under it."""
    texts = hide_texts(error.sql).split("\n")
    text = texts[error.line - 1].rstrip("\r").replace("\t", " ") if error.line <= len(texts) else ""
    first = max(0, error.column - WIDTH // 2) if len(text) > WIDTH else 0
    shown = text[first:first + WIDTH]
    before = error.column - 1 - first
    carets = "^" * max(1, min(error.length, WIDTH - before))
    number = str(error.line)
    return [f"  {number} | {shown}", f"  {' ' * len(number)} | {' ' * before}{carets}"]
