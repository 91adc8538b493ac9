"""Files of the state folder: nothing stays of one that could not be written."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mars.adapters import storage as module
from mars.adapters.storage import Storage
from tests.nemesis.privileges import enter_mount_namespace, mount_tmpfs, unmount

MB = 1 << 20


def names_in(root: Path) -> list[str]:
    return sorted(entry.name for entry in root.rglob("*") if entry.is_file())


@pytest.mark.parametrize("of", ["the file", "its folder"])
def test_nothing_stays_of_a_file_that_is_not_durable(tmp_path, monkeypatch, of):
    storage, calls = Storage(str(tmp_path)), []
    storage.write("0/0", "commit", [b"before"])
    before = names_in(tmp_path)

    def fsync(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == (1 if of == "the file" else 2):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        storage.write("0/0", "commit", [b"x" * MB])
    assert names_in(tmp_path) == before


def in_a_small_file_system(place: Path, size_mb: int, work: Callable[[], None]) -> None:
    """Do it where the folder is a file system of this size, which nobody else sees. Skipped without the right to."""
    came: list[BaseException | bool] = []

    def run() -> None:
        try:
            if not enter_mount_namespace():
                came.append(False)
                return
            mount_tmpfs(place, size_mb)
            try:
                work()
            finally:
                unmount(place)
        except BaseException as error:
            came.append(error)

    thread = threading.Thread(target=run)  # the namespace is this thread's alone
    thread.start()
    thread.join()
    if came and came[0] is False:
        pytest.skip("mounts need root")
    if came:
        raise came[0]


def test_a_full_disk_keeps_no_part_of_a_file(tmp_path):
    """4 MB are free, and 5 are to be written: others can still write what fits, however often it is tried."""
    def work() -> None:
        storage = Storage(str(tmp_path))
        storage.write("0/0", "commit", [b"before"])
        before = names_in(tmp_path)
        for _ in range(3):
            with pytest.raises(OSError, match="No space left"):
                storage.write("0/0", "commit", [os.urandom(MB) for _ in range(5)])
            assert names_in(tmp_path) == before
        storage.write("0/1", "commit", [os.urandom(3 * MB)])

    in_a_small_file_system(tmp_path, 4, work)
