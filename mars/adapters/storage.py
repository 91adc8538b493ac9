"""Files under the state URI: written once, fsynced, read with their checksum. The one adapter to a file system.

The state URI is a local or shared (NFS-like) directory, as a path or a file:// URI.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlparse

import google_crc32c
import orjson

from mars.errors import ConfigurationError, MarsError, NotReadyError, Remedy
from mars.model.commits import Earlier, Manifest, Pointer, QueryCommit, ResultSegment, Segment, load_index

RESTORE = "put the file back from a backup of the state folder"
MOUNT = "is it mounted on this host, and may this user read it? Work resumes by itself once it is"
INSTANCE_FILE = "instance.json"  # names the instance that owns the state folder (api/instance/identity.py)
DAMAGE = (errno.EIO, errno.EBADMSG)  # what reading an open file raises if its bytes are lost
UNFINISHED = ".part"  # the ending of a file that is still being written


class CorruptFileError(MarsError):
    """A committed file whose bytes are missing or do not match their checksum."""

    remedy = Remedy.FALL_BACK


class StateAwayError(NotReadyError):
    """The state folder is missing or refuses access. That says nothing about a single file."""


STATE_AWAY = (OSError, StateAwayError)  # what is raised if files can be neither read nor written; a full disk raises it too


@dataclass(frozen=True)
class Entry:
    """A file in a folder."""

    name: str
    bytes: int
    modified_s: float


class NewFile:
    """Blobs to be written one after the other into one new file. Each segment is known at once, so a later blob can name
    an earlier one. Nothing is on the disk before `write`.

    The name is never used twice, so a writer that lost its assignment cannot touch what its successor wrote.
    """

    def __init__(self, storage: Storage, folder: str, kind: str) -> None:
        self.folder = folder
        self.path = f"{folder}/{kind}-{uuid.uuid4().hex}"
        self._storage, self._file = storage, storage.root / self.path
        self._blobs: list[bytes] = []
        self._length = 0

    def add(self, blob: bytes) -> Segment:
        """The segment where the blob will be."""
        segment = Segment(self.path, self._length, len(blob), google_crc32c.value(blob))
        self._blobs.append(blob)
        self._length += len(blob)
        return segment

    def write(self) -> None:
        """Write the file; its content and its name are durable when this returns. If anything is raised, nothing of it
        stays."""
        if not self._file.parent.is_dir():
            self._storage.require()  # otherwise it would be made below the mount point if the folder is not mounted
            self._file.parent.mkdir(parents=True, exist_ok=True)
            for parent in self._file.parents[1:3]:  # the names of its folders must be durable too
                sync(parent)
        try:
            with open(self._file, "xb") as file:
                file.writelines(self._blobs)
                file.flush()
                os.fsync(file.fileno())
            sync(self._file.parent)
        except BaseException:
            # On a full disk, a partial file takes the room that everybody else waits for.
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)
            raise


class Storage:
    """Reads and writes segments; one object may be used from several threads. `instance` is the id of the instance that
    must own the state folder; None if that is not known."""

    def __init__(self, uri: str, instance: str | None = None) -> None:
        parsed = urlparse(uri)
        if parsed.scheme not in ("", "file"):
            raise ConfigurationError("state_uri has a scheme that is not supported", parsed.scheme,
                                     "use a directory that all workers see, as a path or a file:// URI")
        self.root = Path(unquote(parsed.path))
        self.instance = instance

    def require(self) -> None:
        """StateAwayError unless the folder is the instance's."""
        try:
            found = self._owner()
        except OSError as error:
            raise StateAwayError("the state folder does not answer", f"{self.root}: {error}", MOUNT) from error
        if self.instance not in (None, found):
            raise StateAwayError("the state folder is not this instance's", f"{self.root} is of instance {found or 'none'}, "
                                 f"and ZooKeeper of {self.instance}", MOUNT)

    def _owner(self) -> str | None:
        """The id of the instance that owns the folder; None if nobody does."""
        try:
            return str(orjson.loads(self.get(INSTANCE_FILE) or b"")["id"])
        except (ValueError, KeyError, TypeError):
            return None

    def new_file(self, folder: str, kind: str) -> NewFile:
        """A new file; see NewFile."""
        return NewFile(self, folder, kind)

    def write(self, folder: str, kind: str, blobs: list[bytes]) -> list[Segment]:
        """Write the blobs into one new file, durable when this returns; one segment for each."""
        file = self.new_file(folder, kind)
        segments = [file.add(blob) for blob in blobs]
        file.write()
        return segments

    def read(self, segment: Segment) -> bytes:
        """The segment's bytes. CorruptFileError names the file when they are missing or do not match; StateAwayError if
        that cannot be known."""
        try:
            with open(self.root / segment.path, "rb") as file:
                data = self._bytes(file, segment)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and self._can_lack(segment.path):
                raise _unreadable(segment, error) from error
            raise StateAwayError("the state folder does not answer", f"{segment.path}: {error}", MOUNT) from error
        if len(data) != segment.length or google_crc32c.value(data) != segment.crc:
            raise CorruptFileError("a committed file does not match its checksum", segment.path, RESTORE)
        return data

    def _bytes(self, file: BinaryIO, segment: Segment) -> bytes:
        try:
            file.seek(segment.start)
            return file.read(segment.length)
        except OSError as error:
            if error.errno in DAMAGE:
                raise _unreadable(segment, error) from error
            raise

    def _can_lack(self, path: str) -> bool:
        """Is a file that is not found lost? Not if the state folder itself is missing."""
        with contextlib.suppress(OSError):
            owner = self._owner()
            return owner == self.instance if self.instance else owner is not None or (self.root / path).parent.is_dir()
        return False

    def put(self, path: str, data: bytes, modified_s: float | None = None) -> None:
        """Write or replace the file of that name, at once and as a whole; durable when this returns. For files that no
        manifest names. `modified_s` is its modification time, now if not given. StateAwayError as `require`."""
        self.require()  # otherwise it would be below the mount point if the folder is not mounted
        file = self.root / path
        if not file.parent.is_dir():
            file.parent.mkdir(parents=True, exist_ok=True)
            sync(file.parent.parent)
        new = file.with_name(f"{file.name}.{uuid.uuid4().hex}{UNFINISHED}")
        try:
            with open(new, "wb") as sink:
                sink.write(data)
                sink.flush()
                os.fsync(sink.fileno())
            if modified_s is not None:
                os.utime(new, (modified_s, modified_s))
            os.replace(new, file)
        except OSError:
            new.unlink(missing_ok=True)
            raise
        sync(file.parent)

    def get(self, path: str) -> bytes | None:
        """The bytes of a file that was put there, None if there is none."""
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None

    def rename(self, path: str, to: str) -> None:
        """Rename a file in its folder, durably; do nothing if it does not exist."""
        with contextlib.suppress(FileNotFoundError):
            os.replace(self.root / path, self.root / to)
        sync((self.root / to).parent)

    def delete(self, path: str) -> None:
        """Delete a file if it exists."""
        (self.root / path).unlink(missing_ok=True)

    def files(self, folder: str) -> Iterator[tuple[str, float]]:
        """(path, modification time in s) of every file in a folder; nothing if the folder is not there."""
        directory = self.root / folder
        if directory.is_dir():
            for entry in os.scandir(directory):
                yield f"{folder}/{entry.name}", entry.stat().st_mtime

    def entries(self, folder: str) -> list[Entry]:
        """Every file in a folder; nothing if the folder is not there."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(self.root / folder):
                with contextlib.suppress(FileNotFoundError):  # another process has just deleted it
                    stat = entry.stat()
                    found.append(Entry(entry.name, stat.st_size, stat.st_mtime))
        return found

    def manifest(self, commit: Pointer | Earlier) -> Manifest:
        """The manifest of a commit that has one: it is none of those before the first."""
        assert commit.manifest is not None
        return Manifest.load(self.read(commit.manifest))

    def older_results(self, query: QueryCommit) -> list[ResultSegment]:
        """The result segments of a query in a key part that its index describes, oldest first; `results` has the others."""
        return load_index(self.read(query.results_index)) if query.results_index else []


def _unreadable(segment: Segment, error: OSError) -> CorruptFileError:
    return CorruptFileError("a committed file cannot be read", f"{segment.path}: {error}", RESTORE)


def sync(path: Path) -> None:
    """Make durable what a file holds, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
