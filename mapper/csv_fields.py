"""CSV messages to fields: RFC 4180 with the stream's delimiter, quote and NULL text.

A message holds one tuple or many lines of them; a quoted field may hold newlines. A quote opens a quoted field only as
the field's first byte. A carriage return before a newline or at a message's end is not part of the tuple. Lines with only
spaces and tabs hold no tuple. `line` counts the lines of a message from 0, blank ones too. If a quoted field holds a
newline, not only at the message's end, and cannot be read, the whole tuple is bad, whatever columns are wanted: the field
may have swallowed other tuples.
"""

from __future__ import annotations

import numpy as np

from mapper.batch import Messages
from mapper.kernels import csv
from mapper.parse_fields import Column, Fields, Room, expected, side_column
from mars.model.plan import Stream


class CsvFields:
    """Finds the fields of some of a stream's columns; all of them if the stream is STRICT."""

    def __init__(self, stream: Stream, columns: tuple[str, ...]) -> None:
        self.delimiter = _one_byte(stream.options.get("delimiter") or ",")
        self.quote = _one_byte(stream.options.get("quote", '"'))
        self.null_text = np.frombuffer((stream.options.get("null") or "").encode(), np.uint8)
        self.strict = bool(stream.options.get("strict"))
        names = [column.name for column in stream.columns]
        self.columns = tuple(name for name in names if self.strict or name in columns)
        self.numbers = np.array([names.index(name) for name in self.columns], np.int64)
        self._room = Room()
        self._tuples_per_message = 1.0

    def fields(self, messages: Messages, placed: bool = False) -> Fields:
        """The tuples of these messages; `placed` adds their own places. Never raises because of a message's content."""
        while True:
            room = expected(messages, self._tuples_per_message)
            message, line = self._room.take("message", room, np.int64)[:room], np.empty(room, np.int32)
            start, length, kind = (self._room.take(name, room, dtype, len(self.columns)) for name, dtype in
                                   (("start", np.int64), ("length", np.int64), ("kind", np.uint8)))
            tuple_bad = np.zeros(room, np.uint8)
            place: tuple[np.ndarray, ...] = (np.empty((2, room), np.int64),) if placed else ()
            find = csv.place_fields if placed else csv.find_fields
            n = find(messages.buffer, messages.start, messages.length, self.delimiter, self.quote, self.numbers,
                     self.null_text, self.strict, message, line, start, length, kind, tuple_bad, *place)
            if n >= 0:
                break
            self._tuples_per_message *= 2
        self._tuples_per_message = max(1.0, 1.1 * n / max(len(messages), 1))
        columns = {name: Column(messages.buffer, start[i, :n], length[i, :n], kind[i, :n], self._unescape)
                   for i, name in enumerate(self.columns)}
        tuple_bad = tuple_bad[:n]
        return Fields(columns, messages.offset[message[:n]], line[:n], tuple_bad if tuple_bad.any() else None,
                      place[0][:, :n] if placed else None)

    def _unescape(self, column: Column) -> Column:
        """The texts of fields with doubled quotes in them."""
        out, ends = np.empty(int(column.length.sum()), np.uint8), np.empty(len(column), np.int64)
        csv.unescape(column.buffer, column.start, column.length, self.quote, out, ends)
        return side_column(out, ends, self._unescape)


def _one_byte(text: str) -> int:
    """The one byte of a delimiter or quote, -1 for none."""
    code = text.encode()
    if len(code) > 1:
        raise ValueError(f"a delimiter or quote is one ASCII character, not {text!r}")
    return code[0] if code else -1
