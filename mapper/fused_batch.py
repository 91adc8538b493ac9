"""Batches by both ways of reading: what the kernel takes, and beside it what only mapper/parse.py reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mapper.batch import Messages, ParsedBatch
from mapper.fused import FusedReader, can_read
from mapper.parse import Parser
from mapper.records import Records
from mapper.timing import judge

READERS_MAX = 16  # each keeps dictionaries of its columns' texts


@dataclass
class Read:
    """A batch, and what mapper/parse.py has read of it, as messages and as a batch: no other tuple does not read."""

    batch: ParsedBatch
    unusual: Messages
    rest: ParsedBatch | None


class FusedReaders:
    """Readers by stream and columns, for one thread."""

    def __init__(self, future_limit_ms: int) -> None:
        self.future_limit_ms = future_limit_ms
        self._readers: dict[tuple, FusedReader] = {}

    def read(self, parser: Parser, records: Records) -> Read | None:
        """A batch for that parser's stream and columns, judged (mapper.timing); None if it is for the parser alone. Raises
        CorruptRecords."""
        stream, columns = parser.stream, parser.columns
        if not can_read(stream, columns):
            return None
        key = (stream.id, columns)
        reader = self._readers.pop(key, None) or FusedReader(stream, columns, self.future_limit_ms)
        self._readers[key] = reader  # the last one used is the last one here
        if len(self._readers) > READERS_MAX:
            del self._readers[next(iter(self._readers))]
        taken = reader.read(records)
        if taken is None:
            return None
        batch, unusual = reader.batch(taken), taken.aside
        if not len(unusual):
            return Read(batch, unusual, None)
        rest = judge(stream, parser.parse(unusual), unusual, self.future_limit_ms)
        return Read(together(batch, rest), unusual, rest)


def together(one: ParsedBatch, other: ParsedBatch) -> ParsedBatch:
    """One batch of two that hold tuples of different messages, in the order of their offsets."""
    order = np.argsort(np.concatenate([one.offset, other.offset]), kind="stable")

    def both(left: np.ndarray | None, right: np.ndarray | None, type_: type = np.uint8) -> np.ndarray | None:
        if left is None and right is None:
            return None
        left = np.zeros(len(one), type_) if left is None else left
        right = np.zeros(len(other), type_) if right is None else right
        return np.concatenate([left, right])[order]

    return ParsedBatch(
        {name: pa.concat_arrays([column, other.columns[name]]).take(pa.array(order))
         for name, column in one.columns.items()},
        both(one.event_time, other.event_time), both(one.offset, other.offset), both(one.line, other.line),
        {name: both(one.bad.get(name), other.bad.get(name)) for name in [*other.bad, *one.bad]},
        both(one.tuple_bad, other.tuple_bad), both(one.future, other.future, np.bool_),
        max((batch.max_event_time for batch in (one, other) if batch.max_event_time is not None), default=None))
