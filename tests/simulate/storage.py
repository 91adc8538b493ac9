"""Files of the state URI, in memory: written under names never used again, durable when `write` returns."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

from mars.adapters import storage
from mars.adapters.storage import CorruptFileError, StateAwayError
from mars.model.commits import Segment
from tests.simulate.faults import Network
from tests.simulate.scheduler import Actor, Scheduler


class Disk:
    """What all nodes see. With `loose` (a planted bug) a file is lost if its writer's node is killed before `settle`."""

    def __init__(self, scheduler: Scheduler, network: Network) -> None:
        self.scheduler, self.network = scheduler, network
        self.files: dict[str, tuple[list[bytes], float]] = {}
        self.numbers = 0
        self.loose: dict[str, str] | None = None
        self._full, self._fillings = False, 0
        self.damaged: set[str] = set()
        self.spill = Spill(self)

    @property
    def full(self) -> bool:
        """Is there no room?"""
        return self._full

    @full.setter
    def full(self, full: bool) -> None:
        self._fillings += full and not self._full
        self._full = full

    @property
    def away(self) -> bool:
        """Does it not answer at all? Every other time that it would be full."""
        return self._full and self._fillings % 2 == 0

    def killed(self, node: str) -> None:
        """A node is gone, and with it what it had not made durable."""
        for path, writer in list((self.loose or {}).items()):
            if writer == node:
                self.files.pop(path, None)
                del self.loose[path]


class NewFile:
    """Stands for mars.adapters.storage.NewFile: blobs that will lie in one new file."""

    def __init__(self, disk: Disk, folder: str, kind: str) -> None:
        disk.numbers += 1
        self.disk, self.folder, self.path = disk, folder, f"{folder}/{kind}-{disk.numbers}"
        self.blobs: list[bytes] = []

    def add(self, blob: bytes) -> Segment:
        self.blobs.append(blob)
        return Segment(self.path, len(self.blobs) - 1, len(blob), 0)

    def write(self) -> None:
        disk = self.disk
        disk.scheduler.step()
        disk.network.fate("files")
        if disk.full:
            raise OSError(28, "No space left on device")
        disk.files[self.path] = (self.blobs, disk.scheduler.now)
        if disk.loose is not None:
            disk.loose[self.path] = disk.scheduler.current.node
        disk.scheduler.step()


class Storage(storage.Storage):
    """Stands for mars.adapters.storage.Storage, of which it takes all but the files themselves. A segment's `start` is
    the number of its blob in the file."""

    root = SimpleNamespace(is_dir=lambda: False)

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def require(self) -> None:
        if self.disk.away:
            raise StateAwayError("the state folder does not answer", "")

    def new_file(self, folder: str, kind: str) -> NewFile:
        return NewFile(self.disk, folder, kind)

    def read(self, segment: Segment) -> bytes:
        self.disk.scheduler.step()
        self.disk.network.fate("files")
        self.require()
        if segment.path in self.disk.damaged:
            raise CorruptFileError("a committed file does not match its checksum", segment.path)
        return self.peek(segment)

    def peek(self, segment: Segment) -> bytes:
        """As `read`, at once: for the checker."""
        if segment.path not in self.disk.files:
            raise CorruptFileError("a committed file cannot be read", segment.path)
        return self.disk.files[segment.path][0][segment.start]

    def delete(self, path: str) -> None:
        self.disk.scheduler.step()
        self.disk.files.pop(path, None)

    def files(self, folder: str) -> Iterator[tuple[str, float]]:
        return iter([(path, at) for path, (_, at) in self.disk.files.items() if path.startswith(f"{folder}/")])


class Spill:
    """Stands for mapper.spill.Spill of each host: local files, gone with nothing, wrong for other generations. `kept` has
    for each the thread that wrote it, and when."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.kept: dict[str, tuple[tuple, object, Actor, float]] = {}

    @property
    def host(self) -> str:
        return self.disk.scheduler.current.node

    def sweep(self, older_than_s: float) -> None:
        now = self.disk.scheduler.now
        for path, (*_, at) in list(self.kept.items()):
            if path.startswith(f"{self.host}/") and now - at > older_than_s:
                del self.kept[path]

    def write(self, stream: object, generation: int, claim: object, batch: object, log: object) -> dict:
        scheduler = self.disk.scheduler
        scheduler.step()
        if self.disk.full:
            raise OSError(28, "No space left on device")
        path = f"{self.host}/{generation}-{claim.partition}-{claim.start}-{claim.end}-{claim.epoch}"
        self.kept[path] = ((generation, claim.partition, claim.start, claim.end), batch, scheduler.current, scheduler.now)
        return {"host": self.host, "path": path, "log": log}

    def read(self, stream: object, generation: int, claim: object, columns: object, own_ms: object) -> object | None:
        if not claim.file or claim.file["host"] != self.host:
            return None
        header, batch, *_ = self.kept.get(claim.file["path"], (None, None))
        return batch if header == (generation, claim.partition, claim.start, claim.end) else None

    def delete(self, file: dict | None) -> None:
        if file and file["host"] == self.host:
            self.kept.pop(file["path"], None)
