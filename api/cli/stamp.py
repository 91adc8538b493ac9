"""Writes the time of sending into the event-time field of lines. No other byte changes."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from api.statements.adhoc_job import time_finder
from mars.errors import MarsError
from mars.model.plan import UNITS_PER_SECOND, Stream, StreamColumn
from sql.guess.stream import Guess


class Stamper:
    """Writes the time of the call into the event-time column of lines, at the place where mappers find it."""

    def __init__(self, guess: Guess, column: str | None) -> None:
        name = column or guess.time_column
        types = {c.name: c.type for c in guess.columns}
        if name not in types:
            raise MarsError("The event-time column is not known", f"columns: {', '.join(types)}", "name it with --time")
        self.column = name
        self.unit = (guess.unit or "ms") if types[name] in ("INT", "BIGINT") else None
        self._is_json = guess.format == "JSON"
        # Read all columns as texts, so that any value has a place.
        columns = tuple(StreamColumn(c.name, "STRING", c.path) for c in guess.columns)
        stream = Stream("", 0, "", "", columns, guess.format, name, options={"delimiter": guess.delimiter})
        self._times_in = time_finder(stream)

    def __call__(self, line: bytes) -> bytes:
        """The line with the current time. A tuple that cannot be read, or whose event time is missing or NULL, stays as
        it is. A line of JSON may be an array of tuples."""
        parts: list[bytes] = []
        stamp, at = self._now(), 0
        for start, end in self._times_in(line):
            # The place of a JSON text is inside its quotes; no other value has a quote before it.
            quotes = self._is_json and line[start - 1:start] == b'"'
            parts += line[at:start - quotes], stamp
            at = end + quotes
        return b"".join([*parts, line[at:]])

    def _now(self) -> bytes:
        if self.unit:
            return b"%d" % (time.time_ns() * UNITS_PER_SECOND[self.unit] // 1_000_000_000)
        now = datetime.now(UTC).isoformat().encode()
        return b'"%s"' % now if self._is_json else now
