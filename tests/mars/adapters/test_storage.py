"""Files of the state folder: nothing stays of one that could not be written, and only what is lost counts as lost."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mars.adapters import storage as module
from mars.adapters.storage import CorruptFileError, StateAwayError, Storage
from mars.model.commits import Segment
from tests.nemesis.privileges import enter_mount_namespace, mount_tmpfs, unmount

MB = 1 << 20
OURS = b'{"id": "ours", "format": 1}'


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


@pytest.fixture
def ours(tmp_path) -> Storage:
    """The state folder of an instance."""
    storage = Storage(str(tmp_path / "state"), "ours")
    Storage(str(tmp_path / "state")).put("instance.json", OURS)
    return storage


def unmounted(storage: Storage) -> Path:
    """An empty folder is in its place; where it is now."""
    elsewhere = storage.root.rename(storage.root.with_name("elsewhere"))
    storage.root.mkdir()
    return elsewhere


@pytest.mark.parametrize("lost", ["the file", "the folder"])
def test_what_is_not_in_the_instances_folder_is_lost(ours, lost):
    [segment] = ours.write("0/0", "commit", [b"cells"])
    (ours.root / segment.path).unlink()
    if lost == "the folder":
        (ours.root / "0/0").rmdir()
    for reader in (ours, Storage(str(ours.root))):  # a reader of results does not know whose it must be
        with pytest.raises(CorruptFileError, match=segment.path):
            reader.read(segment)


def test_nothing_is_lost_where_the_folder_is_not_mounted(ours):
    [segment] = ours.write("0/0", "commit", [b"cells"])
    elsewhere = unmounted(ours)
    for reader in (ours, Storage(str(ours.root))):
        with pytest.raises(StateAwayError, match=segment.path):
            reader.read(segment)
    (ours.root / "0/0").mkdir(parents=True)  # also where something was once written below the mount
    with pytest.raises(StateAwayError, match=segment.path):
        ours.read(segment)
    (ours.root / "0/0").rmdir()
    (ours.root / "0").rmdir()
    ours.root.rmdir()
    elsewhere.rename(ours.root)
    assert ours.read(segment) == b"cells"


def test_nothing_is_written_where_the_folder_is_not_mounted(ours):
    unmounted(ours)
    with pytest.raises(StateAwayError, match="is of instance none"):
        ours.write("0/0", "commit", [b"cells"])
    with pytest.raises(StateAwayError, match="is of instance none"):
        ours.put("7/dead-letters/some", b"letters")
    assert list(ours.root.iterdir()) == []
    (ours.root / "7").mkdir()  # also where something was once written below the mount
    with pytest.raises(StateAwayError, match="is of instance none"):
        ours.put("7/some", b"letters")
    assert names_in(ours.root) == []


@pytest.mark.parametrize("there", [b'{"id": "another", "format": 1}', b"", b"[]"])
def test_another_instances_folder_is_refused(ours, there):
    ours.require()
    ours.put("instance.json", there)
    with pytest.raises(StateAwayError, match="not this instance's"):
        ours.require()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EACCES, errno.EIO])
def test_an_error_that_says_nothing_about_the_file_is_waited_out(ours, monkeypatch, number):
    [segment] = ours.write("0/0", "commit", [b"cells"])

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "open", refuse, raising=False)
    with pytest.raises(StateAwayError, match=segment.path):
        ours.read(segment)


@pytest.mark.parametrize(("number", "kind"), [(errno.EIO, CorruptFileError), (errno.ESTALE, StateAwayError)])
def test_bytes_that_an_open_file_does_not_give_are_lost(ours, monkeypatch, number, kind):
    """As from a disk with a bad sector, or a file system with checksums of its own; not so where the server has gone."""
    [segment] = ours.write("0/0", "commit", [b"cells"])

    class Bad:
        def __init__(self, *_: object) -> None:
            pass

        def __enter__(self) -> Bad:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def seek(self, place: int) -> None:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "open", Bad, raising=False)
    with pytest.raises(kind, match=segment.path):
        ours.read(segment)


def test_a_wrong_length_and_a_wrong_checksum_are_damage(ours):
    [segment] = ours.write("0/0", "commit", [b"cells"])
    for wrong in (Segment(segment.path, 0, 9, segment.crc), Segment(segment.path, 0, 5, segment.crc + 1)):
        with pytest.raises(CorruptFileError, match="does not match"):
            ours.read(wrong)
