"""Rows that change after they were given out: who follows them ends with what a run over everything gives, however often it
stops, wherever it goes on, and whoever owns the key parts meanwhile."""

from __future__ import annotations

import random

import pytest

from mars.results import changes
from mars.results.places import ALL, Changes, begun
from reducer.committing import commit, results
from tests.mars.results.changing import World, batch, row_key

SEEDS = range(5)
KEYS = [f"k{number}" for number in range(7)]
WINDOWS = ("WINDOWING 10 s", "WINDOWING 10 s EVERY 4 s OFFSET 1 s", "WINDOWING LANDMARK EACH 12 s EVERY 4 s")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Few rows at a time, and few commits until cells and results are put together."""
    monkeypatch.setattr(changes, "CHUNK_ROWS", 3)
    monkeypatch.setattr(commit, "DELTAS_MAX", 4)
    monkeypatch.setattr(results, "RECENT_MAX", 3)


class Reader:
    """One that has read up to a place: all rows in their order, and the newest of each key."""

    def __init__(self, world: World) -> None:
        self.world, self.place, self.rows, self.newest = world, None, [], {}

    def read(self, most: int | None = None) -> None:
        rows, self.place = self.world.changed(self.place, most)
        self.rows += rows
        self.newest |= {row_key(row): row for row in rows}


def test_changes_end_as_final_rows_do(tmp_path) -> None:
    for seed in SEEDS:
        _follow_changes(tmp_path / str(seed), random.Random(seed))


def _follow_changes(folder, draw: random.Random) -> None:
    folder.mkdir()
    world = World(folder, f"{draw.choice(WINDOWS)} WATERMARK 0 s EMIT CHANGES")
    readers = [Reader(world) for _ in range(3)]
    counted: list[list] = [[] for _ in world.parts]
    for moment in range(0, 60, 3):
        for part, kept in zip(world.parts, counted, strict=True):
            if draw.random() < 0.8:
                tuples = [(moment + draw.randint(0, 5), key, draw.randint(1, 9))
                          for key in KEYS if hash_of(key) == part.number and draw.random() < 0.5]
                if tuples:
                    part.take(tuples)
                    if draw.random() < 0.2:
                        part.load()  # what was not committed is lost with its owner, and would be merged again
                    else:
                        kept += tuples
            if draw.random() < 0.4:
                part.state.close(moment)
            if part.offset != sum(map(len, [kept])):
                part.offset = len(kept)
            part.commit()
        for reader in readers:
            if draw.random() < 0.5:
                reader.read(draw.choice((None, 1, 2)))
    for part in world.parts:
        part.state.close(200)
        part.commit()
    wanted = batch(world.plan, [one for kept in counted for one in kept])
    for reader in readers:
        reader.read()
        assert {key: (row["n"], row["total"]) for key, row in reader.newest.items()} == wanted
        finals = [row for row in reader.rows if row["final"]]
        assert {row_key(row) for row in finals} == set(wanted)
        assert len(finals) == len(wanted), "a row is final once"
        assert all(row["final"] for row in reader.newest.values())
        assert reader.read() is None
        assert reader.place.parts == tuple((part.manifest.queries["q1"].commits, ALL, ALL) for part in world.parts)


def hash_of(key: str) -> int:
    return int(key[1:]) % 2


def test_what_has_not_changed_does_not_come_again(tmp_path) -> None:
    world = World(tmp_path, "WINDOWING 10 s WATERMARK 0 s EMIT CHANGES")
    part, reader = world.parts[0], Reader(world)
    part.take([(1, "a", 1), (1, "b", 1)])
    part.commit()
    reader.read()
    assert [(row["k"], row["n"], row["final"]) for row in reader.rows] in ([("a", 1, False), ("b", 1, False)],
                                                                           [("b", 1, False), ("a", 1, False)])
    part.take([(2, "b", 5)])
    part.commit()
    reader.rows = []
    reader.read()
    assert [(row["k"], row["n"], row["total"], row["final"]) for row in reader.rows] == [("b", 2, 6, False)]
    part.state.close(10)
    part.commit()
    reader.rows = []
    reader.read()
    assert sorted((row["k"], row["n"], row["final"]) for row in reader.rows) == [("a", 1, True), ("b", 2, True)]


def test_late_tuples_make_revisions(tmp_path) -> None:
    world = World(tmp_path, "WINDOWING 10 s WATERMARK 0 s LATE UPDATE FOR 20 s")
    part, reader = world.parts[0], Reader(world)
    part.take([(1, "a", 1), (2, "b", 1)])
    part.commit()
    part.state.close(12)
    part.commit()
    part.take([(3, "a", 5), (14, "a", 9)])
    part.commit()
    part.take([(4, "a", 5), (5, "a", 5), (5, "c", 1)])
    part.commit()
    reader.read()
    first = [(row["k"], row["n"], row["revision"]) for row in reader.rows]
    assert sorted(first) == [("a", 1, 0), ("a", 2, 1), ("a", 4, 2), ("b", 1, 0), ("c", 1, 0)]
    part.load()
    part.state.close(29)
    part.take([(6, "a", 1)])
    part.commit()
    part.state.close(30)  # the window closed 20 s ago
    part.take([(6, "a", 1)])
    part.commit()
    assert part.state.commit.counters["late"] == 1
    reader.rows = []
    reader.read()
    rows = [(row["window_start"].second, row["k"], row["n"], row["revision"]) for row in reader.rows]
    assert sorted(rows) == [(0, "a", 5, 3), (10, "a", 1, 0)]


def test_revisions_end_as_a_run_over_all_tuples_does(tmp_path) -> None:
    for seed in SEEDS:
        _follow_revisions(tmp_path / str(seed), random.Random(seed))


def _follow_revisions(folder, draw: random.Random) -> None:
    folder.mkdir()
    world = World(folder, f"{draw.choice(WINDOWS)} WATERMARK 0 s LATE UPDATE FOR 1 h")
    readers = [Reader(world) for _ in range(3)]
    counted: list[list] = [[] for _ in world.parts]
    for moment in range(0, 60, 3):
        for part, kept in zip(world.parts, counted, strict=True):
            tuples = [(max(0, moment + draw.randint(-30, 5)), key, draw.randint(1, 9))
                      for key in KEYS if hash_of(key) == part.number and draw.random() < 0.5]
            if tuples:
                part.take(tuples)
                kept += tuples
            if draw.random() < 0.5:
                part.state.close(moment)
            if draw.random() < 0.2:
                part.load()
                del kept[part.offset:]
            part.commit()
        for reader in readers:
            if draw.random() < 0.5:
                reader.read(draw.choice((None, 1, 2)))
    for part in world.parts:
        part.state.close(200)
        part.commit()
    wanted = batch(world.plan, [one for kept in counted for one in kept])
    for reader in readers:
        reader.read()
        assert {key: (row["n"], row["total"]) for key, row in reader.newest.items()} == wanted
        numbers: dict[tuple, list[int]] = {}
        for row in reader.rows:
            numbers.setdefault(row_key(row), []).append(row["revision"])
        assert all(found == list(range(len(found))) for found in numbers.values()), "each revision once, in order"
    shown = [row for piece in world.tables.closed(world.snapshot(), 10**12) for row in piece.load().to_pylist()]
    assert {row_key(row): (row["n"], row["total"]) for row in shown} == wanted
    assert len(shown) == len(wanted), "pages show the newest revision alone"


@pytest.mark.parametrize(("clause", "is_lost"), [("EMIT CHANGES", True), ("LATE UPDATE FOR 1 min", True),
                                                 ("LATE UPDATE FOR 1 h", False)])
def test_who_comes_after_the_retention_is_told(tmp_path, clause, is_lost) -> None:
    """What late tuples may still change is kept, however old it is."""
    world = World(tmp_path, f"WINDOWING 10 s WATERMARK 0 s {clause}")
    part, reader, last = world.parts[0], Reader(world), 300
    for moment in range(0, last, 10):
        part.take([(moment, "a", 1)])
        part.state.close(moment)
        part.commit(retention_ms=0)
        if moment == 20:
            reader.read()
    assert changes.lost(world.tables, world.snapshot(), reader.place) == is_lost
    begins = begun(None, len(world.parts))
    assert not changes.lost(world.tables, world.snapshot(), begins), "who has nothing begins with what is kept"
    fresh = Reader(world)
    fresh.read()
    closed = [row for row in fresh.rows if row.get("final", True)]
    assert (len(closed) < last // 10 - 1) == is_lost
    part.load()
    part.take([(last - 20, "a", 1)])  # late by now
    part.commit()
    fresh.rows = []
    fresh.read()
    assert [(row["n"], row["revision"]) for row in fresh.rows] == ([] if clause == "EMIT CHANGES" else [(2, 1)])


def test_a_place_is_kept_as_text() -> None:
    place = Changes(((3, ALL, ALL), (4, -60_000, 7)))
    assert Changes.load(place.text) == place
    for text in ("", "1;", "1,2", "x", f"{2**70}"):
        with pytest.raises(ValueError, match="is no place"):
            Changes.load(text)
