"""A sink's way into a table of Iceberg: exactly once, for whoever reads the table.

Rows and mark come by one commit: the mark is a property of the snapshot that has the rows, and of the table, for the day on
which that snapshot has expired. A commit is taken only if the table is still as this owner has seen it. A new owner commits
a snapshot without rows before it begins, so what an earlier one has under way is refused.
"""

from __future__ import annotations

import pyarrow as pa

from mars import faults
from mars.adapters.iceberg import LakeTable, OvertakenError
from mars.adapters.target_errors import ProgressLostError, RowsRefusedError, TargetAwayError
from mars.model.connections import Connection
from mars.model.sinks import Mark, Sink
from mars.publisher.iceberg_table import check, schema_of
from mars.publisher.target import Pace, Shape, Way, lost, under

ROWS_MAX = 1 << 30  # time and bytes decide
TRIES = 5  # others may write into the table, too


class IcebergTarget:
    """One table, in which other sinks and other systems may write, too."""

    keeps_mark = True

    def __init__(self, way: Way, sink: Sink, shape: Shape, connection: Connection) -> None:
        self.pace = Pace(sink.into.every_ms / 1000, ROWS_MAX, sink.into.bytes_max)
        self.shape = shape
        self.key = f"mars.sink.{way.instance}.{sink.id}"
        self.lake = LakeTable(connection, way.secret, sink.into.name)
        self.mark: Mark | None = None

    def prepare(self, may_make: bool) -> bool:
        """As Target.prepare."""
        if self.lake.load():
            check(self.lake, self.shape)
            return False
        if not may_make:
            raise ProgressLostError("the table is gone", f"{self.lake.where} has no table {self.lake.name}, though rows "
                                    "were delivered into it")
        self.lake.make(schema_of(self.shape))
        check(self.lake, self.shape)
        return True

    def claim(self, fresh: Mark, is_known: bool) -> Mark:
        """As Target.claim."""
        for _ in range(TRIES):
            found = self._found()
            if found is None and is_known:
                raise lost(f"no snapshot of table {self.lake.name} has the property {self.key}")
            self.mark = under(found or fresh, fresh)
            try:
                self._append(None, self.mark)
                return self.mark
            except OvertakenError:  # by an owner of an earlier epoch, which may have delivered, or by somebody else
                continue
        raise self._busy()

    def deliver(self, rows: pa.Table, mark: Mark) -> None:
        """As Target.deliver."""
        for _ in range(TRIES):
            try:
                self._append(rows, mark)
                self.mark = mark
                return
            except OvertakenError:
                found = self._found()
            if found is None:
                raise lost(f"table {self.lake.name} has no property {self.key} any more")
            if under(found, mark) != self.mark:  # what readers see is the truth: the next claim goes on from there
                raise TargetAwayError(f"table {self.lake.name} was set back", f"to where it has {found.rows} rows of ours")
        raise self._busy()

    def close(self) -> None:
        """As Target.close."""
        self.lake.close()

    def _append(self, rows: pa.Table | None, mark: Mark) -> None:
        fields = self.lake.fields([name for name, _ in self.shape.columns])
        try:
            ready = fields.empty_table() if rows is None else rows.select(fields.names).cast(fields)
        except (pa.ArrowInvalid, ValueError) as error:
            raise RowsRefusedError(f"table {self.lake.name} refuses rows", str(error), "change the table; or DROP the sink "
                                   "and CREATE it with a WHERE that leaves the rows out") from None
        self.lake.append(ready, {self.key: mark.dump()}, _ignored if rows is None else _staged)

    def _found(self) -> Mark | None:
        """The mark that the table has now."""
        if not self.lake.load():
            raise lost(f"table {self.lake.name} is gone")
        text = self.lake.note(self.key)
        try:
            return None if text is None else Mark.load(text)
        except ValueError as error:
            raise lost(str(error)) from None

    def _busy(self) -> TargetAwayError:
        return TargetAwayError(f"table {self.lake.name} does not come to rest", f"others have changed it {TRIES} times "
                               "while rows were written")


def _staged() -> None:
    """The rows are in files, which no snapshot has."""
    faults.point("publisher.staged")
    faults.point("publisher.committing")


def _ignored() -> None:
    """Nothing is staged."""
