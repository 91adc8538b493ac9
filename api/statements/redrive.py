"""Sends dead letters again: into the stream's topic or another one, each once.

Every chunk is one Kafka transaction, and the places of its letters are written down before it ends. A run that was killed
is settled by the next one, which asks Kafka which transaction was the last (mars.adapters.redrive_marks).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from api.statements.context import Context
from api.statements.letter_pages import Condition, chunks, matching
from mars.adapters.kafka.security import security_of
from mars.adapters.kafka.transactions import Transactions
from mars.adapters.letters import LetterStore
from mars.adapters.redrive_marks import Redriven
from mars.model.plan import Stream

CHUNK_LETTERS, CHUNK_BYTES = 10_000, 8 << 20

Progress = Callable[[int, int], bool]  # hears of letters sent and of all there are; False asks to stop


@dataclass
class Outcome:
    """The outcome of a re-drive: letters and bytes sent (or to be sent), the number of transactions, letters left alone
    because they were cut or sent before, and whether it was stopped."""

    letters: int = 0
    bytes: int = 0
    transactions: int = 0
    cut: int = 0
    before: int = 0
    stopped: bool = False


def count(context: Context, stream: Stream, where: Condition, progress: Progress) -> Outcome:
    """What a re-drive would send now; nothing, and stopped, if a stop is requested meanwhile."""
    outcome = Outcome()
    for table in _whole(context, stream, where, outcome):
        if not progress(0, 0):
            return Outcome(stopped=True)
        outcome.letters += len(table)
        outcome.bytes += pc.sum(pc.binary_length(table["payload"])).as_py() or 0
    return outcome


def redrive(context: Context, stream: Stream, topic: str, where: Condition, progress: Progress) -> Outcome:
    """Send the letters that exist now and were not sent before. ConflictError if another run takes over."""
    partitions = tuple(context.kafka.require(topic).partitions)
    config, marks = context.config, Redriven(context.storage)
    transactions = Transactions(config.kafka_address, name(stream), security_of(config))
    try:
        marks.settle(stream.id, transactions.last)
        ends = _ends(context, stream)
        total, outcome = sum(file.count for file in LetterStore(context.storage).files(stream.id)), Outcome()
        whole = _before(ends, _whole(context, stream, where, outcome))
        for chunk, _ in chunks(whole, CHUNK_LETTERS, CHUNK_BYTES):
            if not progress(outcome.letters, total):
                outcome.stopped = True
                break
            _send(transactions, marks, stream.id, topic, partitions, chunk)
            outcome.letters += len(chunk)
            outcome.bytes += pc.sum(pc.binary_length(chunk["payload"])).as_py()
            outcome.transactions += 1
        return outcome
    finally:
        transactions.close()


def name(stream: Stream) -> str:
    """The name of a stream's re-drives in Kafka: their transactional id and consumer group."""
    return f"mars-redrive-{stream.id}-{stream.topic_id}"


def _send(transactions: Transactions, marks: Redriven, stream_id: int, topic: str, partitions: tuple[int, ...],
          chunk: pa.Table) -> None:
    """One transaction: each letter is a message of its own, in the partition with the same number if the topic has it."""
    id_ = secrets.token_hex(8)
    places = np.array(partitions)[chunk["partition"].to_numpy() % len(partitions)].tolist()
    messages = zip(places, chunk["payload"].to_pylist(), strict=True)
    transactions.send(topic, messages, id_, before_end=lambda: marks.begin(stream_id, id_, topic, chunk))
    marks.confirm(stream_id, id_)


def _whole(context: Context, stream: Stream, where: Condition, outcome: Outcome) -> Iterator[pa.Table]:
    """The letters to be sent; those that are left alone are counted."""
    for table, shown in matching(context, stream, where):
        redriven, cut = shown["redriven"], pc.and_(shown["cut"], pc.invert(shown["redriven"]))
        outcome.before += pc.sum(redriven).as_py() or 0
        outcome.cut += pc.sum(cut).as_py() or 0
        yield table.filter(pc.invert(pc.or_(redriven, cut)))


def _ends(context: Context, stream: Stream) -> dict[int, int]:
    """The current ends of the stream's topic: messages after them may have been sent by the re-drive itself."""
    topic = context.kafka.describe(stream.topic)
    return context.kafka.end_offsets(stream.topic, topic.partitions) if topic else {}


def _before(ends: dict[int, int], tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The letters below these offsets; all letters of a partition that is not listed. Each table has one partition."""
    for table in tables:
        end = ends.get(table["partition"][0].as_py()) if len(table) else None
        yield table if end is None else table.filter(pc.less(table["offset"], end))
