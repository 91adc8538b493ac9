"""Messages to Arrow columns, once for all queries: pure, with state only in buffers and dictionaries."""

from __future__ import annotations

import numpy as np

from mapper.batch import REASONS, Messages, ParsedBatch
from mapper.csv_fields import CsvFields
from mapper.json_fields import JsonFields
from mapper.kernels.numbers import NULLED
from mapper.parse_columns import ColumnReader, Values, read_values
from mapper.parse_fields import Fields
from mars.plan import Stream

NULL_EVENT_TIME = REASONS.index("null event time")


class Parser:
    """Reads tuples of one stream; one thread at a time. `columns` are the wanted ones (their names in the stream's
    spelling); the event time is read whether it is wanted or not."""

    def __init__(self, stream: Stream, columns: tuple[str, ...]) -> None:
        self.stream = stream
        self.columns = tuple(dict.fromkeys(columns))
        needed = tuple(dict.fromkeys((*columns, stream.time_column)))
        self._fields = (JsonFields if stream.format == "JSON" else CsvFields)(stream, needed)
        types = {column.name: column.type for column in stream.columns}
        self._readers = {name: ColumnReader(types[name]) for name in self._fields.columns}
        self._time_as = {"STRING": "TIMESTAMP"}.get(types[stream.time_column], types[stream.time_column])

    def parse(self, messages: Messages) -> ParsedBatch:
        """All tuples of the messages; what a tuple reads as depends on nothing but its message and the stream."""
        fields = self._fields.fields(messages)
        bad: dict[str, np.ndarray] = {}
        time_column = self.stream.time_column
        times = read_values(self._time_as, fields.columns[time_column])
        time, reasons = _event_time(times)
        columns = {}
        for name, reader in self._readers.items():
            if name == time_column and name not in self.columns:
                continue
            # The event time is read once, also when it is wanted as a column.
            is_read = name == time_column and self._time_as == reader.type
            columns[name], bad_values = reader.array(times) if is_read else reader.read(fields.columns[name])
            if bad_values is not None:
                bad[name] = bad_values
        if reasons is not None:
            bad[time_column] = reasons
        tuple_bad = self._strict(fields, bad)
        return ParsedBatch({name: columns[name] for name in self.columns}, time, fields.offset, fields.line,
                           {name: value for name, value in bad.items() if name in self._fields_asked()}, tuple_bad)

    def _fields_asked(self) -> set[str]:
        """The columns whose bad values are told by name."""
        return {*self.columns, self.stream.time_column}

    def _strict(self, fields: Fields, bad: dict[str, np.ndarray]) -> np.ndarray | None:
        """Reasons of whole tuples; a STRICT stream's tuple is bad also for a column that nobody asked for."""
        tuple_bad = fields.tuple_bad
        asked = self._fields_asked()
        for name, reasons in bad.items():
            if name not in asked:
                tuple_bad = np.zeros(len(fields), np.uint8) if tuple_bad is None else tuple_bad
                np.copyto(tuple_bad, reasons, where=tuple_bad == 0)
        return tuple_bad


def _event_time(values: Values) -> tuple[np.ndarray, np.ndarray | None]:
    """(event time in the stream's unit, reason per tuple or None); a NULL has the reason 'null event time'."""
    time, state, others = values
    if not others:
        return time, None
    return np.where(state == 0, time, 0), np.where(state == NULLED, np.uint8(NULL_EVENT_TIME), state)
