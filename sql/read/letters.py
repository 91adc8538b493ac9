"""SHOW DEAD LETTERS, SHOW LATE and REDRIVE DEAD LETTERS, after their first word.

    SHOW DEAD LETTERS FROM stream [WHERE condition] [LIMIT n]
    SHOW LATE FROM name [LIMIT n]
    REDRIVE DEAD LETTERS FROM stream [INTO 'topic'] [WHERE condition] [DRY RUN]

A condition is kept as text; sql.check.condition compiles it over the columns that letters have.
"""

from __future__ import annotations

from mars.model.identifiers import identifier
from sql.read.reader import Reader, as_name
from sql.refusals import refusal_at
from sql.statements import Name, RedriveDeadLetters, ShowDeadLetters, ShowLate

SHOW_HINT = "write SHOW DEAD LETTERS FROM stream LIMIT 10"
REDRIVE_HINT = "write REDRIVE DEAD LETTERS FROM stream INTO 'topic'"


def read_show_letters(reader: Reader) -> ShowDeadLetters:
    """After SHOW DEAD."""
    stream = _stream(reader, SHOW_HINT)
    where = _condition(reader, "LIMIT")
    limit = _limit(reader) if reader.accept("LIMIT") else None
    reader.take_end()
    return ShowDeadLetters(stream, where, limit, reader.sql)


def read_show_late(reader: Reader) -> ShowLate:
    """After SHOW LATE."""
    reader.take("FROM", hint="write SHOW LATE FROM name, which LATE TO name of a query gives")
    name = as_name(reader.take_name("the late tuples"))
    if reader.word.is_("WHERE"):
        raise refusal_at(reader.sql, reader.word, "SHOW LATE takes no condition", "it shows the first ones by their places",
                         f"write SELECT * FROM {identifier(name.text)} WHERE ...")
    limit = _limit(reader) if reader.accept("LIMIT") else None
    reader.take_end()
    return ShowLate(name, limit)


def read_redrive(reader: Reader) -> RedriveDeadLetters:
    """After REDRIVE."""
    reader.take("DEAD", hint=REDRIVE_HINT)
    stream = _stream(reader, REDRIVE_HINT)
    topic = None
    if reader.accept("INTO"):
        word = reader.take_topic()
        topic = as_name(word)
    where = _condition(reader, "DRY")
    dry_run = reader.accept("DRY") is not None
    if dry_run:
        reader.take("RUN", hint="write DRY RUN at the end")
    reader.take_end()
    return RedriveDeadLetters(stream, topic, where, dry_run, reader.sql)


def _stream(reader: Reader, hint: str) -> Name:
    """LETTERS FROM stream."""
    reader.take("LETTERS", hint=hint)
    reader.take("FROM", hint=hint)
    return as_name(reader.take_name("the stream"))


def _condition(reader: Reader, following: str) -> Name | None:
    """WHERE and everything up to the next clause or the end, with its place."""
    where = reader.accept("WHERE")
    if where is None:
        return None
    first = last = reader.word
    while reader.word.kind != "end" and not reader.word.is_(following, ";"):
        last = reader.advance()
    if last is first and reader.word is first:
        raise refusal_at(reader.sql, where, "WHERE needs a condition", "there is none after it",
                         "write WHERE reason LIKE '%not a number%'")
    return Name(reader.sql[first.start:last.end], first.start, last.end)


def _limit(reader: Reader) -> int:
    return reader.take_whole(100_000, "write LIMIT 10")
