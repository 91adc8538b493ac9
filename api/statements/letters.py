"""SHOW DEAD LETTERS and REDRIVE DEAD LETTERS."""

from __future__ import annotations

from functools import partial

from api.statements import letter_pages, redrive
from api.statements.answers import Answer, listing
from api.statements.context import Context
from api.statements.letter_pages import Condition
from mars.errors import SqlError
from mars.model.plan import Stream
from mars.results.cursors import LIMIT_DEFAULT
from sql import statements as kinds


def show_letters(context: Context, statement: kinds.ShowDeadLetters) -> Answer:
    """The first letters in the order of their places."""
    stream = context.catalog.stream(statement.stream.text)
    page = letter_pages.page(context, stream, _where(statement), statement.limit or LIMIT_DEFAULT)
    extra = {} if len(page.rows) else {"reason": why_none(context, stream, statement.where is not None, page.deleted)}
    return Answer("rows", table=page.rows, notes=deleted_note(context, page.deleted), extra=extra,
                  truncated=page.next is not None and len(page.rows) != statement.limit)


def redrive_letters(context: Context, statement: kinds.RedriveDeadLetters, id_: str) -> Answer:
    """One row: what was sent, or would be. SqlError if it was asked to stop before its end."""
    stream = context.catalog.stream(statement.stream.text)
    where, topic = _where(statement), statement.topic.text if statement.topic else stream.topic
    progress = partial(context.progress.report, id_)
    if statement.dry_run:
        context.kafka.require(topic)
        outcome = redrive.count(context, stream, where, progress)
    else:
        outcome = redrive.redrive(context, stream, topic, where, progress)
    if outcome.stopped:
        raise _stopped(outcome, topic)
    columns = {"topic": "STRING", "letters": "BIGINT", "bytes": "BIGINT", "transactions": "BIGINT", "sent_before": "BIGINT",
               "cut": "BIGINT"}
    row = (topic, outcome.letters, outcome.bytes, outcome.transactions, outcome.before, outcome.cut)
    return Answer("rows", table=listing(columns, [row]), notes=_told(outcome, topic, statement.dry_run))


def why_none(context: Context, stream: Stream, asked: bool, deleted: int) -> str:
    """A sentence that says why there is no letter to show; `asked` says whether a condition was given."""
    if context.config.dead_letter_bytes_max == 0:
        return "No dead letters are kept: dead_letter_bytes_max is 0."
    if asked:
        return f"No dead letter of {stream.name} meets the condition."
    if deleted:
        return f"No dead letter of {stream.name} is kept any more: {deleted_note(context, deleted)[0]}"
    return f"There are no dead letters of {stream.name}: every tuple that its queries read so far can be read."


def deleted_note(context: Context, deleted: int) -> list[str]:
    """A note on how many letters were deleted."""
    kept = context.config.dead_letter_bytes_max
    return [f"{deleted} older letters were deleted to keep {kept} bytes (dead_letter_bytes_max)."] if deleted else []


def _where(statement: kinds.ShowDeadLetters | kinds.RedriveDeadLetters) -> Condition:
    if statement.where is None:
        return Condition(None)
    return Condition(statement.where.text, statement.sql, statement.where.start)


def _stopped(outcome: redrive.Outcome, topic: str) -> SqlError:
    if not outcome.letters:
        return SqlError("the statement was stopped", "on request; none was sent")
    return SqlError("the statement was stopped", f"on request; {_amount(outcome)} had been sent to topic '{topic}'",
                    "the same statement continues, and sends none of them again")


def _amount(outcome: redrive.Outcome) -> str:
    return f"{outcome.letters} dead letters ({outcome.bytes} bytes)"


def _told(outcome: redrive.Outcome, topic: str, dry_run: bool) -> list[str]:
    notes = [f"{_amount(outcome)} would be sent to topic '{topic}'." if dry_run else
             f"{_amount(outcome)} were sent to topic '{topic}'; the same command sends none of them again."]
    if outcome.before:
        notes.append(f"{outcome.before} had been sent before.")
    if outcome.cut:
        notes.append(f"{outcome.cut} are left alone because their payload was cut; Kafka may still have their messages.")
    return notes
