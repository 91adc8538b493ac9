"""The thread that keeps dead letters in bounds, where one stream's files are damaged."""

from __future__ import annotations

import os
import threading
import time

import pyarrow as pa
import pytest

from mars.adapters.letters import LetterStore
from mars.adapters.storage import Storage
from mars.model import letters
from mars.model.letters import LetterFile
from reducer.leading.letters import TIDY_ROUNDS, keep_letters

DAMAGED, WHOLE = 1, 2
LIMIT = 256 << 10


def write(store: LetterStore, stream_id: int, start: int, count: int, damage: bool = False) -> None:
    """A file of so many letters of 1 kB; in a damaged one a column's name is no text any more."""
    rows = [(0, start + n, 0, None, "bad", os.urandom(1000), False) for n in range(count)]
    table = pa.Table.from_pylist([dict(zip(letters.SCHEMA.names, row, strict=True)) for row in rows], letters.SCHEMA)
    data = letters.encode(table)
    file = LetterFile(0, start, start + len(rows), len(rows), letters.digest(str(start)))
    store.write(stream_id, file, data.replace(b"payload", b"\xff" * 7) if damage else data)


@pytest.fixture
def store(tmp_path) -> LetterStore:
    """Twice as much as may be kept of one stream, and of another so many small files that they are put together, which one
    of them does not allow."""
    made = LetterStore(Storage(str(tmp_path)))
    for start in range(0, 1000, 100):
        write(made, WHOLE, start, 50)
        write(made, DAMAGED, start, 1, damage=start == 200)
        write(made, DAMAGED, start + 50, 1)
    return made


def test_the_thread_goes_on_and_keeps_the_other_streams_in_bounds(store, monkeypatch):
    monkeypatch.setattr("reducer.leading.letters.ROUND_S", 0.01)
    stopping, rounds = threading.Event(), []
    keep_letters(store, LIMIT, stopping, lambda: rounds.append(0) or [DAMAGED, WHOLE])
    until = time.monotonic() + 20
    while len(rounds) < 2 * TIDY_ROUNDS + 1 and time.monotonic() < until:
        time.sleep(0.01)
    stopping.set()
    assert len(rounds) > 2 * TIDY_ROUNDS, "the thread has ended"
    assert sum(entry.bytes for entry in store.storage.entries(f"{WHOLE}/dead-letters")) <= LIMIT
    assert len(store.files(DAMAGED)) == 20
