"""Dead letters as people see them: in the order of places, those that a condition holds for, page by page."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from api.context import Context
from api.embedded import Engine, condition
from api.problems import RequestError
from mars import letters
from mars.adapters.letters import LetterStore
from mars.adapters.redriven import Redriven
from mars.errors import SqlError
from mars.plan import Stream
from sql.words import read_words

SHOWN = pa.schema([*(letters.SCHEMA.field(name) for name in ("partition", "offset", "line", "time", "reason")),
                   ("payload", pa.string()), ("cut", pa.bool_()), ("redriven", pa.bool_())])
TRIES = 5
Place = tuple[int, int, int]


@dataclass(frozen=True)
class Page:
    """Letters as SHOWN says, the cursor of the next page (None on the last), and how many letters were deleted before to
    stay within the limit."""

    rows: pa.Table
    next: str | None
    deleted: int


class Condition:
    """A condition over the columns of SHOWN, checked when it is made: SqlError with the place in `sql`, the statement that
    holds it from `start` on, or in the text itself. None holds for every letter."""

    def __init__(self, engine: Engine, text: str | None, sql: str = "", start: int = 0) -> None:
        self.engine, self.text = engine, text
        if text is None:
            return
        try:
            # Blanks in the place of what stands before it: so a refusal names its place in the statement.
            self.condition = condition("".join(c if c == "\n" else " " for c in sql[:start]) + _named(text))
            self.rows(SHOWN.empty_table())
        except SqlError as error:
            raise SqlError("the condition is refused", ": ".join(filter(None, (error.title, error.detail))),
                           f"the columns are {', '.join(SHOWN.names)}", sql=sql or text, line=error.line,
                           column=error.column, length=error.length) from None

    def rows(self, shown: pa.Table) -> np.ndarray:
        """The numbers of the rows that it holds for."""
        if self.text is None:
            return np.arange(len(shown))
        numbered = shown.append_column("n", pa.array(np.arange(len(shown))))
        found = self.engine.run(f"SELECT n FROM letters WHERE {self.condition} ORDER BY n", {"letters": numbered})
        return found["n"].to_numpy()


def page(context: Context, stream: Stream, where: Condition, limit: int, cursor: str | None = None) -> Page:
    """At most `limit` letters. RequestError for a cursor that is none, or another stream's."""
    after = _load(cursor, stream) if cursor else None
    found, count = [SHOWN.empty_table()], 0
    for _, shown in matching(context, stream, where, after):
        found.append(shown)
        count += len(shown)
        if count > limit:
            break
    rows = pa.concat_tables(found)
    more = len(rows) > limit
    rows = rows.slice(0, limit)
    deleted = LetterStore(context.storage).deleted(stream.id)
    return Page(rows, _dump(stream, place_of(rows)) if more else None, deleted)


def matching(context: Context, stream: Stream, where: Condition,
             after: Place | None = None) -> Iterator[tuple[pa.Table, pa.Table]]:
    """(letters, the same as they are shown) behind a place, table by table, some perhaps empty."""
    store, done, tries = LetterStore(context.storage), Redriven(context.storage).keys(stream.id), 0
    while True:
        try:
            for table in store.in_order(stream.id, after):
                shown = show(table, done)
                rows = where.rows(shown)
                yield table.take(rows), shown.take(rows)
                after, tries = place_of(table), 0
            return
        except FileNotFoundError:  # files are put together and deleted meanwhile: go on with those that are there now
            tries += 1
            if tries == TRIES:
                raise


def show(table: pa.Table, redriven: pa.Array) -> pa.Table:
    """Letters as people see them: bytes that are no UTF-8 as \\xNN; `redriven` has the keys of those sent again."""
    flags = pc.is_in(letters.keys(table), value_set=redriven)
    columns = [*(table[name] for name in SHOWN.names[:5]), _text(table["payload"]), table["cut"], flags]
    return pa.Table.from_arrays(columns, schema=SHOWN)


def place_of(table: pa.Table) -> Place:
    """The place of a table's last letter."""
    return tuple(table[name][-1].as_py() for name in letters.PLACE)


def _text(payload: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    try:
        return payload.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode("utf-8", "backslashreplace") for value in payload.to_pylist()], pa.string())


def _named(text: str) -> str:
    """The condition with our columns' names in backticks: some of them are keywords elsewhere."""
    parts, reached = [], 0
    for word in read_words(text):
        if word.kind == "name" and word.value.lower() in SHOWN.names:
            parts += [text[reached:word.start], f"`{word.value.lower()}`"]
            reached = word.end
    return "".join([*parts, text[reached:]])


def _dump(stream: Stream, place: Place) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([stream.id, *place])).decode().rstrip("=")


def _load(text: str, stream: Stream) -> Place:
    try:
        stream_id, *place = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        sound = len(place) == 3 and all(isinstance(number, int) for number in place)
    except (binascii.Error, ValueError, TypeError):
        sound, stream_id = False, None
    if not sound:
        raise RequestError("this is no cursor", hint="give `next` of the page before, or leave cursor out")
    if stream_id != stream.id:
        raise RequestError("the cursor belongs to another stream", hint="begin again without cursor")
    return tuple(place)
