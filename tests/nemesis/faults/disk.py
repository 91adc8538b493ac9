"""Disks that are full, and files of commits and mappers that are damaged or lost (N20, N21)."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from pathlib import Path

from mars.model import names
from mars.model.commits import Pointer
from tests.nemesis.faults import Fault
from tests.nemesis.rest import Rest, TooSlowError

REGISTERS_S = 3.0
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

    def took_effect(self) -> bool:
        return self.ballast.exists() and self.ballast.stat().st_size > 0

    def heal(self) -> None:
        if hasattr(self, "ballast"):
            self.ballast.unlink(missing_ok=True)


class StateFolderFull(_Full):
    folder = "state"


class SpillFolderFull(_Full):
    folder = "spill"


class CommitDamaged(Fault):
    """The file of a key part's last commit has a wrong bit, or an end, or is gone, and the reducers must read it again. They
    fall back: what was given out stays, positions and counters go back until the rest is merged again."""

    number = "N21"
    hold_s = (0.2, 1.0)

    def inflict(self) -> None:
        self.stream.readers.fell_back()
        key_part = self.rng.randrange(self.instance.config.key_parts)
        data, _ = self.instance.zk.get(names.pointer(self.stream.id, key_part))
        file = self.instance.data / "state" / Pointer.load(data).manifest.path
        self.way, self.has_struck = self.rng.choice(("a wrong bit", "a missing end", "gone")), False
        with contextlib.suppress(FileNotFoundError):  # a newer commit has taken its place
            if self.way == "a wrong bit":
                flip(file, self.rng)
            elif self.way == "a missing end":
                os.truncate(file, self.rng.randrange(max(1, file.stat().st_size)))
            else:
                file.unlink()
            self.has_struck = True
        self.instance.kill_workers("reducer")


class _LocalFiles(Fault):
    """Something happens to every local file of the mappers, and those who wrote them die, one of them just after it has
    registered its file: whoever gets its claim finds it."""

    number = "N21"
    hold_s = (0.5, 1.5)

    def inflict(self) -> None:
        rest = Rest(self.instance, "mapper.registered")
        with contextlib.suppress(TooSlowError):  # tuples come slowly: there may be no file
            rest.reached(REGISTERS_S)
        self.instance.kill_workers("mapper")
        rest.end()
        files = list((self.instance.data / "spill").glob("*.arrow"))
        self.files = 0
        for file in files:
            with contextlib.suppress(OSError):  # whoever has started in the meantime may have swept it
                self.damage(file)
                self.files += 1
        self.has_struck = self.files > 0

    def damage(self, file: Path) -> None:
        raise NotImplementedError


class SpillFilesFlipped(_LocalFiles):
    """A bit flips: who reads them must notice."""

    def damage(self, file: Path) -> None:
        flip(file, self.rng)


class SpillFolderLost(_LocalFiles):
    """They are gone."""

    def damage(self, file: Path) -> None:
        file.unlink()


def flip(file: Path, rng: random.Random) -> None:
    """Turn one bit of the file, wherever."""
    place = rng.randrange(max(1, file.stat().st_size))
    with file.open("r+b") as opened:
        opened.seek(place)
        byte = opened.read(1)
        if byte:
            opened.seek(place)
            opened.write(bytes([byte[0] ^ 1 << rng.randrange(8)]))


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
