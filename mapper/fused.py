"""Records of CSV or JSON to columns by one kernel, for streams whose wanted columns are integers and texts.

The kernel takes plain rows, and leaves the messages of all others aside by their place: mapper/parse.py reads those
(mapper/fused_batch.py). Where much is unusual the kernel only adds to the work, so that the stream is left to
mapper/parse.py for a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from mapper.batch import Judged, Messages, ParsedBatch
from mapper.fused_dictionaries import Dictionaries
from mapper.json_fields import places_of, tree_of
from mapper.kernels import fused
from mapper.kernels import fused_rows as at
from mapper.kernels.fused_json import Json
from mapper.kernels.fused_rows import COUNT, DICTIONARY, NO_KEY_ROOM, NO_ROOM
from mapper.kernels.json import work_for
from mapper.kernels.json_shapes import no_shapes
from mapper.parse_columns import INTEGER_RANGES
from mapper.records import Batches, Records, joined
from mapper.timing import NEVER, Limits, calendar
from mars.model.plan import UNITS_PER_SECOND, Stream

ASIDE_SHARE, ASIDE_FEW = 0.1, 16  # of a batch's messages: so many may be unusual
REST_BATCHES = 32  # are read by mapper/parse.py alone after one of which more is unusual
LONGEST_JSON = 1 << 16  # bytes of a message: a longer one is unusual
BLOCK_TUPLES = 8192  # are counted at a time: their values lie in a core's own cache


@dataclass
class Taken:
    """What the kernel took of a batch: how many tuples, the greatest event time (as in ParsedBatch), and the messages that
    it left aside, in the order of their offsets. `values` int64[columns, tuples] (codes of texts), `offset` and `line` hold
    the tuples, unless they were counted."""

    tuples: int
    greatest: int | None
    aside: Messages
    values: np.ndarray
    offset: np.ndarray
    line: np.ndarray


class Counts(Protocol):
    """What counts tuples while they are read (mapper/fused_cells.py)."""

    def count(self, values: np.ndarray) -> None:
        """Counts tuples; a row of values for each column."""


class FusedReader:
    """Reads records of one stream; one thread at a time. `columns`: as of a Parser."""

    def __init__(self, stream: Stream, columns: tuple[str, ...], limits: Limits) -> None:
        self.stream, self.columns, self.limits = stream, columns, limits
        wanted = [(number, column) for number, column in enumerate(stream.columns)
                  if column.name in columns or column.name == stream.time_column]
        texts = [column.name for _, column in wanted if column.type == "STRING"]
        self.names = [column.name for _, column in wanted]
        self.dictionaries = Dictionaries(len(texts))
        self._json: Json | None = None
        if stream.format == "JSON":
            paths, found_at = places_of([column for _, column in wanted])
            wanted = [(place, column) for place, (_, column) in zip(found_at, wanted, strict=True)]
            self._json = _json(paths)
        self._fields = np.array([(number, INTEGER_RANGES.get(column.type, (0, 0))[1],
                                  texts.index(column.name) if column.name in texts else -1) for number, column in wanted])
        self._form = _form(stream, self.names.index(stream.time_column), limits.least_ms)
        self._null_text = np.frombuffer((stream.options.get("null") or "").encode(), np.uint8)
        self._tuples_per_message = 1.0
        self._rests = 0
        self._block = self._room(BLOCK_TUPLES)

    def read(self, records: Records, counts: Sequence[Counts] = ()) -> Taken | None:
        """What the kernel takes of a batch; None if that is not worth it. If there are `counts`, they are given all tuples
        block by block, and nothing else is kept of them. Raises CorruptRecords."""
        if self._rests:
            self._rests -= 1
            return None
        self.dictionaries.trim()
        count = records.count_max
        self._to = self._block if counts else self._room(int(count * self._tuples_per_message) + 16)
        self._aside = np.empty((4, max(int(ASIDE_SHARE * count), ASIDE_FEW)), np.int64)
        self._form[at.FIRST], self._form[at.STOP] = records.start, records.end
        state, aside = np.zeros(at.TUPLES + 1, np.int64), []
        state[at.GREATEST] = -NEVER
        for part in records.parts:
            if not self._read_part(part, state, counts):
                self._rests = REST_BATCHES
                return None
            aside.append(Messages(part.buffer, *self._aside[:, :state[at.ASIDE]].copy()))
        if counts:
            self._hand_over(state, counts)
        rows, tuples = int(state[at.ROWS]), int(state[at.TUPLES] + state[at.ROWS])
        self._tuples_per_message = max(1.0, 1.1 * tuples / max(count, 1))
        values, offset, line = self._to
        return Taken(tuples, int(state[at.GREATEST]) if tuples else None, joined(aside), values[:, :rows], offset[:rows],
                     line[:rows])

    def _read_part(self, part: Batches, state: np.ndarray, counts: Sequence[Counts]) -> bool:
        """Reads all batches; False if there is no room for what is left aside."""
        state[[at.BATCH, at.AT, at.ASIDE]] = 0, -1, 0
        own, json = self.dictionaries, () if self._json is None else (self._json,)
        kernel = fused.read_json_columns if json else fused.read_columns
        while True:
            found = kernel(
                part.buffer, part.rows, part.begin, part.end, self._form, self._fields, self._null_text, own.seed, own.table,
                own.heads, own.ends, own.keys, own.shelves, *self._to, self._aside, state, *json)
            if found == fused.DONE:
                return True
            if found == fused.NO_ASIDE_ROOM:
                return False
            if found == NO_ROOM and counts and state[at.ROWS]:
                self._hand_over(state, counts)
            elif found == NO_ROOM:
                self._lengthen()
            elif found == NO_KEY_ROOM:
                own.grow(int(state[at.NEEDED]) >> 32, int(state[at.NEEDED]) & 0xFFFFFFFF)
            else:
                raise part.corrupt()

    def _hand_over(self, state: np.ndarray, counts: Sequence[Counts]) -> None:
        """Gives the tuples so far to those who count them."""
        rows = int(state[at.ROWS])
        for one in counts:
            one.count(self._to[0][:, :rows])
        state[at.TUPLES] += rows
        state[at.ROWS] = 0

    def _room(self, tuples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, offset and line of so many tuples."""
        return np.empty((len(self._fields), tuples), np.int64), np.empty(tuples, np.int64), np.empty(tuples, np.int32)

    def _lengthen(self) -> None:
        """Room for twice as many tuples."""
        held, used = self._to, len(self._to[1])
        self._to = self._room(2 * used)
        for new, old in zip(self._to, held, strict=True):
            new[..., :used] = old

    def is_text(self, k: int) -> bool:
        """Are the values of this column codes?"""
        return self._fields[k, DICTIONARY] >= 0

    def text_count(self, k: int) -> int:
        """How many different texts the codes of this column may stand for."""
        return int(self.dictionaries.shelves[self._fields[k, DICTIONARY], COUNT])

    def array(self, name: str, values: np.ndarray) -> pa.Array:
        """A column of Arrow with these of its values."""
        dictionary = int(self._fields[self.names.index(name), DICTIONARY])
        if dictionary >= 0:
            codes, keys = pa.array(values.astype(np.int32)), self.dictionaries.arrow(dictionary)
            return pa.DictionaryArray.from_arrays(codes, keys, safe=False)  # the codes are the dictionary's own
        return pa.array(values.astype(np.int32) if self.stream.column(name).type == "INT" else values)

    def batch(self, taken: Taken) -> ParsedBatch:
        """Its columns."""
        columns = {name: self.array(name, taken.values[self.names.index(name)]) for name in self.columns}
        return ParsedBatch(columns, taken.values[self._form[at.TIME]], taken.offset, taken.line,
                           judged=self.limits.alike(Judged(None, taken.greatest)))


