"""Which dead letters were sent again: files of places, beside the letters, one for each Kafka transaction.

A file is written before its transaction ends, as `<id>.<span>.pending`, and is renamed to `<id>.<span>.redriven` once it
has been committed. Kafka keeps the id of the last committed transaction, so after a kill in between it is known whether
the transaction took place. The span is the first and the last place in the file, so a reader of some letters reads only
the files about them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from mars.adapters.letters import folder
from mars.adapters.storage import Storage
from mars.model import letters

NAME = re.compile(r"([0-9a-f]+)\.(\d+)-(\d+)-(\d+)-(\d+)\.(pending|redriven)")


@dataclass(frozen=True)
class MarkFile:
    """What a file's name says: the transaction's id, (partition, offset) of the first and the last letter, its state."""

    name: str
    id: str
    span: tuple[int, int, int, int]
    state: str

    @staticmethod
    def of(name: str) -> MarkFile | None:
        """The file of a name, None for any other name."""
        found = NAME.fullmatch(name)
        if found is None:
            return None
        return MarkFile(name, found[1], (int(found[2]), int(found[3]), int(found[4]), int(found[5])), found[6])


@dataclass
class Marks:
    """The letters of a stream that had been sent again at one moment. Only the files about the letters asked for last are
    in memory."""

    storage: Storage
    stream_id: int
    files: list[MarkFile]
    _held: dict[MarkFile, pa.Array] = field(default_factory=dict)

    def of(self, table: pa.Table) -> pa.Array:
        """Whether each of these letters, which are in the order of places, was sent again."""
        if not len(table):
            return pa.array([], pa.bool_())
        first, last = (tuple(table[name][row].as_py() for name in letters.PLACE[:2]) for row in (0, -1))
        wanted = [file for file in self.files if file.span[:2] <= last and first <= file.span[2:]]
        self._held = {file: self._held[file] if file in self._held else self._keys(file) for file in wanted}
        none = letters.keys(letters.SCHEMA.empty_table())
        return pc.is_in(letters.keys(table), value_set=pa.concat_arrays([none, *self._held.values()]))

    def _keys(self, file: MarkFile) -> pa.Array:
        data = self.storage.get(f"{folder(self.stream_id)}/{file.name}")
        # None if the stream has just been dropped.
        return letters.keys(letters.SCHEMA.empty_table() if data is None else letters.decode(data))


class Redriven:
    """The marks of all streams below one state URI."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def marks(self, stream_id: int) -> Marks:
        """The letters that have been sent again so far."""
        return Marks(self.storage, stream_id, self._files(stream_id, "redriven"))

    def begin(self, stream_id: int, id_: str, topic: str, table: pa.Table) -> None:
        """Before the transaction ends: it holds these letters, which are in the order of places, and goes into that
        topic."""
        places = table.select(list(letters.PLACE)).replace_schema_metadata({"topic": topic})
        span = "-".join(str(table[name][row].as_py()) for row in (0, -1) for name in letters.PLACE[:2])
        self.storage.put(f"{folder(stream_id)}/{id_}.{span}.pending", letters.encode(places))

    def confirm(self, stream_id: int, id_: str) -> None:
        """The transaction has been committed."""
        for file in self._files(stream_id, "pending"):
            if file.id == id_:
                path = f"{folder(stream_id)}/{file.name}"
                self.storage.rename(path, path.removesuffix("pending") + "redriven")

    def settle(self, stream_id: int, last: Callable[[str], str | None]) -> None:
        """To be called while nobody works on a transaction. Of the transactions of unknown outcome, one took place only
        if `last` says that it is the last one of its topic."""
        for file in self._files(stream_id, "pending"):
            path = f"{folder(stream_id)}/{file.name}"
            data = self.storage.get(path)
            if data is None:  # the stream has just been dropped
                continue
            topic = letters.decode(data).schema.metadata[b"topic"].decode()
            if file.id == last(topic):
                self.confirm(stream_id, file.id)
            else:
                self.storage.delete(path)

    def _files(self, stream_id: int, state: str) -> list[MarkFile]:
        found = (MarkFile.of(entry.name) for entry in self.storage.entries(folder(stream_id)))
        return sorted((file for file in found if file and file.state == state), key=lambda file: file.name)
