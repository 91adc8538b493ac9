"""The files of dead letters under the state URI. Mappers write them, reducers limit them, the API reads them.

They are in `<stream id>/dead-letters`, so they are deleted with the stream. Files are replaced and merged as a whole. A
reader lists the folder first, and again if a file is gone meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa

from mars.adapters.storage import UNFINISHED, CorruptFileError, Entry, Storage
from mars.model import letters
from mars.model.letters import LetterFile

BLOCK_BYTES = 4096  # the least that a file takes on a disk
SMALL_BYTES = 1 << 20  # smaller files are merged
SMALL_FILES = 16  # as soon as a partition has this many of them
MERGED_BYTES_MAX = 8 << 20
MERGED_SHARE = 8  # and at most this fraction (1 in so many) of what is kept
UNFINISHED_S = 600.0


class LetterStore:
    """The letters of all streams below one state URI; may be used from several threads."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def write(self, stream_id: int, file: LetterFile, data: bytes) -> None:
        """Write a file, or replace it by the same content; durable when this returns. OSError if there is no room."""
        self.storage.put(f"{folder(stream_id)}/{file.name}", data)

    def read(self, stream_id: int, file: LetterFile) -> pa.Table:
        """A file's letters. FileNotFoundError if it has gone, CorruptFileError if it cannot be read."""
        path = f"{folder(stream_id)}/{file.name}"
        data = self.storage.get(path)
        if data is None:
            raise FileNotFoundError(path)
        try:
            table = letters.decode(data)
            if table.schema != letters.SCHEMA or len(table) != file.count:
                raise ValueError(f"{len(table)} rows of {table.schema.names} instead of {file.count} letters")
            return table
        except (pa.ArrowException, MemoryError, ValueError, OSError) as error:
            raise CorruptFileError("a file of dead letters cannot be read", f"{path}: {error}",
                                   "delete this file; its letters are lost, their counts are not") from error

    def files(self, stream_id: int) -> list[LetterFile]:
        """All files of a stream's letters."""
        return list(self._listed(stream_id))

    def in_order(self, stream_id: int, after: tuple[int, int, int] | None = None) -> Iterator[pa.Table]:
        """The letters after a place, each once, in the order of places; see mars.model.letters.in_order.
        FileNotFoundError if a file is deleted meanwhile: begin again after the last letter seen."""
        return letters.in_order(self.files(stream_id), lambda file: self.read(stream_id, file), after)

    def deleted(self, stream_id: int) -> int:
        """How many letters have been deleted to stay within the limit."""
        return int(self.storage.get(f"{folder(stream_id)}/deleted") or 0)

    # -- keeping them in bounds; by one worker at a time -----------------------------------------------------------

    def retain(self, stream_id: int, bytes_max: int) -> int:
        """Delete the oldest files above a number of bytes, but the newest one only if none are kept; count their letters.
        How many letters these were."""
        held = sorted(self._listed(stream_id).items(), key=lambda pair: pair[1].modified_s)
        excess = sum(_taken(entry.bytes) for _, entry in held) - bytes_max
        gone = 0
        for file, entry in held[:-1] if bytes_max else held:
            if excess <= 0:
                break
            gone += file.count
            self.storage.delete(f"{folder(stream_id)}/{file.name}")
            excess -= _taken(entry.bytes)
        if gone:
            self.storage.put(f"{folder(stream_id)}/deleted", str(self.deleted(stream_id) + gone).encode())
        return gone

    def tidy(self, stream_id: int, bytes_max: int) -> None:
        """Merge a partition's small files if there are many, and delete what a killed writer left. `bytes_max` is that of
        `retain`: a merged file must be a small part of it, because it is deleted at once."""
        small: dict[int, list[LetterFile]] = {}
        held = self._listed(stream_id)
        merged_max = min(MERGED_BYTES_MAX, bytes_max // MERGED_SHARE)
        for file, entry in sorted(held.items()):
            if entry.bytes < min(SMALL_BYTES, merged_max // 2):
                small.setdefault(file.partition, []).append(file)
        for files in small.values():
            if len(files) >= SMALL_FILES:
                self._merge(stream_id, files, held, merged_max)
        for entry in self.storage.entries(folder(stream_id)):
            if entry.name.endswith(UNFINISHED) and time.time() - entry.modified_s > UNFINISHED_S:
                self.storage.delete(f"{folder(stream_id)}/{entry.name}")

    def _merge(self, stream_id: int, files: list[LetterFile], held: dict[LetterFile, Entry], merged_max: int) -> None:
        """Replace several files by one, as many as `merged_max` bytes allow. A kill in between leaves letters twice;
        readers merge them."""
        taken, size = [], 0
        for file in files:
            size += held[file].bytes
            if size > merged_max:
                break
            taken.append(file)
        table = letters.merge([self.read(stream_id, file) for file in taken])
        merged = LetterFile(taken[0].partition, taken[0].start, max(file.end for file in taken), len(table),
                            letters.digest(*(file.name for file in taken)))
        # As old as the newest of them, so that the oldest letters are still deleted first.
        self.storage.put(f"{folder(stream_id)}/{merged.name}", letters.encode(table),
                         max(held[file].modified_s for file in taken))
        for file in taken:
            self.storage.delete(f"{folder(stream_id)}/{file.name}")

    def _listed(self, stream_id: int) -> dict[LetterFile, Entry]:
        found = ((LetterFile.of(entry.name), entry) for entry in self.storage.entries(folder(stream_id)))
        return {file: entry for file, entry in found if file is not None}


def folder(stream_id: int) -> str:
    """The folder of a stream's letters, under the state URI."""
    return f"{stream_id}/dead-letters"


def _taken(bytes_: int) -> int:
    """What a file of this many bytes takes on the disk."""
    return -(-max(bytes_, 1) // BLOCK_BYTES) * BLOCK_BYTES
