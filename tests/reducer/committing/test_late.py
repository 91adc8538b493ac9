"""Late tuples of LATE TO in commits: each once, also after a refused commit, a tidying and a restart; their files stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mars.adapters.storage import Storage
from mars.algebra import cells_late
from mars.algebra.cells_layout import schema
from mars.algebra.cells_wire import decode
from mars.model.commits import Manifest, QueryCommit
from reducer.committing import commit, sweep
from reducer.committing.fallback import _results_in, again
from reducer.state.changelog import resumed
from reducer.state.merge import QueryState
from sql.check.compile import compile_select
from sql.read.parse import parse
from tests.reducer.pieces import QUERY, STREAM, piece

WEEK_MS = 7 * 86_400_000
PLANS = {clauses: compile_select(parse(f"SELECT k, count(*) FROM s GROUP BY k WINDOWING 10 s WATERMARK 2 s {clauses}"),
                                 STREAM, True)
         for clauses in ("LATE TO l", "LATE TO l EMIT CHANGES", "LATE TO l EMIT FINAL TIMEOUT 5 s", "LATE DROP")}
Kept = list[tuple[int, int, int, int, int]]


@pytest.fixture
def storage(tmp_path) -> Storage:
    return Storage(tmp_path.as_uri())


def fresh(clauses: str = "LATE TO l") -> QueryState:
    return resumed(replace(QUERY, plan=PLANS[clauses]), STREAM, None, [])


def step(storage: Storage, manifest: Manifest, state: QueryState) -> Manifest:
    prepared = commit.prepare(storage, manifest, {"q1": state}, WEEK_MS)
    commit.adopt({"q1": state}, prepared)
    return prepared.manifest


def restarted(storage: Storage, committed: QueryCommit) -> QueryState:
    """The state as a new owner reads it."""
    wanted = schema(PLANS["LATE TO l"].aggregation, STREAM)
    tables = [decode(storage.read(segment), wanted) for segment in committed.state]
    return resumed(replace(QUERY, plan=PLANS["LATE TO l"]), STREAM, committed, tables)


def kept(storage: Storage, entry: QueryCommit, clauses: str = "LATE TO l") -> Kept:
    """(window, key, tuples, partition, start of the range) of all late cells."""
    wanted, late = cells_late.schema(PLANS[clauses].aggregation, STREAM), entry.of_late
    return sorted((row["w"], row["k0"], row["n"], row["partition"], row["start"])
                  for result in [*storage.older_results(late), *late.results]
                  for row in decode(storage.read(result.segment), wanted).to_pylist())


def taken(state: QueryState, number: int, times: list[int], partition: int = 0) -> None:
    """The state has the tuples at these times from offset 10 * number on."""
    state.accept(piece(number, partition, number * 10, times, end=number * 10 + 10, plan=state.query.plan))


@pytest.mark.parametrize("clauses", [clauses for clauses in PLANS if clauses.startswith("LATE TO")])
def test_what_comes_too_late_is_kept_with_its_range(storage: Storage, clauses: str) -> None:
    state = fresh(clauses)
    taken(state, 0, [5, 31, 32])
    state.close(20)
    taken(state, 1, [7, 33, 8, 9])
    manifest = step(storage, Manifest(0, 0), state)
    assert kept(storage, manifest.queries["q1"], clauses) == [(0, 0, 1, 0, 10), (0, 1, 2, 0, 10)]
    assert manifest.queries["q1"].counters["late"] == 3
    [result] = manifest.queries["q1"].late
    assert (result.first_start_us, result.last_end_us) == (0, 10_000_000)


def test_without_the_clause_nothing_is_kept(storage: Storage) -> None:
    state = fresh("LATE DROP")
    taken(state, 0, [5, 31])
    state.close(20)
    taken(state, 1, [7])
    manifest = step(storage, Manifest(0, 0), state)
    assert manifest.queries["q1"].counters["late"] == 1
    assert not manifest.queries["q1"].late
    assert b'"late"' in manifest.dump(), "the counter"
    assert b"late_index" not in manifest.dump()


def test_a_refused_commit_and_the_next_ones_keep_each_once(storage: Storage) -> None:
    state, manifest = fresh(), Manifest(0, 0)
    taken(state, 0, [5, 31])
    state.close(20)
    taken(state, 1, [6])
    commit.prepare(storage, manifest, {"q1": state}, WEEK_MS)
    taken(state, 2, [7])
    manifest = step(storage, manifest, state)
    taken(state, 3, [8])
    manifest = step(storage, manifest, state)
    assert [row[4] for row in sorted(kept(storage, manifest.queries["q1"]), key=lambda row: row[4])] == [10, 20, 30]
    read = Manifest.load(manifest.dump())
    assert read.queries["q1"] == manifest.queries["q1"]
    state = restarted(storage, read.queries["q1"])
    taken(state, 4, [9])
    manifest = step(storage, read, state)
    assert sorted(row[4] for row in kept(storage, manifest.queries["q1"])) == [10, 20, 30, 40]


def test_many_commits_are_put_together_and_no_sweep_takes_their_files(storage: Storage, monkeypatch) -> None:
    state, manifest = fresh(), Manifest(0, 0)
    taken(state, 0, [5, 31])
    state.close(20)
    count = 60
    for number in range(1, count):
        taken(state, number, [5, 6])
        manifest = step(storage, manifest, state)
    entry = manifest.queries["q1"]
    assert len(entry.late) < 30
    assert entry.late_index is not None
    monkeypatch.setattr(sweep, "KEEP_UNUSED_S", -3600)
    [lies_in] = storage.write("0/0", "commit", [manifest.dump()])
    unused = sweep.unused_files(storage, manifest, lies_in)
    assert unused
    for path in unused:
        storage.delete(path)
    assert sorted(row[4] for row in kept(storage, entry)) == sorted(n * 10 for n in range(1, count) for _ in range(2))


def test_a_fall_back_takes_late_tuples_back_with_their_count(storage: Storage) -> None:
    """They are merged again, and are kept again where they are late again."""
    state, manifest = fresh(), Manifest(0, 0)
    taken(state, 0, [5, 31])
    state.close(20)
    taken(state, 1, [6])
    manifest = step(storage, manifest, state)
    before = manifest.queries["q1"].copy()
    taken(state, 2, [7, 8])
    after = step(storage, manifest, state).queries["q1"]
    fallen = again(before, [after], 9, after.watermark)
    assert (after.counters["late"], fallen.counters["late"]) == (3, 1)
    assert kept(storage, fallen) == kept(storage, before)
    state = restarted(storage, fallen)
    taken(state, 2, [7, 8])
    assert kept(storage, step(storage, manifest, state).queries["q1"]) == kept(storage, after)


def test_results_that_are_damaged_are_noticed_of_late_tuples_too(storage: Storage) -> None:
    state, manifest = fresh(), Manifest(0, 0)
    taken(state, 0, [5, 31])
    state.close(20)
    taken(state, 1, [6])
    entry = step(storage, manifest, state).queries["q1"]
    [late] = entry.late
    assert late.segment in _results_in(entry, late.segment.path)
