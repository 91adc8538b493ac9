"""Falling back with LATE UPDATE: revisions that a lost commit has published keep their numbers, and damage is noticed in all
files that the state needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mars.adapters.storage import Storage
from mars.adapters.view import StreamView
from mars.model.commits import Earlier, Pointer, Segment
from mars.model.registry import Query, QuerySet
from reducer.committing import commit, fallback
from reducer.committing.assignment import Assignment
from reducer.committing.history import History, Point, pointer_to
from tests.mars.results.changing import STREAM, WEEK_MS, Part, plan_of

QUERY = Query("q1", "q", plan_of("WINDOWING 10 s WATERMARK 0 s LATE UPDATE FOR 1 h"), incarnation=1, start={0: 0})


class Owner(Part):
    """A key part with pointers to earlier commits."""

    history: History = History()
    pointer: Pointer | None = None

    def commit(self, retention_ms: int = WEEK_MS) -> None:
        prepared = commit.prepare(self.storage, self.manifest, {"q1": self.state}, retention_ms)
        last = Point(Earlier(self.pointer and self.pointer.manifest, self.manifest.commit), self.manifest)
        self.history = self.history.follow(last, prepared.manifest, ["q1"])
        self.pointer = pointer_to(prepared.segment, prepared.manifest, self.history)
        commit.adopt({"q1": self.state}, prepared)
        self.manifest = prepared.manifest

    def fall_back(self) -> fallback.Found:
        view = StreamView(STREAM, QuerySet(2, (0,), {"q1": replace(QUERY)}), 1, 1, 1)
        found = fallback.find(self.storage, Assignment(view, 0, 3, 5, self.pointer))
        self.manifest = found.manifest
        if not found.lost:
            self.load()
        return found

    def revisions(self) -> list[tuple[str, int, int]]:
        """(key, tuples, revision) of what the next commit publishes."""
        table = self.state.closed_cells()
        names = [name for name in table.schema.names if name.startswith("revision")]
        return sorted(zip(*(table[name].to_pylist() for name in ("k0", "n", *names)), strict=True))


def damage(storage: Storage, segment: Segment) -> None:
    path = storage.root / segment.path
    data = bytearray(path.read_bytes())
    data[segment.start + segment.length // 2] ^= 0x10
    path.write_bytes(data)


def closed(tmp_path: Path) -> Owner:
    """A window that is closed and revised once, in a commit each."""
    owner = Owner(Storage(tmp_path.as_uri()), QUERY, 0)
    owner.take([(1, "a", 1), (15, "a", 1)])
    owner.commit()
    owner.state.close(12)
    owner.commit()
    owner.take([(2, "a", 1), (2, "b", 1)])
    assert owner.revisions() == [("a", 2, 1), ("b", 1, 0)]
    owner.commit()
    return owner


def test_numbers_that_readers_know_are_not_given_again(tmp_path) -> None:
    owner = closed(tmp_path)
    damage(owner.storage, owner.manifest.queries["q1"].results[-1].segment)
    found = owner.fall_back()
    entry = found.manifest.queries["q1"]
    assert (entry.positions, entry.revised_from, entry.revised_until) == ({0: 2}, entry.commits, 12)
    owner.take([(3, "a", 1), (3, "b", 1)])  # other tuples than those that were merged before
    assert owner.revisions() == [("a", 2, entry.commits), ("b", 1, entry.commits)]
    assert entry.commits > 3
    owner.commit()
    owner.state.close(20)
    owner.take([(16, "a", 1)])
    assert owner.revisions() == [("a", 2, 0)], "a window that readers did not know begins with 0"


def test_a_window_that_closes_again_does_not_begin_with_0(tmp_path) -> None:
    owner = closed(tmp_path)
    for result in owner.manifest.queries["q1"].results:
        damage(owner.storage, result.segment)
    entry = owner.fall_back().manifest.queries["q1"]
    assert (entry.positions, entry.watermark, entry.published) == ({}, None, 12), "nothing is left but the beginning"
    owner.take([(1, "a", 1), (15, "a", 1)])
    owner.state.close(12)
    assert owner.revisions() == [("a", 1, entry.revised_from)]


def test_results_that_nothing_replaces_are_missed(tmp_path) -> None:
    """They are the state of the windows that late tuples may change."""
    owner = closed(tmp_path)
    oldest = owner.manifest.queries["q1"].results[0].segment
    for _ in range(40):
        owner.take([(15, "a", 1)])
        owner.commit()
    damage(owner.storage, oldest)
    assert "q1" in owner.fall_back().lost
