"""Open windows read from one commit to the next are those of a reader that has kept nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest

from api.results_open import OpenWindows
from api.results_snapshot import Snapshot
from mars.adapters.storage import Storage
from mars.commits import Manifest
from reducer import commit
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
    part.kept.kept_bytes = 0
    part.commit([1])
    assert len(part.rows(part.kept)) == 1
    assert not part.kept._held


def test_what_a_fall_back_has_left_out_is_not_counted_twice(part):
    """The second segment is damaged; what it held comes again in another one, beside the first."""
    part.commit([1, 2])
    before = part.manifest.queries["q1"].copy()
    part.commit([3, 4])
    part.rows(part.kept)
    part.manifest.queries["q1"] = replace(before, fell_at=3)
    part.state.open, part.state.commit, part.end = part.state.open[:1], part.manifest.queries["q1"].copy(), 2
    part.commit([3, 4])
    assert part.rows(part.kept).equals(part.rows(OpenWindows(part.storage)))
