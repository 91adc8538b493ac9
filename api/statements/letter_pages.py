"""Dead letters as people see them: those that meet a condition, in the order of places, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from api.statements.context import Context
from mars.adapters.letters import LetterStore
from mars.adapters.redrive_marks import Redriven
from mars.algebra.evaluate import evaluate
from mars.errors import RequestError, SqlError
from mars.model import letters, types
from mars.model.plan import Stream
from mars.results import cursors
from mars.results.cursors import Number
from mars.results.times import instants
from sql.check.condition import compile_condition

COLUMNS = (("partition", "INT"), ("offset", "BIGINT"), ("line", "INT"), ("time", "TIMESTAMP"), ("reason", "STRING"),
           ("payload", "STRING"), ("cut", "BOOLEAN"), ("redriven", "BOOLEAN"))
SHOWN = pa.schema([(name, types.to_arrow(type_)) for name, type_ in COLUMNS])
PAGE_BYTES = 32 << 20
TRIES = 5
Place = tuple[int, int, int]
CURSOR = TypeAdapter(tuple[Number, Number, Number, Number])  # the stream's id, and the place of the last letter


@dataclass(frozen=True)
class Page:
    """Letters with the columns of SHOWN, the cursor of the next page (None on the last), and the number of letters that
    were deleted earlier to stay within the limit."""

    rows: pa.Table
    next: str | None
    deleted: int


class Condition:
    """A condition over the columns of SHOWN, in the dialect; None accepts every letter. An invalid one raises SqlError
    when it is made, with its place in the text, or in `sql`, the statement that has the text from `start` on."""

    def __init__(self, text: str | None, sql: str = "", start: int = 0) -> None:
        self.expression = None
        try:
            if text is not None:
                self.expression = compile_condition(text, COLUMNS, "SHOW DEAD LETTERS shows the columns")
        except SqlError as error:
            before = sql[:start]
            column = error.column + (start - before.rfind("\n") - 1 if error.line == 1 else 0)
            raise SqlError(error.title, error.detail, error.hint, sql=sql or text or "",
                           line=error.line + before.count("\n"), column=column, length=error.length) from None

    def rows(self, shown: pa.Table) -> np.ndarray:
        """The numbers of the rows that meet it."""
        if self.expression is None or not len(shown):
            return np.arange(len(shown))
        columns = {name: shown[name].combine_chunks() for name in shown.column_names}
        return np.flatnonzero(evaluate(self.expression, columns, len(shown)).fill_null(False).to_numpy(zero_copy_only=False))


def page(context: Context, stream: Stream, where: Condition, limit: int, cursor: str | None = None) -> Page:
    """At most `limit` letters, and about PAGE_BYTES at most. RequestError for an invalid cursor, or one of another
    stream."""
    shown = (table for _, table in matching(context, stream, where, _load(cursor, stream) if cursor else None))
    rows, more = next(chunks(shown, limit, PAGE_BYTES), (SHOWN.empty_table(), False))
    deleted = LetterStore(context.storage).deleted(stream.id)
    return Page(rows, cursors.dump([stream.id, *place_of(rows)]) if more else None, deleted)


def matching(context: Context, stream: Stream, where: Condition,
             after: Place | None = None) -> Iterator[tuple[pa.Table, pa.Table]]:
    """(letters, the same as they are shown) after a place, table by table; some may be empty."""
    store, marks, tries = LetterStore(context.storage), Redriven(context.storage).marks(stream.id), 0
    while True:
        try:
            for table in store.in_order(stream.id, after):
                shown = show(table, marks.of(table))
                rows = where.rows(shown)
                yield table.take(rows), shown.take(rows)
                after, tries = place_of(table), 0
            return
        except FileNotFoundError:  # files are merged and deleted meanwhile: continue with those that exist now
            tries += 1
            if tries == TRIES:
                raise


def chunks(tables: Iterator[pa.Table], letters_max: int, bytes_max: int) -> Iterator[tuple[pa.Table, bool]]:
    """The same letters in tables of at most so many, with payloads of about so many bytes, and not of less where there are
    more; with each whether more are known to follow."""
    waiting = None
    for table in chain(tables, [None]):
        waiting = waiting if table is None else table if waiting is None else pa.concat_tables([waiting, table])
        while waiting is not None and len(waiting):
            ends = np.cumsum(pc.binary_length(waiting["payload"]).to_numpy())
            stop = max(1, min(letters_max, int(np.searchsorted(ends, bytes_max, "right"))))
            if stop >= len(waiting) and table is not None:
                break
            yield waiting.slice(0, stop), stop < len(waiting)
            waiting = waiting.slice(stop)


def show(table: pa.Table, redriven: pa.Array) -> pa.Table:
    """Letters as people see them: bytes that are not UTF-8 as \\xNN; `redriven` says of each whether it was sent
    again."""
    places, time = [table[name] for name in letters.PLACE], instants(table["time"])
    columns = [*places, time, table["reason"], _text(table["payload"]), table["cut"]]
    return pa.Table.from_arrays([*columns, redriven], schema=SHOWN)


def place_of(table: pa.Table) -> Place:
    """The place of a table's last letter."""
    return tuple(table[name][-1].as_py() for name in letters.PLACE)


def _text(payload: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    try:
        return payload.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode("utf-8", "backslashreplace") for value in payload.to_pylist()], pa.string())


def _load(text: str, stream: Stream) -> Place:
    stream_id, partition, offset, line = cursors.load(text, CURSOR)
    if stream_id != stream.id:
        raise RequestError("the cursor belongs to another stream", hint="begin again without cursor")
    return partition, offset, line
