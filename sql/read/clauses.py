"""Cuts our own clauses out of a SELECT's words, so that plain SQL is left.

    window (sql/read/windowing.py), then, in any order, each once: WATERMARK d [IDLE d|OFF] [MAXAHEAD d] · GRACE d
    · LATE DROP|UPDATE FOR d|TO name · EMIT FINAL [TIMEOUT d]|CHANGES|EVERY d · FROM EARLIEST|LATEST|'t' · RATE n

The keywords may be names of columns too. So a clause begins only where no name can follow: after an expression has ended,
outside parentheses, and after the FROM of the stream.
"""

from __future__ import annotations

from dataclasses import replace

from sql.read.instants import take_instant
from sql.read.other_spellings import Spelled, begins_table, read_table, replace_call
from sql.read.reader import Reader, as_name, is_duration
from sql.read.strays import FATES, stray
from sql.read.windowing import read_windowing
from sql.read.words import Word
from sql.refusals import refusal, refusal_at
from sql.statements import Clauses

OPENING = ("WINDOWING", "WATERMARK", "GRACE", "LATE", "EMIT", "FROM", "RATE")
RATE_MAX = 1_000_000_000
EXPECTS_MORE = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AND", "OR", "NOT", "AS", "IN",
    "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS", "DIV", "CASE", "WHEN", "THEN", "ELSE",
    "JOIN", "ON"
)


def cut(sql: str, words: list[Word]) -> tuple[list[Word], Clauses]:
    """The words without our clauses, and what the clauses say."""
    rest: list[Word] = []
    clauses, depth, from_seen = Clauses(), 0, False
    reader = Reader(sql, words)
    while reader.word.kind != "end":
        word = reader.word
        if depth == 0 and not from_seen and begins_table(words, reader.position):
            table, spelled = read_table(reader)
            rest += table
            clauses, from_seen = _with(sql, clauses, spelled), True
            continue
        if depth == 0 and from_seen and word.is_(*OPENING) and begins_clause(words, reader.position):
            clauses = read_clause(reader, clauses)
            continue
        if depth == 0 and from_seen and begins_clause(words, reader.position):
            refused = stray(sql, words, reader.position, clauses.places)
            if refused:
                raise refused
        depth += word.is_("(", "[") - word.is_(")", "]")
        # `IS DISTINCT FROM` is an operator.
        from_seen = from_seen or (
            depth == 0 and word.is_("FROM") and not words[reader.position - 1].is_("DISTINCT")
        )
        rest.append(reader.advance())
    plain, called = replace_call(sql, [*rest, reader.word])
    return plain, _with(sql, clauses, called) if called else clauses


def _with(sql: str, clauses: Clauses, spelled: Spelled) -> Clauses:
    """The clauses with a window that is written as another system does; refuses a second window."""
    if clauses.window is not None:
        raise refusal(sql, spelled.start, spelled.end, "the window is given twice", "", "remove one of the two")
    partition = None if spelled.partition is None else tuple(map(as_name, spelled.partition))
    return replace(clauses, window=spelled.window, time=as_name(spelled.time), partition=partition,
                   places={**clauses.places, "WINDOWING": (spelled.start, spelled.end)})


def begins_clause(words: list[Word], index: int) -> bool:
    """True if an expression has ended before words[index], so that no name can follow."""
    before = words[index - 1]
    if words[index].is_("LATE") and not words[index + 1].is_(*FATES):
        return False
    if before.is_(*EXPECTS_MORE):
        # A column may have one of these words as its name, too: `GROUP BY limit WINDOWING 60 s`.
        return index >= 2 and words[index - 2].is_(*EXPECTS_MORE, ",") and is_duration(words, index + 1)
    return before.kind in ("name", "text", "number", "quoted") or before.is_(")", "]", "*")


