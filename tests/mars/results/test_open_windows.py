"""Open windows read from one commit to the next are those of a reader that has kept nothing."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace

import pyarrow as pa
import pytest

from mars.adapters.storage import Storage
from mars.model.commits import Manifest, QueryCommit
from mars.results.open_windows import OpenWindows
from mars.results.snapshot import Snapshot
from reducer.committing import commit
from tests.reducer.pieces import QUERY, STREAM, fresh, piece


class Counted(Storage):
    """Counts the segments that are read."""

    reads = 0

    def read(self, segment) -> bytes:
        self.reads += 1
        return super().read(segment)


class Part:
    """A key part whose owner commits, and a reader that keeps what it has read."""

    def __init__(self, folder) -> None:
        self.storage = Counted(folder.as_uri())
        self.state, self.manifest, self.end = fresh(), Manifest(0, 0), 0
        self.kept = OpenWindows(self.storage)

    def commit(self, times: list[int], watermark: int | None = None) -> None:
        """Merge tuples of these times; close; commit."""
        self.state.accept(piece(self.manifest.commit, 0, self.end, times))
        self.end += len(times)
        if watermark is not None:
            self.state.close(watermark)
        prepared = commit.prepare(self.storage, self.manifest, {"q1": self.state}, 1 << 40)
        commit.adopt({"q1": self.state}, prepared)
        self.manifest = prepared.manifest

    def rows(self, reader: OpenWindows) -> pa.Table:
        part = self.manifest.queries["q1"]
        rows = reader.rows(Snapshot(STREAM, QUERY, (part,)), 0, part)
        return rows.sort_by([(name, "ascending") for name in rows.column_names])


@pytest.fixture
def part(tmp_path) -> Part:
    return Part(tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_kept_and_read_anew_are_the_same(part, seed, monkeypatch):
    """Through deltas, new bases, and windows that close; the reader leaves out some commits."""
    monkeypatch.setattr(commit, "DELTAS_MAX", 4)
    rng, watermark = random.Random(seed), 0
    for number in range(60):
        watermark += rng.choice([0, 0, 0, 5, 40])
        times = [watermark + rng.randrange(60) for _ in range(rng.randrange(1, 6))]
        part.commit(times, rng.choice([None, watermark]))
        if rng.random() < 0.6:
            assert part.rows(part.kept) == part.rows(OpenWindows(part.storage)), number


def test_a_read_costs_what_was_committed_since_the_last(part):
    for second in range(5):
        part.commit([second])
    part.rows(part.kept)
    assert part.storage.reads == 5
    part.rows(part.kept)
    assert part.storage.reads == 5
    part.commit([6])
    part.commit([7])
    part.rows(part.kept)
    assert part.storage.reads == 7


def test_no_more_than_its_share_of_memory_is_kept(part):
    kept = OpenWindows(part.storage, kept_bytes=0)
    part.commit([1])
    assert len(part.rows(kept)) == 1
    assert list(kept._held) == []


def test_what_a_fall_back_has_left_out_is_not_counted_twice(part):
    """The second segment is damaged; what it held comes again in another one, beside the first."""
    part.commit([1, 2])
    before = part.manifest.queries["q1"].copy()
    part.commit([3, 4])
    part.rows(part.kept)
    part.manifest.queries["q1"] = replace(before, fell_at=3)
    part.state.adopt(part.manifest.queries["q1"], part.state.open[:1])
    part.end = 2
    part.commit([3, 4])
    assert part.rows(part.kept).equals(part.rows(OpenWindows(part.storage)))


def at(part: Part) -> QueryCommit:
    """The query as of the last commit, as a reader holds it from then on."""
    return part.manifest.queries["q1"].copy()


def read(reader: OpenWindows, entry: QueryCommit) -> list[dict]:
    rows = reader.rows(Snapshot(STREAM, QUERY, (entry,)), 0, entry)
    return rows.sort_by([(name, "ascending") for name in rows.column_names]).to_pylist()


def test_a_reader_with_an_older_commit_neither_shows_nor_leaves_what_is_newer(part):
    """It took its snapshot before another reader came with the next commit, and reads after that one."""
    part.commit([1, 1])
    old = at(part)
    part.commit([1, 1, 1])
    new = at(part)
    alone = {id(entry): read(OpenWindows(part.storage), entry) for entry in (old, new)}
    for entry in (new, old, new, new, old, old, new):
        assert read(part.kept, entry) == alone[id(entry)]
    reads = part.storage.reads
    assert read(part.kept, new) == alone[id(new)]
    assert part.storage.reads == reads, "the newest is kept, whoever came last"


@pytest.mark.parametrize("seed", range(8))
def test_readers_of_any_commits_in_any_order_see_each_as_it_is(part, seed, monkeypatch):
    """Also through new bases, and windows that close in between."""
    monkeypatch.setattr(commit, "DELTAS_MAX", 3)
    rng, watermark, entries = random.Random(seed), 0, []
    for _ in range(25):
        watermark += rng.choice([0, 0, 5, 40])
        part.commit([watermark + rng.randrange(60) for _ in range(rng.randrange(1, 6))], rng.choice([None, watermark]))
        entries.append(at(part))
    for _ in range(80):
        entry = entries[min(len(entries) - 1, int(rng.gauss(len(entries) * 0.7, 5)) % len(entries))]
        assert read(part.kept, entry) == read(OpenWindows(part.storage), entry)


def test_many_readers_beside_a_committer_see_what_their_commit_holds(tmp_path):
    """Two key parts that share a reader's cache, as in an API process; the sum of the counts is the oracle."""
    parts = [Part(tmp_path), Part(tmp_path)]
    kept, sent, done, wrong = OpenWindows(parts[0].storage), [0, 0], threading.Event(), []

    def commit_all() -> tuple[list[QueryCommit], int]:
        for number, part in enumerate(parts):
            count = random.randrange(200, 400)
            part.commit([random.randrange(10) for _ in range(count)])
            sent[number] += count
        return [at(part) for part in parts], sum(sent)

    latest = [commit_all()]

    def look() -> None:
        while not done.is_set():
            entries, expected = latest[0]
            found = 0
            for number, entry in enumerate(entries):
                rows = kept.rows(Snapshot(STREAM, QUERY, tuple(entries)), number, entry)
                found += sum(rows["count"].to_pylist())
                time.sleep(random.random() * 0.01)
            if found != expected:
                wrong.append((found, expected))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        latest[0] = commit_all()
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
