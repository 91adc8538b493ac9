"""The local file of a batch gives the batch back, or nothing."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mapper.batch import CountedBatch, Messages, ParsedBatch, TaskResult
from mapper.parse import Parser
from mapper.spill import Spill, log_of
from mapper.timing import Limits, judge
from mars.model.claims import Claim
from mars.model.plan import Stream, StreamColumn
from tests.clock import ManualClock

STREAM = Stream("s", 3, "t", "id", (StreamColumn("t", "BIGINT"), StreamColumn("k", "STRING")), "CSV", "t", "ms")
CLAIM = Claim(1, 0, 10, 20, {"q": 1}, 5, 1, None)


@pytest.fixture
def files(tmp_path) -> Spill:
    return Spill(tmp_path)


def parsed(*values: bytes, columns: tuple[str, ...] = ("t", "k")) -> ParsedBatch:
    """The batch of these messages, at offsets from 10 on, as of time 0: what is later than 2 is future."""
    length = np.array([len(v) for v in values])
    start = np.concatenate([[0], np.cumsum(length)[:-1]])
    places = (start, length, np.arange(10, 10 + len(values)), np.zeros(len(values), np.int64))
    messages = Messages(np.frombuffer(b"".join(values), np.uint8), *places)
    return judge(STREAM, Parser(STREAM, columns).parse(messages), messages, Limits(2, (1, 9)))


@pytest.mark.parametrize("batch", [
    parsed(b"1,a", b"2,b", b"3,a"), parsed(b"1,a", b"x,b", b",c"), parsed(b"1,a\n2,b", b"3,c"),
    parsed(b"7,a", columns=("k",)), parsed(b"")], ids=["plain", "bad", "packed", "time not wanted", "empty"])
def test_what_is_written_is_read_again(tmp_path, files, batch):
    file = files.write(STREAM, 2, CLAIM, batch, (4, 7))
    assert log_of(replace(CLAIM, file=json.loads(json.dumps(file)))) == (4, 7)
    again = files.read(STREAM, 2, replace(CLAIM, file=file))
    assert again.judged.keys() == batch.judged.keys() == {None, 1, 9}
    for limit, judged in batch.judged.items():
        known = again.judged[limit]
        assert (known.future is None, known.max_event_time) == (judged.future is None, judged.max_event_time)
        assert known.future is None or known.future.tolist() == judged.future.tolist()
    for name in ("event_time", "offset", "line"):
        assert getattr(again, name).tolist() == getattr(batch, name).tolist()
    assert {n: c.to_pylist() for n, c in again.columns.items()} == {n: c.to_pylist() for n, c in batch.columns.items()}
    assert {n: b.tolist() for n, b in again.bad.items()} == {n: b.tolist() for n, b in batch.bad.items()}


def test_a_file_without_a_column_that_is_wanted_now_is_deleted_and_not_read(tmp_path, files):
    file = files.write(STREAM, 2, CLAIM, parsed(b"1,a", columns=("t",)))
    assert files.read(STREAM, 2, replace(CLAIM, file=file), {"t"})
    assert files.read(STREAM, 2, replace(CLAIM, file=file), {"t", "k"}) is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_what_a_limit_says_is_deleted_and_not_read(tmp_path, files):
    file = files.write(STREAM, 2, CLAIM, parsed(b"1,a"))
    assert files.read(STREAM, 2, replace(CLAIM, file=file), {"t"}, (9,))
    assert files.read(STREAM, 2, replace(CLAIM, file=file), {"t"}, (5,)) is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_gets_no_piece_of_a_file(tmp_path, files, monkeypatch):
    def fill(path, data):
        with path.open("wb") as file:
            file.write(bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fill)
    with pytest.raises(OSError, match="No space"):
        files.write(STREAM, 2, CLAIM, parsed(b"1,a"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["generation", "range", "bytes", "gone"])
def test_what_does_not_match_is_deleted_and_not_read(tmp_path, files, change):
    file = files.write(STREAM, 2, CLAIM, parsed(b"1,a"))
    path = tmp_path / file["path"].rsplit("/", 1)[1]
    if change == "bytes":
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    if change == "gone":
        path.unlink()
    claim = replace(CLAIM, file=file, end=21 if change == "range" else 20)
    assert files.read(STREAM, 3 if change == "generation" else 2, claim) is None
    assert not path.exists()


def test_a_file_of_another_host_is_not_looked_for(files):
    file = files.write(STREAM, 2, CLAIM, parsed(b"1,a"))
    assert files.read(STREAM, 2, replace(CLAIM, file={**file, "host": "elsewhere"})) is None


def test_the_sweep_takes_what_is_old(tmp_path):
    clock = ManualClock(time.time())
    files = Spill(tmp_path / "spill", clock)
    files.sweep(0)  # there is no folder yet
    files.write(STREAM, 2, CLAIM, parsed(b"1,a"))
    files.sweep(60)
    assert list((tmp_path / "spill").iterdir())
    clock.now_s += 61
    files.sweep(60)
    assert not list((tmp_path / "spill").iterdir())


COUNTED = CountedBatch({"q": TaskResult("q", [b"cells", b""], {"tuples": 9}, {"t: not a number": 2}, 77),
                        "r": TaskResult("r", [b"", b"more"], {"tuples": 9}, {}, 66)}, 9, 77)


def test_what_was_counted_is_read_again_for_the_tasks_that_it_was_counted_for(files):
    claim = replace(CLAIM, tasks={"q": 1, "r": 3})
    file = files.write(STREAM, 2, claim, COUNTED)
    assert files.read(STREAM, 2, replace(claim, file=file), {"t", "k"}) == COUNTED
    done = replace(claim, file=file, tasks={"r": 3})  # a task of the claim may be done meanwhile
    assert files.read(STREAM, 2, done, {"t"}) == replace(COUNTED, results={"r": COUNTED.results["r"]})


@pytest.mark.parametrize("tasks", [{"q": 1, "r": 4}, {"q": 1, "r": 3, "s": 1}])
def test_a_file_without_the_cells_of_a_task_is_deleted_and_not_read(tmp_path, files, tasks):
    file = files.write(STREAM, 2, replace(CLAIM, tasks={"q": 1, "r": 3}), COUNTED)
    assert files.read(STREAM, 2, replace(CLAIM, tasks=tasks, file=file)) is None
    assert list(tmp_path.iterdir()) == []
