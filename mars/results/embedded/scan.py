"""Result rows as the embedded engine reads them: piece by piece, only the columns that it names, and only pieces with
rows that its condition on the window may let through. So the memory of a statement does not grow with the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from mars.results.pieces import Piece

FORMAT, FILES = ds.IpcFileFormat(), fs.LocalFileSystem()
BATCH_ROWS = 100_000
TOLD_AT_ONCE = 256


@dataclass(frozen=True)
class Closed:
    """Rows of closed windows, not read yet."""

    schema: pa.Schema
    pieces: tuple[Piece, ...]


class Scan(ds.Dataset):
    """A data set. The engine asks it for `schema` and `scanner`, anew for each reading. `check` is called before each
    piece and may end the reading by raising. Any other error of a reading is kept as `failure`, because the engine passes
    on only its text."""

    def __init__(self, rows: Closed, check: Callable[[], None]) -> None:  # the base class has no constructor to call
        self._rows, self._check = rows, check
        self._schema = without_zone(rows.schema)
        self.failure: Exception | None = None

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(self, columns: list[str] | None = None, filter: pc.Expression | None = None) -> _Reading:
        """A reading of the rows that meet the filter."""
        return _Reading(self, self._schema.names if columns is None else columns, filter)

    def batches(self, columns: list[str], condition: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        """The columns of the rows that meet the condition."""
        for piece in self._wanted(condition):
            self._check()
            try:
                table = piece.load().cast(self._schema)
                table = (table if condition is None else table.filter(condition)).select(columns)
            except Exception as error:
                self.failure = error
                raise
            yield from table.to_batches(BATCH_ROWS)

    def _wanted(self, condition: pc.Expression | None) -> Iterator[Piece]:
        """The pieces that may have rows that meet the condition. Arrow can decide this for files by what is known of all
        their rows. So each piece is shown to Arrow as a file, which is never opened."""
        if condition is None:
            yield from self._rows.pieces
            return
        for first in range(0, len(self._rows.pieces), TOLD_AT_ONCE):
            self._check()
            pieces = self._rows.pieces[first:first + TOLD_AT_ONCE]
            files = [FORMAT.make_fragment(str(number), FILES, partition_expression=_known(piece))
                     for number, piece in enumerate(pieces)]
            for file in ds.FileSystemDataset(files, self._schema, FORMAT, FILES).get_fragments(condition):
                yield pieces[int(file.path)]


@dataclass(frozen=True)
class _Reading:
    """One reading of a data set, with the interface that the engine expects."""

    scan: Scan
    columns: list[str]
    condition: pc.Expression | None

    def to_reader(self) -> pa.RecordBatchReader:
        schema = pa.schema([self.scan.schema.field(name) for name in self.columns])
        return pa.RecordBatchReader.from_batches(schema, self.scan.batches(self.columns, self.condition))


def without_zone(schema: pa.Schema) -> pa.Schema:
    """Instants as plain UTC timestamps, because time zones would need an extension."""
    return pa.schema([field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
                      for field in schema])


def instant(us: int) -> pa.Scalar:
    """An instant in the form of the engine's tables."""
    return pa.scalar(us, pa.timestamp("us"))


def _known(piece: Piece) -> pc.Expression:
    spans = (("window_start", piece.first_us, piece.last_us), ("window_end", piece.first_end_us, piece.last_end_us))
    start, end = ((ds.field(name) >= instant(first)) & (ds.field(name) <= instant(last)) for name, first, last in spans)
    return start & end