def can_read(stream: Stream, columns: tuple[str, ...]) -> bool:
    """Is the stream of a kind that the kernel reads? Event times in ns are too long for it, each of them."""
    is_plain = stream.format in ("CSV", "JSON") and not stream.options.get("strict")
    if not is_plain or not stream.has_unit or stream.time_unit == "ns":
        return False
    return all(stream.column(name).type in (*INTEGER_RANGES, "STRING") for name in columns)


def _json(paths: list[tuple[str, ...]]) -> Json:
    """The kernel's `json` for values at these paths."""
    tree = tree_of(paths)
    return Json(tree, no_shapes(), work_for(tree, LONGEST_JSON), np.empty((len(paths), 1), np.int64),
                np.empty((len(paths), 1), np.int64), np.empty((len(paths), 1), np.uint8), np.zeros(1, np.int64),
                LONGEST_JSON)


def _form(stream: Stream, time: int, future_limit_ms: int) -> np.ndarray:
    """The kernel's `form`."""
    delimiter, quote = stream.options.get("delimiter") or ",", stream.options.get("quote", '"')
    per_second, (first, end) = UNITS_PER_SECOND[stream.time_unit], calendar(stream)
    times, by = max(per_second // 1_000, 1), max(1_000 // per_second, 1)
    form = np.zeros(at.TIME_END + 1, np.int64)
    form[at.DELIMITER], form[at.QUOTE] = ord(delimiter), ord(quote) if quote else -1
    form[at.TIME], form[at.WRITTEN_MAX] = time, NEVER // times
    form[at.WRITTEN_TIMES], form[at.WRITTEN_BY] = times, by
    form[at.FUTURE_LIMIT] = stream.units(future_limit_ms)
    form[at.TIME_FIRST], form[at.TIME_END] = first, end
    return form
