"""Dead letters: tuples that cannot be read, each with its place, its reasons and its bytes. Pure; mars/adapters/letters.py
knows where their files are.

A letter's place is (partition, offset, line), and each place has one letter. A file holds the letters of one claim in the
order of places. Its content follows from the claim's range and columns alone, so a claim that is worked on again gives the
same file. Claims that overlap (a range that was split, or read again after a recovery, or on another query's lane) give a
letter more than once; readers merge them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PLACE = ("partition", "offset", "line")
SCHEMA = pa.schema([("partition", pa.int32()), ("offset", pa.int64()), ("line", pa.int32()),
                    ("time", pa.timestamp("ms", "UTC")), ("reason", pa.string()), ("payload", pa.binary()),
                    ("cut", pa.bool_())])
KEY = np.dtype([("partition", np.int32), ("offset", np.int64), ("line", np.int32)])
JOINT = "; "  # between several reasons of one letter
OFFSET_MAX = (1 << 63) - 1
PIECE_LETTERS = 10_000  # of one file that are merged at once; or all letters of one offset
NOT_KEPT = " (letter not kept)"  # ends the reason under which tuples are counted whose letters could not be written
NAME = re.compile(r"(\d+)-(\d+)-(\d+)-(\d+)-([0-9a-f]{16})\.letters")
OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, order=True)
class LetterFile:
    """What a file's name says: the partition, the offsets [start, end), the number of letters, and a digest of everything
    else that decides the letters."""

    partition: int
    start: int
    end: int
    count: int
    digest: str

    @property
    def name(self) -> str:
        """The file's name."""
        return f"{self.partition}-{self.start}-{self.end}-{self.count}-{self.digest}.letters"

    @staticmethod
    def of(name: str) -> LetterFile | None:
        """The file of a name, None for any other name."""
        found = NAME.fullmatch(name)
        return LetterFile(int(found[1]), int(found[2]), int(found[3]), int(found[4]), found[5]) if found else None


def digest(*parts: str) -> str:
    """A short name for what decides a file's content."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def encode(table: pa.Table) -> bytes:
    """A file's content."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=OPTIONS) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def decode(data: bytes) -> pa.Table:
    """The table in a file's content. ArrowException, ValueError or MemoryError if it is damaged. Damage that Arrow would
    accept is refused too, because it could kill the process that works on the table."""
    table = pa.ipc.open_stream(data).read_all()
    table.validate(full=True)
    return table


def merge(tables: Iterable[pa.Table]) -> pa.Table:
    """One letter per place, in the order of places, with every reason from any of the tables. Its payload is whole if one of
    the tables has it whole."""
    table = pa.concat_tables(tables)
    table = table.sort_by([*((name, "ascending") for name in PLACE), ("cut", "ascending")])
    # The first letter of a place is one that is not cut, if there is one.
    found = table.group_by(list(PLACE), use_threads=False).aggregate(
        [("time", "first"), ("reason", "distinct"), ("payload", "first"), ("cut", "first")])
    if len(found) == len(table):
        return table
    reasons = _joined(found["reason_distinct"])
    columns = [*(found[name] for name in PLACE), found["time_first"], reasons, found["payload_first"], found["cut_first"]]
    return pa.Table.from_arrays(columns, schema=SCHEMA).sort_by([(name, "ascending") for name in PLACE])


def keys(table: pa.Table) -> pa.Array:
    """Each letter's place as 16 bytes, to compare places by."""
    places = np.empty(len(table), KEY)
    for name in PLACE:
        places[name] = table[name].to_numpy()
    return pa.Array.from_buffers(pa.binary(KEY.itemsize), len(table), [None, pa.py_buffer(places)])


def in_order(files: Iterable[LetterFile], load: Callable[[LetterFile], pa.Table],
             after: tuple[int, int, int] | None = None) -> Iterator[pa.Table]:
    """The letters of these files after the place `after`, in tables in the order of places. Each letter comes once, and each
    table has one partition. A file is loaded only when its letters are asked for. Only files that overlap are in memory
    at the same time."""
    after = after or (-1, -1, -1)
    wanted = sorted(file for file in files if (file.partition, file.end) > after[:2])
    for _, group in groupby(wanted, key=lambda file: file.partition):
        waiting: list[pa.Table] = []
        first, *others = group
        for file, following in zip([first, *others], [*others, None], strict=True):
            waiting.append(behind(load(file), after))
            yield from _settled(waiting, None if following is None else following.start)


def _settled(waiting: list[pa.Table], before: int | None) -> Iterator[pa.Table]:
    """Takes the letters below an offset (None: all) out of ordered tables, some at a time. It merges them only when they
    are asked for."""
    while waiting:
        waiting[:] = [table for table in waiting if len(table)]
        offsets = [table["offset"].to_numpy() for table in waiting]
        # All lines of an offset come together.
        ends = [int(column[PIECE_LETTERS - 1]) + 1 for column in offsets if len(column) > PIECE_LETTERS]
        end = min(ends if before is None else [*ends, before], default=OFFSET_MAX)
        cuts = [int(np.searchsorted(column, end)) for column in offsets]
        if not any(cuts):
            return
        pieces = [table.slice(0, cut) for table, cut in zip(waiting, cuts, strict=True) if cut]
        waiting[:] = [table.slice(cut) for table, cut in zip(waiting, cuts, strict=True)]
        yield pieces[0] if len(pieces) == 1 else merge(pieces)


def behind(table: pa.Table, place: tuple[int, int, int]) -> pa.Table:
    """The rows that come after a place, of a table in the order of places."""
    partition, offset, line = (table[name] for name in PLACE)
    same = pc.equal(partition, place[0])
    later = pc.or_(pc.greater(offset, place[1]), pc.and_(pc.equal(offset, place[1]), pc.greater(line, place[2])))
    return table.filter(pc.or_(pc.greater(partition, place[0]), pc.and_(same, later)))


def _joined(lists: pa.ChunkedArray) -> pa.Array:
    """Texts of one or more reasons, joined into one text with every reason once."""
    coded = pc.binary_join(lists.combine_chunks(), JOINT).dictionary_encode()
    texts = [JOINT.join(dict.fromkeys(text.split(JOINT))) for text in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)
