"""The rows that a delivery holds until they go to the target together."""

from __future__ import annotations

import pyarrow as pa

from mars.publisher.target import Pace
from mars.runtime.periods import Every
from mars.runtime.system import Clock


class Batch:
    """Rows in their order, at most about as many as the pace lets them become."""

    def __init__(self, pace: Pace, schema: pa.Schema, clock: Clock) -> None:
        self.pace, self.schema = pace, schema
        self.rows = self.bytes = 0
        self._tables: list[pa.Table] = []
        self._age = Every(pace.every_s, clock)

    def add(self, table: pa.Table) -> None:
        """Hold further rows. The first ones begin the time that they may wait."""
        if not self.rows:
            self._age.begin()
        self._tables.append(table)
        self.rows += len(table)
        self.bytes += table.nbytes

    def is_full(self) -> bool:
        """Are there as many rows or bytes as may be?"""
        return self.rows >= self.pace.rows_max or self.bytes >= self.pace.bytes_max

    def is_due(self) -> bool:
        """Are there rows that wait no longer?"""
        return self.rows > 0 and (self.is_full() or self._age.is_due())

    def due_in_s(self) -> float:
        """Seconds until the rows that are held wait no longer."""
        return 0.0 if self.is_full() else max(0.0, self._age.due_in_s())

    def take(self) -> pa.Table:
        """All of them; none are held any more."""
        taken = pa.concat_tables([self.schema.empty_table(), *self._tables])
        self._tables, self.rows, self.bytes = [], 0, 0
        return taken
