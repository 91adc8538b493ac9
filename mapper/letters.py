"""The dead letters of a batch: which of its tuples cannot be read, why, and their bytes. Writes their file before the
push.

If every tuple can be read, nothing is done. Otherwise the messages that hold bad tuples are cut into tuples once more, by
the same kernels as before, this time with the tuples' places.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapper.batch import REASONS, Messages, ParsedBatch
from mapper.kernels import texts
from mapper.parse import Parser
from mapper.timing import time_reasons
from mars import faults
from mars.adapters.letters import LetterStore
from mars.adapters.storage import STATE_AWAY, Storage
from mars.config import Config
from mars.model import letters
from mars.model.claims import Claim
from mars.model.plan import Stream

log = logging.getLogger("mars.mapper")
PAYLOAD_BYTES_MAX = 1 << 20  # of one letter: as much as a message has by Kafka's default
BATCH_BYTES_MAX = 16 << 20  # of the letters of one batch: about what a claim takes


class LetterBox:
    """Writes the letters of one mapper's batches; only into the state folder of `instance`, if that is known."""

    def __init__(self, config: Config, instance: str | None = None) -> None:
        self.keeps = config.dead_letter_bytes_max > 0
        self.store = LetterStore(Storage(config.state_root, instance))

    def keep(self, parser: Parser, claim: Claim, messages: Messages, batch: ParsedBatch) -> bool:
        """Write the letters of a batch that the parser has just read from the messages; durable when this returns. False
        if they could not be written; that harms nothing else."""
        if not self.keeps:
            return True
        make = partial(letters_of, parser, claim.partition, messages, batch)
        return self._write(parser.stream, claim, make, parser.columns)

    def keep_unread(self, stream: Stream, claim: Claim, reason: str) -> bool:
        """The same for a claim's one offset whose message cannot be read: a letter without bytes."""
        if not self.keeps:
            return True
        row = {"partition": claim.partition, "offset": claim.start, "line": 0, "reason": reason, "payload": b"", "cut": True}
        return self._write(stream, claim, partial(pa.Table.from_pylist, [row], schema=letters.SCHEMA), (reason,))

    def _write(self, stream: Stream, claim: Claim, make: Callable[[], pa.Table | None],
               follows_from: tuple[str, ...]) -> bool:
        try:
            table = make()
            if table is None:
                return True
            file = letters.LetterFile(claim.partition, claim.start, claim.end, len(table), letters.digest(*follows_from))
            self.store.write(stream.id, file, letters.encode(table))
        except Exception as error:  # a problem with letters must not fail their batch
            log.warning("stream %s: dead letters of [%d, %d) of partition %d are not kept: %r", stream.name, claim.start,
                        claim.end, claim.partition, error, exc_info=not isinstance(error, STATE_AWAY))
            return False
        faults.point("mapper.letters_written")
        return True


def letters_of(parser: Parser, partition: int, messages: Messages, batch: ParsedBatch) -> pa.Table | None:
    """The letters (mars.model.letters.SCHEMA) of a batch in the order of its tuples, None if there are none. Each has the
    reason of the tuple as a whole; or else all other reasons: the event time's, then the columns' in the stream's
    order."""
    found = _reasons(parser.stream, batch)
    if not found:
        return None
    rows = np.flatnonzero(np.logical_or.reduce([reasons != 0 for _, reasons in found]))
    at = np.searchsorted(messages.offset, batch.offset[rows])
    start, length = _places(parser, messages, at, batch.offset[rows], batch.line[rows])
    kept = np.minimum(length, PAYLOAD_BYTES_MAX)
    kept[np.cumsum(kept) > BATCH_BYTES_MAX] = 0
    return pa.Table.from_arrays([
        pa.array(np.full(len(rows), partition, np.int32)), pa.array(batch.offset[rows]), pa.array(batch.line[rows]),
        pa.array(messages.time_ms[at]).cast(letters.SCHEMA.field("time").type), _texts(found, rows),
        _payloads(messages.buffer, start, kept), pa.array(kept < length)], schema=letters.SCHEMA)


def _reasons(stream: Stream, batch: ParsedBatch) -> list[tuple[str, np.ndarray]]:
    """(prefix, reason per tuple) of everything that cannot be read."""
    others = [(f"{column.name}: ", batch.bad[column.name]) for column in stream.columns
              if column.name in batch.bad and column.name != stream.time_column]
    found = [*time_reasons(stream, batch), *others]
    if batch.tuple_bad is None:
        return found
    # If a tuple cannot be read at all, its columns mean nothing.
    reads = batch.tuple_bad == 0
    return [("", batch.tuple_bad), *((prefix, reasons * reads) for prefix, reasons in found[1:])]


def _places(parser: Parser, messages: Messages, at: np.ndarray, offset: np.ndarray,
            line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(start, length) of the tuples at (offset, line), which are in the messages with the numbers `at`; all ascend."""
    held = messages.at(at[np.diff(at, prepend=-1) > 0])
    offsets, lines, start, length = parser.places(held)
    width = int(lines.max()) + 1
    keys = np.searchsorted(held.offset, offsets) * width + lines
    found = np.searchsorted(keys, np.searchsorted(held.offset, offset) * width + line)
    return start[found], length[found]


def _texts(found: list[tuple[str, np.ndarray]], rows: np.ndarray) -> pa.Array:
    """Each row's reasons as text."""
    columns = [pa.array([None, *(prefix + reason for reason in REASONS[1:])]).take(pa.array(reasons[rows]))
               for prefix, reasons in found]
    return pc.binary_join_element_wise(*columns, letters.JOINT, null_handling="skip")


def _payloads(buffer: np.ndarray, start: np.ndarray, length: np.ndarray) -> pa.Array:
    """The bytes at these places."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(length)])
    data = np.empty(int(ends[-1]), np.uint8)
    texts.gather(buffer, start, length, data)
    return pa.Array.from_buffers(pa.binary(), len(start), [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)])