def read_clause(reader: Reader, clauses: Clauses) -> Clauses:
    """Reads the clause at the reader and adds it; refuses a second one of its kind."""
    word = reader.advance()
    keyword = word.value.upper()
    if keyword in clauses.places:
        raise refusal_at(reader.sql, word, f"{keyword} is given twice", "each clause is given at most once",
                      f"remove one {keyword}")
    values = READERS[keyword](reader, word)
    end = reader.words[reader.position - 1].end
    return replace(clauses, **values, places={**clauses.places, keyword: (word.start, end)})


def read_watermark(reader: Reader, word: Word) -> dict:
    """WATERMARK d [IDLE d | OFF] [MAXAHEAD d]; the last two in any order."""
    values = {"watermark_ms": reader.take_duration("WATERMARK", zero=True)}
    while part := reader.accept("IDLE", "MAXAHEAD"):
        name = {"IDLE": "idle_ms", "MAXAHEAD": "max_ahead_ms"}[part.value.upper()]
        if name in values:
            raise refusal_at(reader.sql, part, f"{part.value.upper()} is given twice", "",
                             f"remove one {part.value.upper()}")
        if name == "idle_ms" and reader.accept("OFF"):
            values[name] = 0
        else:
            values[name] = reader.take_duration(part.value.upper(), zero=name == "max_ahead_ms")
    return values


def read_grace(reader: Reader, word: Word) -> dict:
    """GRACE d."""
    grace_ms = reader.take_duration("GRACE", zero=True)
    if reader.word.is_("LATE") and not reader.words[reader.position + 1].is_(*FATES):
        reader.advance()
        raise reader.expected("DROP, UPDATE or TO", "write LATE DROP", FATES[:2])
    return {"grace_ms": grace_ms}


def read_late(reader: Reader, word: Word) -> dict:
    """LATE DROP | UPDATE FOR d | TO name."""
    if reader.accept("DROP"):
        return {}
    if reader.accept("TO"):
        return {"late_to": as_name(reader.take_name("the late tuples"))}
    if not reader.accept("UPDATE"):
        raise reader.expected("DROP, UPDATE or TO", "write LATE DROP", ("DROP", "UPDATE"))
    reader.take("FOR", hint="write LATE UPDATE FOR 10 min")
    return {"late_for_ms": reader.take_duration("LATE UPDATE FOR")}


def read_emit(reader: Reader, word: Word) -> dict:
    """EMIT FINAL [TIMEOUT d] | CHANGES | EVERY d."""
    if reader.accept("EVERY"):
        values = {"emission": "EVERY", "emit_every_ms": reader.take_duration("EMIT EVERY")}
    else:
        found = reader.take("FINAL", "CHANGES", hint="write EMIT FINAL, EMIT CHANGES or EMIT EVERY d")
        if found.is_("FINAL") and reader.accept("TIMEOUT"):
            return {"emission": "FINAL", "timeout_ms": reader.take_duration("EMIT FINAL TIMEOUT")}
        values = {"emission": found.value.upper()}
    if reader.word.is_("TIMEOUT"):
        raise refusal_at(reader.sql, reader.word, "TIMEOUT goes with EMIT FINAL alone",
                         "a row of it says whether the clock has closed its window", "write EMIT FINAL TIMEOUT 5 min")
    return values


def read_start(reader: Reader, word: Word) -> dict:
    """FROM EARLIEST | LATEST | 't'."""
    if reader.word.kind == "text":
        return {"start": take_instant(reader, "FROM")}
    return {
        "start": reader.take(
            "EARLIEST", "LATEST", hint="write FROM EARLIEST, FROM LATEST or FROM '2026-01-31T12:00:00Z'"
        ).value.upper()
    }


def read_rate(reader: Reader, word: Word) -> dict:
    """RATE n: tuples a second."""
    return {"rate": reader.take_whole(RATE_MAX, "write RATE 100000")}


READERS = {"WINDOWING": read_windowing, "WATERMARK": read_watermark, "GRACE": read_grace, "LATE": read_late,
           "EMIT": read_emit, "FROM": read_start, "RATE": read_rate}
