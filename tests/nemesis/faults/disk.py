"""Disks that are full, and local files whose bits have flipped (N20, N21)."""

from __future__ import annotations

import contextlib
import shutil
import signal
from pathlib import Path

from tests.nemesis.faults import Fault

BLOCK = b"\0" * (1 << 20)


class _Full(Fault):
    """A file takes all room of a small file system that was mounted over the folder."""

    number = "N20"
    hold_s = (2.0, 8.0)
    needs = frozenset({"root"})
    folder = ""

    def inflict(self) -> None:
        self.ballast = Path(self.instance.data) / self.folder / "ballast.nemesis"
        with contextlib.suppress(OSError), self.ballast.open("wb", buffering=0) as file:
            while True:
                file.write(BLOCK)
        with contextlib.suppress(OSError), self.ballast.open("ab", buffering=0) as file:
            while file.write(b"\0"):  # to the last page
                pass

    def heal(self) -> None:
        if hasattr(self, "ballast"):
            self.ballast.unlink(missing_ok=True)


class StateFolderFull(_Full):
    folder = "state"


class SpillFolderFull(_Full):
    folder = "spill"


class SpillFilesFlipped(Fault):
    """Bits flip in every local file of the mappers, and those who wrote them die: who reads them must notice."""

    number = "N21"
    hold_s = (0.5, 1.5)

    def inflict(self) -> None:
        for pid in self.instance.workers("mapper"):
            self.instance.signal(pid, signal.SIGKILL)
        for file in (self.instance.data / "spill").glob("*.arrow"):
            with contextlib.suppress(OSError), file.open("r+b") as opened:
                size = file.stat().st_size
                opened.seek(self.rng.randrange(max(1, size)))
                byte = opened.read(1) or b"\0"
                opened.seek(-len(byte), 1)
                opened.write(bytes([byte[0] ^ 1 << self.rng.randrange(8)]))


class SpillFolderLost(Fault):
    """The local files are gone, and those who wrote them too."""

    number = "N21"
    hold_s = (0.5, 1.5)

    def inflict(self) -> None:
        for pid in self.instance.workers("mapper"):
            self.instance.signal(pid, signal.SIGKILL)
        for file in (self.instance.data / "spill").glob("*.arrow"):
            file.unlink(missing_ok=True)


def mount(data: Path, size_mb: int = 192) -> list[Path]:
    """Mount small file systems over the state folder and the spill folder, for this process's own mount namespace."""
    from tests.nemesis.privileges import mount_tmpfs
    mounted = []
    for folder in ("state", "spill"):
        place = data / folder
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        mount_tmpfs(place, size_mb)
        mounted.append(place)
    return mounted
