"""JSON messages to fields: one object, an array of objects, or one object per line.

A message that starts with an array is read whole: if it is not JSON, it is one bad tuple. Otherwise each value is a tuple
that ends with a newline (it may span lines). An unreadable value is bad up to the end of the line on which it starts.
Keys match by their text; if a key occurs twice, the last one counts. Whole tuples are checked, whatever columns are
wanted. `line` is the index in the array, or counts the newlines between tuples.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mapper.batch import REASONS, Messages
from mapper.kernels import BAD, ESCAPED, FRACTION, LITERAL, NESTED, NULL, NUMBER, SPECIAL, TEXT, json, json_texts
from mapper.kernels.json import Tree, work_for
from mapper.kernels.json_shapes import no_shapes
from mapper.parse_fields import Column, Fields, Room, expected, side_column
from mars.model.plan import Stream
from mars.model.types import decimal_parts

WRONG_TYPE = BAD + REASONS.index("wrong JSON type")
AS_TEXT = {NUMBER: TEXT, FRACTION: TEXT, LITERAL: TEXT, NESTED: TEXT, TEXT: TEXT, ESCAPED: ESCAPED}
# Which JSON kinds a type reads, and as what; any other kind except null has the wrong type.
READS = {
    "INT": {NUMBER: TEXT}, "BIGINT": {NUMBER: TEXT},
    "DOUBLE": {NUMBER: TEXT, FRACTION: TEXT, TEXT: SPECIAL, ESCAPED: ESCAPED},
    "FLOAT": {NUMBER: TEXT, FRACTION: TEXT, TEXT: SPECIAL, ESCAPED: ESCAPED},
    "DECIMAL": {NUMBER: TEXT, FRACTION: TEXT, TEXT: TEXT, ESCAPED: ESCAPED}, "BOOLEAN": {LITERAL: TEXT},
    "DATE": {TEXT: TEXT, ESCAPED: ESCAPED}, "TIMESTAMP": {TEXT: TEXT, ESCAPED: ESCAPED}, "STRING": AS_TEXT,
}


class JsonFields:
    """Finds the values of some of a stream's columns."""

    def __init__(self, stream: Stream, columns: tuple[str, ...]) -> None:
        wanted = [column for column in stream.columns if column.name in columns]
        self.columns = tuple(column.name for column in wanted)
        paths = [tuple(column.path.split(".")) if column.path else (column.name,) for column in wanted]
        self._distinct = list(dict.fromkeys(paths))
        self._place = [self._distinct.index(path) for path in paths]
        self._kinds = [_kind_table(column.type) for column in wanted]
        self._unescapes = [partial(_unescape, int(table[TEXT])) for table in self._kinds]
        self._tree = _tree(self._distinct)
        self._shapes, self._work = no_shapes(), work_for(self._tree, 0)
        self._room = Room()
        self._tuples_per_message = 1.0

    def fields(self, messages: Messages, placed: bool = False) -> Fields:
        """The tuples of these messages; `placed` adds their own places. Never raises because of a message's content."""
        while True:
            found = self._read(messages, expected(messages, self._tuples_per_message), placed)
            if found is not None:
                break
            self._tuples_per_message *= 2
        start, length, kind, message, line, tuple_bad, *place = found
        self._tuples_per_message = max(1.0, 1.1 * len(line) / max(len(messages), 1))
        columns = {name: Column(messages.buffer, start[at], length[at], table[kind[at]], texts) for name, at, table, texts
                   in zip(self.columns, self._place, self._kinds, self._unescapes, strict=True)}
        return Fields(columns, messages.offset[message], line, tuple_bad if tuple_bad.any() else None,
                      place[0] if placed else None)

    def _read(self, messages: Messages, room: int, placed: bool) -> tuple[np.ndarray, ...] | None:
        """(places, lengths, kinds, message, line, reason, own place) of the tuples, None if there are more."""
        k = len(self._distinct)
        start, length = (self._room.take(name, room, np.int64, k) for name in ("start", "length"))
        kind = self._room.take("kind", room, np.uint8, k)
        message, line = np.empty(room, np.int64), np.empty(room, np.int32)
        tuple_bad = np.empty(room, np.uint8)
        place = (np.empty((2, room), np.int64),) if placed else ()
        longest = int(messages.length.max()) if len(messages) else 0
        self._work = work_for(self._tree, longest, self._work)
        read = json.place_messages if placed else json.read_messages
        n = read(messages.buffer, messages.start, messages.length, self._tree, self._shapes, self._work, start, length, kind,
                 message, line, tuple_bad, *place)
        if n < 0:
            return None
        wide, flat = (start, length, kind), (message, line, tuple_bad)
        return *(part[:, :n] for part in wide), *(part[:n] for part in flat), *(part[:, :n] for part in place)


def _kind_table(type_: str) -> np.ndarray:
    """What each JSON kind means for a column of that type."""
    reads = READS["DECIMAL" if decimal_parts(type_) else type_]
    table = np.arange(256, dtype=np.uint8)
    table[:BAD] = [NULL if kind == NULL else reads.get(kind, WRONG_TYPE) for kind in range(BAD)]
    return table


def _tree(paths: list[tuple[str, ...]]) -> Tree:
    """The wanted paths as a tree of nodes."""
    nodes: list[tuple[str, ...]] = [()]
    child_first, child_count = [], []
    for node in nodes:  # grows while it is walked, level by level, so that children are adjacent
        depth = len(node)
        children = list(dict.fromkeys(path[:depth + 1] for path in paths if path[:depth] == node and len(path) > depth))
        child_first.append(len(nodes))
        child_count.append(len(children))
        nodes.extend(children)
    keys = [node[-1].encode() if node else b"" for node in nodes]
    under = [[path[:len(node)] == node for path in paths] for node in nodes]
    return Tree(np.array(child_first, np.int64), np.array(child_count, np.int64),
                np.frombuffer(b"".join(keys), np.uint8).copy(), np.cumsum([len(key) for key in keys]).astype(np.int64),
                np.array([paths.index(node) if node in paths else -1 for node in nodes], np.int64),
                np.array(under, np.uint8).reshape(len(nodes), len(paths)))


def _unescape(kind: int, column: Column) -> Column:
    """The texts of strings with escapes, as a column of the kind that strings without escapes have."""
    out, ends = np.empty(int(column.length.sum()), np.uint8), np.empty(len(column), np.int64)
    json_texts.unescape(column.buffer, column.start, column.length, out, ends)
    return side_column(out, ends, column.unescape, kind)
