"""Which dead letters were sent again: files of places beside the letters, each of one Kafka transaction.

A file is written before its transaction ends, as `<id>.pending`, and is renamed to `<id>.redriven` once it has been
committed. Kafka keeps the id of the last committed transaction, so that after a kill in between everybody can tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from mars import letters
from mars.adapters.letters import folder
from mars.adapters.storage import Storage

NAME = re.compile(r"([0-9a-f]+)\.(pending|redriven)")


class Redriven:
    """The marks of all streams below one state URI."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def keys(self, stream_id: int) -> pa.Array:
        """The keys (mars.letters.keys) of all letters that were sent again."""
        found = [letters.keys(letters.SCHEMA.empty_table())]
        for id_ in self._ids(stream_id, "redriven"):
            data = self.storage.get(_path(stream_id, id_, "redriven"))
            if data is not None:  # else the stream has just been dropped
                found.append(letters.keys(letters.decode(data)))
        return pa.concat_arrays(found)

    def begin(self, stream_id: int, id_: str, topic: str, table: pa.Table) -> None:
        """Before the transaction ends: it holds these letters, and goes into that topic."""
        places = table.select(list(letters.PLACE)).replace_schema_metadata({"topic": topic})
        self.storage.put(_path(stream_id, id_, "pending"), letters.encode(places))

    def confirm(self, stream_id: int, id_: str) -> None:
        """The transaction has been committed."""
        self.storage.rename(_path(stream_id, id_, "pending"), _path(stream_id, id_, "redriven"))

    def settle(self, stream_id: int, last: Callable[[str], str | None]) -> None:
        """Nobody works on any transaction: of those of unknown outcome only that took place which is the last one of its
        topic, as `last` tells."""
        for id_ in self._ids(stream_id, "pending"):
            path = _path(stream_id, id_, "pending")
            topic = letters.decode(self.storage.get(path)).schema.metadata[b"topic"].decode()
            if id_ == last(topic):
                self.confirm(stream_id, id_)
            else:
                self.storage.delete(path)

    def _ids(self, stream_id: int, state: str) -> list[str]:
        names = (NAME.fullmatch(entry.name) for entry in self.storage.entries(folder(stream_id)))
        return sorted(name[1] for name in names if name and name[2] == state)


def _path(stream_id: int, id_: str, state: str) -> str:
    return f"{folder(stream_id)}/{id_}.{state}"
