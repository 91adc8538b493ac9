"""Messages to Arrow columns, once for all queries: pure, with state only in buffers and dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mapper.batch import REASONS, Messages, ParsedBatch
from mapper.csv_fields import CsvFields
from mapper.json_fields import JsonFields
from mapper.kernels.numbers import NULLED
from mapper.parse_columns import ColumnReader
from mapper.parse_fields import expected
from mars.model.plan import Stream

NULL_EVENT_TIME = REASONS.index("null event time")
BLOCK_MESSAGES, BLOCK_BYTES = 8192, 1 << 20  # what is read at a time: about as much as fits in a core's own cache


class Parser:
    """Reads tuples of one stream; one thread at a time. `columns` are the wanted ones (their names in the stream's
    spelling); the event time is read whether it is wanted or not."""

    def __init__(self, stream: Stream, columns: tuple[str, ...]) -> None:
        self.stream = stream
        self.columns = tuple(dict.fromkeys(columns))
        self.time_column = stream.time_column
        self._fields = (JsonFields if stream.format == "JSON" else CsvFields)(
            stream, tuple(dict.fromkeys((*columns, stream.time_column))))
        types = {column.name: column.type for column in stream.columns}
        self._time = ColumnReader({"STRING": "TIMESTAMP"}.get(types[self.time_column], types[self.time_column]))
        self._readers = {name: ColumnReader(types[name]) for name in self._fields.columns}
        if types[self.time_column] == self._time.type:  # then it is read only once, even if it is wanted as a column too
            self._readers[self.time_column] = self._time
        elif self.time_column not in self.columns:
            del self._readers[self.time_column]
        self._tuples_per_message = 1.0

    def parse(self, messages: Messages) -> ParsedBatch:
        """All tuples of the messages. The values of a tuple depend only on its message and the stream."""
        offset, line, tuple_bad = self._read(messages)
        columns, bad = {}, {}
        for name, reader in self._readers.items():
            if name != self.time_column or name in self.columns:
                columns[name], reasons = reader.array()
                if reasons is not None:
                    bad[name] = reasons
        time, reasons = _event_time(self._time)
        if reasons is not None:
            bad[self.time_column] = reasons
        tuple_bad = self._strict(len(offset), tuple_bad, bad)
        return ParsedBatch({name: columns[name] for name in self.columns}, time, offset, line,
                           {name: value for name, value in bad.items() if name in self._fields_asked()}, tuple_bad)

    def _read(self, messages: Messages) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Reads all columns of one block before the next block, so that the block's bytes come from memory only once.

        Returns offset, line, and the reason of each tuple that cannot be read at all (None if there is none).
        """
        readers = [*self._readers.items()]
        if self._time not in self._readers.values():
            readers.append((self.time_column, self._time))
        for _, reader in readers:
            reader.begin(expected(messages, self._tuples_per_message))
        offsets: list[np.ndarray] = []
        lines: list[np.ndarray] = []
        reasons: list[np.ndarray | None] = []
        for block in blocks(messages):
            fields = self._fields.fields(block)
            for name, reader in readers:
                reader.add(fields.columns[name])
            offsets.append(fields.offset)
            lines.append(fields.line)
            reasons.append(fields.tuple_bad)
        if not offsets:
            return np.empty(0, np.int64), np.empty(0, np.int32), None
        bad = None
        if any(part is not None for part in reasons):
            bad = np.concatenate([np.zeros(len(offset), np.uint8) if part is None else part
                                  for part, offset in zip(reasons, offsets, strict=True)])
        self._tuples_per_message = max(1.0, 1.1 * sum(map(len, offsets)) / len(messages))
        return np.concatenate(offsets), np.concatenate(lines), bad

    def places(self, messages: Messages) -> tuple[np.ndarray, ...]:
        """(offset, line, start and length in the buffer) of all tuples of the messages, as `parse` cuts them."""
        found = [self._fields.fields(block, placed=True) for block in blocks(messages)]
        return (np.concatenate([part.offset for part in found]), np.concatenate([part.line for part in found]),
                *np.concatenate([part.place for part in found], axis=1))

    def _fields_asked(self) -> set[str]:
        """The columns whose bad values are reported by name."""
        return {*self.columns, self.time_column}

    def _strict(self, length: int, tuple_bad: np.ndarray | None, bad: dict[str, np.ndarray]) -> np.ndarray | None:
        """Reasons of whole tuples. In a STRICT stream, a bad value makes a tuple bad even if nobody asked for its
        column."""
        asked = self._fields_asked()
        for name, reasons in bad.items():
            if name not in asked:
                tuple_bad = np.zeros(length, np.uint8) if tuple_bad is None else tuple_bad
                np.copyto(tuple_bad, reasons, where=tuple_bad == 0)
        return tuple_bad


def blocks(messages: Messages) -> Iterator[Messages]:
    """The messages in parts of at most BLOCK_MESSAGES and about BLOCK_BYTES, as views; a message is never cut."""
    first = 0
    while first < len(messages):
        part = messages.part(first, first + BLOCK_MESSAGES)
        if part.length.sum() > BLOCK_BYTES:
            part = part.part(0, max(int(np.searchsorted(np.cumsum(part.length), BLOCK_BYTES, "right")), 1))
        yield part
        first += len(part)


def _event_time(reader: ColumnReader) -> tuple[np.ndarray, np.ndarray | None]:
    """(event time in the stream's unit, reason per tuple or None); a NULL has the reason 'null event time'."""
    states = reader.states
    if states is None:
        return reader.values, None
    return np.where(states == 0, reader.values, 0), np.where(states == NULLED, np.uint8(NULL_EVENT_TIME), states)
