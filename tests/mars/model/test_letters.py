"""Files of dead letters: put together, kept in bounds and read in order, without losing or doubling one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from mars.adapters import letters as adapter
from mars.adapters.letters import LetterStore, folder
from mars.adapters.redrive_marks import Redriven
from mars.adapters.storage import CorruptFileError, Storage
from mars.model import letters
from mars.model.letters import LetterFile

STREAM, ROOT = 7, Path(__file__).resolve().parents[3]


def table(*rows: tuple) -> pa.Table:
    """(partition, offset, line[, reason[, payload[, cut]]]) as letters."""
    full = [(*row, *("bad", b"x", False)[len(row) - 3:]) for row in rows]
    columns = list(zip(*full, strict=True)) or [()] * 6
    return pa.Table.from_arrays([pa.array(columns[i], letters.SCHEMA.field(name).type) if i is not None else
                                 pa.array([0] * len(full), letters.SCHEMA.field(name).type)
                                 for name, i in zip(letters.SCHEMA.names, (0, 1, 2, None, 3, 4, 5), strict=True)],
                                schema=letters.SCHEMA)


def places(tables) -> list[tuple[int, int, int]]:
    """The places of all letters, as they come."""
    return [tuple(row[name] for name in letters.PLACE) for part in tables for row in part.to_pylist()]


@pytest.fixture
def store(tmp_path) -> LetterStore:
    """An empty one."""
    return LetterStore(Storage(str(tmp_path)))


def write(store: LetterStore, letters_: pa.Table, start: int, end: int, age_s: float = 0.0) -> LetterFile:
    """A file of letters of one partition, so many seconds old."""
    file = LetterFile(letters_["partition"][0].as_py(), start, end, len(letters_), letters.digest(str(random.random())))
    store.write(STREAM, file, letters.encode(letters_))
    path = store.storage.root / folder(STREAM) / file.name
    os.utime(path, (path.stat().st_mtime - age_s,) * 2)
    return file


def test_a_name_says_what_its_file_holds():
    file = LetterFile(3, 10, 500, 4, letters.digest("a", "b"))
    assert LetterFile.of(file.name) == file
    assert LetterFile.of(file.name + ".part") is None
    assert letters.digest("a", "b") != letters.digest("ab")


def test_a_letter_that_comes_twice_is_one_with_all_reasons_and_all_bytes():
    merged = letters.merge([table((0, 5, 1, "b: x; a: y", b"", True), (0, 9, 0)),
                            table((0, 5, 1, "a: y; c: z", b"whole", False), (0, 5, 0))])
    assert [(row["offset"], row["line"], row["reason"], row["payload"], row["cut"]) for row in merged.to_pylist()] == [
        (5, 0, "bad", b"x", False), (5, 1, "a: y; c: z; b: x", b"whole", False), (9, 0, "bad", b"x", False)]
    assert merged.schema == letters.SCHEMA


@pytest.mark.parametrize("seed", range(20))
def test_overlapping_files_are_read_in_order_and_each_letter_once(store, seed):
    rng = random.Random(seed)
    all_ = {(p, offset, line) for p in range(2) for offset in rng.sample(range(60), 25) for line in range(rng.randint(1, 3))}
    for _ in range(rng.randint(1, 14)):
        partition, start = rng.randrange(2), rng.randrange(55)
        end = min(60, start + rng.randint(1, 40))
        held = sorted(place for place in all_ if place[0] == partition and start <= place[1] < end)
        if held:
            write(store, table(*held), start, end)
    known = sorted(set(places(store.read(STREAM, file) for file in store.files(STREAM))))
    assert places(store.in_order(STREAM)) == known
    for after in rng.sample(known, min(5, len(known))):
        assert places(store.in_order(STREAM, after)) == [place for place in known if place > after]


def test_the_oldest_go_first_and_are_counted(store):
    files = [write(store, table((0, n, 0), (0, n, 1)), n, n + 1, age_s=100 - n) for n in range(10)]
    assert store.retain(STREAM, 10 * adapter.BLOCK_BYTES) == 0
    assert store.retain(STREAM, 4 * adapter.BLOCK_BYTES) == 12
    assert sorted(store.files(STREAM)) == files[6:]
    assert store.retain(STREAM, 3 * adapter.BLOCK_BYTES) == 2
    assert store.deleted(STREAM) == 14
    assert store.deleted(STREAM + 1) == 0


def test_the_newest_file_stays_whole_unless_none_are_kept(store):
    old, new = (write(store, table(*((0, n, 0, "bad", random.randbytes(500)) for n in range(at, at + 100))), at, at + 100,
                      age_s=100 - at) for at in (0, 50))
    assert store.retain(STREAM, adapter.BLOCK_BYTES) == old.count
    assert store.files(STREAM) == [new]
    (store.storage.root / folder(STREAM) / new.name).write_bytes(b"x" * 50_000)
    assert store.retain(STREAM, adapter.BLOCK_BYTES) == 0
    assert store.retain(STREAM, 0) == new.count
    assert (store.files(STREAM), store.deleted(STREAM)) == ([], old.count + new.count)


def test_files_are_put_together_only_to_a_part_of_what_is_kept(store):
    for n in range(60):
        write(store, table((0, n, 0, "bad", random.randbytes(3000))), n, n + 1)
    limit = 60 * adapter.BLOCK_BYTES
    for _ in range(20):
        store.tidy(STREAM, limit)
    assert len(store.files(STREAM)) > 6
    assert len(places(store.in_order(STREAM))) == 60
    store.tidy(STREAM, 0)


def test_only_the_files_of_a_page_are_loaded_and_only_its_pieces_put_together(store, monkeypatch):
    monkeypatch.setattr(letters, "PIECE_LETTERS", 10)
    for n in range(0, 100, 20):
        write(store, table(*((0, offset, line) for offset in range(n, n + 20) for line in (0, 1))), n, n + 20)
    write(store, table(*((0, offset, 2) for offset in range(0, 100, 3))), 0, 100)
    read, merged, whole = [], [], letters.merge
    monkeypatch.setattr(letters, "merge", lambda tables: merged.append(sum(map(len, tables))) or whole(tables))
    tables = letters.in_order(store.files(STREAM), lambda file: read.append(file) or store.read(STREAM, file), (0, 45, 0))
    assert places([next(tables)])[:3] == [(0, 45, 1), (0, 45, 2), (0, 46, 0)]
    assert sorted(file.start for file in read) == [0, 40]
    assert max(merged) <= 30


def test_marks_are_read_only_for_the_letters_that_are_looked_at(store):
    held, marks = [table(*((p, n, 0) for n in range(10))) for p in range(2)], Redriven(store.storage)
    for number, part in enumerate(held):
        marks.begin(STREAM, f"{number:016x}", "t", part.slice(2, 3))
        marks.confirm(STREAM, f"{number:016x}")
    marks.begin(STREAM, "ff", "t", held[0])
    path = store.storage.root / folder(STREAM)
    now = marks.marks(STREAM)
    (path / "0000000000000001.1-2-1-4.redriven").write_bytes(b"is not read")
    assert now.of(held[0]).to_pylist() == [2 <= n < 5 for n in range(10)]
    assert (path / "ff.0-0-0-9.pending").exists()
    marks.settle(STREAM, lambda topic: "ff")
    assert marks.marks(STREAM).of(held[0]).to_pylist() == [True] * 10
    assert marks.marks(STREAM).of(held[1].slice(5)).to_pylist() == [False] * 5


def test_a_mark_whose_stream_is_dropped_meanwhile_is_settled_by_that(store, monkeypatch):
    marks = Redriven(store.storage)
    marks.begin(STREAM, "ff", "t", table((0, 1, 0)))
    monkeypatch.setattr(store.storage, "get", lambda path: None)
    marks.settle(STREAM, lambda topic: "ff")


def test_small_files_are_put_together(store):
    for n in range(40):
        write(store, table((n % 2, n, 0)), n, n + 1, age_s=50)
    before = places(store.in_order(STREAM))
    store.tidy(STREAM, 256 << 20)
    assert len(store.files(STREAM)) == 2
    assert places(store.in_order(STREAM)) == before
    paths = (store.storage.root / folder(STREAM)).glob("*.letters")
    assert all(store.storage.root.stat().st_mtime - path.stat().st_mtime > 20 for path in paths), "they are as old as before"
    store.tidy(STREAM, 256 << 20)
    assert places(store.in_order(STREAM)) == before


def test_what_a_killed_writer_left_is_swept(store):
    write(store, table((0, 1, 0)), 1, 2)
    left = store.storage.root / folder(STREAM) / "0-1-2-1-0.letters.abc.part"
    left.write_bytes(b"half")
    store.tidy(STREAM, 256 << 20)
    assert left.exists()
    os.utime(left, (0, 0))
    store.tidy(STREAM, 256 << 20)
    assert not left.exists()
    assert places(store.in_order(STREAM)) == [(0, 1, 0)]


def test_a_damaged_file_is_named(store):
    file = write(store, table((0, 1, 0)), 1, 2)
    (store.storage.root / folder(STREAM) / file.name).write_bytes(b"nonsense")
    with pytest.raises(CorruptFileError, match=file.name):
        list(store.in_order(STREAM))


def test_whatever_is_damaged_is_named_or_read_as_a_whole(store):
    """Arrow reads some damaged files all the same, and works on them beyond the end of their memory: bytes are flipped in a
    process of its own, which must not die of it."""
    code = """
import random
from mars.model import letters
from tests.mars.model.test_letters import table
data, dice = letters.encode(table(*((0, n, 0) for n in range(50)))), random.Random(5)
for _ in range(3_000):
    bad = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        bad[dice.randrange(len(bad))] = dice.randrange(256)
    try:
        found = letters.decode(bytes(bad))
    except Exception:
        continue
    if found.schema == letters.SCHEMA:
        letters.merge([found, found])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert ended.returncode == 0, ended.stderr
