"""Commits as files: what is written is what is read back, also after a refusal, a new base, and a tidying of results."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace

import pytest

from mars.adapters.storage import CorruptFileError, NewFile, StateAwayError, Storage
from mars.algebra.cells_layout import schema
from mars.algebra.cells_wire import decode
from mars.model import commits
from mars.model.commits import Manifest, Pointer, Segment, dump_index
from reducer.committing import commit, results, sweep
from reducer.state.merge import QueryState
from tests.reducer.pieces import PLAN, QUERY, STREAM, content, fresh, piece, result_segments, rows_of

WEEK_MS = 7 * 86_400_000


@pytest.fixture
def storage(tmp_path) -> Storage:
    """A state URI of our own."""
    return Storage(tmp_path.as_uri())


def step(storage: Storage, manifest: Manifest, state: QueryState, retention_ms: int = WEEK_MS) -> Manifest:
    """Commit, as the owner does when its transaction goes through."""
    prepared = commit.prepare(storage, manifest, {"q1": state}, retention_ms)
    commit.adopt({"q1": state}, prepared)
    return prepared.manifest


def resumed(storage: Storage, manifest: Manifest) -> QueryState:
    """The state as a new owner reads it."""
    committed = storage.manifest(_pointer(storage, manifest)).queries["q1"]
    tables = [decode(storage.read(segment), schema(PLAN.aggregation, STREAM)) for segment in committed.state]
    return QueryState.resume(QUERY, STREAM, committed, tables)


def _pointer(storage: Storage, manifest: Manifest) -> Pointer:
    [segment] = storage.write("0/0", "manifest", [manifest.dump()])
    return Pointer(segment, manifest.commit)


def closed_rows(storage: Storage, manifest: Manifest) -> list[tuple]:
    """(window start in s, count) of all result rows, in the order of the segments."""
    return [(int(row["window_start"].timestamp()), row["count"])
            for result in result_segments(storage, manifest.queries["q1"]) for row in rows_of(storage, result)]


def test_a_new_owner_reads_what_was_committed(storage):
    state, manifest = fresh(), Manifest(0, 0)
    for number in range(3):
        state.accept(piece(number, 0, number * 4, [1, 12, 23, 34]))
        manifest = step(storage, manifest, state)
    again = resumed(storage, manifest)
    assert content(again) == content(state)
    assert again.commit == state.commit
    assert (again.position(0), manifest.commit, again.commit.commits) == (12, 3, 3)


def test_a_refused_commit_can_be_made_again(storage):
    """Nothing of the working state is lost or doubled by a commit whose transaction fails."""
    state, manifest = fresh(), Manifest(0, 0)
    state.accept(piece(1, 0, 0, [1, 2, 30]))
    state.close(20)
    commit.prepare(storage, manifest, {"q1": state}, WEEK_MS)
    state.accept(piece(2, 0, 3, [31, 32]))
    manifest = step(storage, manifest, state)
    assert content(resumed(storage, manifest)) == content(state)
    assert sorted(closed_rows(storage, manifest)) == [(0, 1), (0, 1)]


def test_a_commit_without_changes_writes_no_cells(storage):
    state = fresh()
    state.accept(piece(1, 0, 0, [1, 2]))
    first = step(storage, Manifest(0, 0), state)
    second = step(storage, first, state)
    assert second.queries["q1"] == first.queries["q1"]
    assert second.commit == 2


def test_segments_do_not_grow_without_end(storage):
    state, manifest = fresh(), Manifest(0, 0)
    most = 0
    for number in range(3 * commit.DELTAS_MAX):
        state.accept(piece(number, 0, number, [number % 50]))
        manifest = step(storage, manifest, state)
        most = max(most, len(manifest.queries["q1"].state))
    assert commit.DELTAS_MAX <= most <= commit.DELTAS_MAX + 1
    assert content(resumed(storage, manifest)) == content(state)
    assert sum(count for count, _ in content(state).values()) == 3 * commit.DELTAS_MAX


def test_closed_windows_leave_the_state(storage):
    state, manifest = fresh(), Manifest(0, 0)
    state.accept(piece(1, 0, 0, [1, 2, 3]))
    manifest = step(storage, manifest, state)
    state.close(13)
    manifest = step(storage, manifest, state)
    assert manifest.queries["q1"].state == []
    assert len(closed_rows(storage, manifest)) == 3
    assert content(resumed(storage, manifest)) == {}


def test_a_delta_of_a_window_that_closed_later_does_not_come_back(storage):
    state, manifest = fresh(), Manifest(0, 0)
    state.accept(piece(1, 0, 0, [1, 2, 3, 30]))
    manifest = step(storage, manifest, state)
    state.close(13)
    manifest = step(storage, manifest, state)
    assert {window for window, _ in content(resumed(storage, manifest))} == {30}


def closing(storage: Storage, count: int, retention_ms: int = WEEK_MS) -> tuple[QueryState, Manifest]:
    """Commit so many times, one tuple in one window each time."""
    state, manifest = fresh(), Manifest(0, 0)
    for number in range(count):
        manifest = close_one(storage, manifest, state, number, retention_ms)
    return state, manifest


def close_one(storage: Storage, manifest: Manifest, state: QueryState, number: int, retention_ms: int = WEEK_MS) -> Manifest:
    """The commit that closes window `number`."""
    state.accept(piece(number, 0, number, [number * 10]))
    state.close(number * 10 + 13)
    return step(storage, manifest, state, retention_ms)


def close_windows(storage: Storage, count: int, retention_ms: int) -> Manifest:
    """What so many of these commits come to."""
    return closing(storage, count, retention_ms)[1]


def test_many_results_are_put_together_and_stay_in_order(storage):
    count = 2 * results.RECENT_MAX + 5
    manifest = close_windows(storage, count, WEEK_MS)
    entry = manifest.queries["q1"]
    assert len(entry.results) <= results.RECENT_MAX
    assert entry.results_index is not None
    assert closed_rows(storage, manifest) == [(number * 10, 1) for number in range(count)]


@pytest.mark.parametrize("segments", [0, 3.5])
def test_large_results_are_put_together_a_few_at_a_time(storage, monkeypatch, segments):
    """All of them at once would not fit in memory, whoever owns the key part."""
    monkeypatch.setattr(results, "RECENT_MAX", 8)
    state, manifest = closing(storage, 5)
    bound = int(segments * manifest.queries["q1"].results[0].segment.length)
    monkeypatch.setattr(results, "RESULTS_BYTES_MAX", bound)
    count = 2 * results.RECENT_MAX + 5
    for number in range(5, count):
        manifest = close_one(storage, manifest, state, number)
        assert len(manifest.queries["q1"].results) <= results.RECENT_MAX
    together = [r for r in result_segments(storage, manifest.queries["q1"]) if "/results-" in r.segment.path]
    assert {r.rows for r in together} == {max(1, int(segments))}
    assert [r.rows for r in together] + [1] * len(manifest.queries["q1"].results) == [
        r.rows for r in result_segments(storage, manifest.queries["q1"])]
    assert closed_rows(storage, manifest) == [(number * 10, 1) for number in range(count)]


def test_large_results_that_do_not_read_hinder_no_others(storage, monkeypatch):
    monkeypatch.setattr(results, "RECENT_MAX", 8)
    monkeypatch.setattr(results, "RESULTS_BYTES_MAX", 0)
    state, manifest = closing(storage, 6)
    segment, _ = lost_in_between(storage, manifest)
    count = 2 * results.RECENT_MAX + 5
    for number in range(6, count):
        manifest = close_one(storage, manifest, state, number)
        assert len(manifest.queries["q1"].results) <= results.RECENT_MAX
    assert [r.segment for r in result_segments(storage, manifest.queries["q1"])].count(segment) == 1
    assert readable(storage, manifest) == [number for number in range(count) if number != 3]


@pytest.mark.parametrize("kind", ["index", "commit"])
def test_a_commit_that_finds_no_room_leaves_no_file(storage, monkeypatch, kind):
    """Its results were put together before it: each further try would leave them there once more."""
    state, manifest = closing(storage, results.RECENT_MAX)
    before = sorted(path for path, _ in storage.files("0/0"))
    write = NewFile.write

    def full(file: NewFile) -> None:
        if f"/{kind}-" in file.path:
            raise OSError(28, "No space left on device")
        write(file)

    state.accept(piece(results.RECENT_MAX, 0, results.RECENT_MAX, [results.RECENT_MAX * 10]))
    state.close(results.RECENT_MAX * 10 + 13)
    with monkeypatch.context() as patch:
        patch.setattr(NewFile, "write", full)
        with pytest.raises(OSError, match="No space left"):
            step(storage, manifest, state)
    assert sorted(path for path, _ in storage.files("0/0")) == before
    manifest = step(storage, manifest, state)
    assert closed_rows(storage, manifest) == [(number * 10, 1) for number in range(results.RECENT_MAX + 1)]


def test_results_older_than_their_retention_are_dropped(storage):
    count = 2 * results.RECENT_MAX + 5
    manifest = close_windows(storage, count, retention_ms=-1)
    assert closed_rows(storage, manifest) == [(number * 10, 1) for number in range(results.RECENT_MAX, count)]
    assert gone_us(storage, manifest) == results.RECENT_MAX * 10_000_000
    state, manifest = closing(storage, 3 * results.RECENT_MAX + 1)
    assert gone_us(storage, manifest) is None
    for number in range(3 * results.RECENT_MAX + 1, 4 * results.RECENT_MAX + 1):
        manifest = close_one(storage, manifest, state, number, retention_ms=-1)
    assert gone_us(storage, manifest) == 3 * results.RECENT_MAX * 10_000_000
    for number in range(4 * results.RECENT_MAX + 1, 5 * results.RECENT_MAX + 1):
        manifest = close_one(storage, manifest, state, number)
    assert gone_us(storage, manifest) == 3 * results.RECENT_MAX * 10_000_000, "nothing more is missing"
    assert closed_rows(storage, manifest)[0] == (3 * results.RECENT_MAX * 10, 1)


def test_what_stands_before_rows_that_are_missing_ends_no_sooner(storage):
    """One file of a span that was put together does not read: readers take all windows up to a missing one for gone."""
    state, manifest = closing(storage, 20)
    lost_in_between(storage, manifest)
    for number in range(20, results.RECENT_MAX + 1):
        manifest = close_one(storage, manifest, state, number)
    together, unread, _ = result_segments(storage, manifest.queries["q1"])
    assert (together.rows, unread.rows) == (results.RECENT_MAX - 1, 1)
    state.commit.results_index, = storage.write("0/0", "index", [dump_index([together, replace(unread, committed_ms=0)])])
    for number in range(results.RECENT_MAX + 1, 2 * results.RECENT_MAX + 1):
        manifest = close_one(storage, manifest, state, number)
    assert gone_us(storage, manifest) is None
    assert 0 in readable(storage, manifest)


def gone_us(storage: Storage, manifest: Manifest) -> int | None:
    """The end of the last window of which rows are deleted."""
    return commits.gone_us(result_segments(storage, manifest.queries["q1"]))


def lost_in_between(storage: Storage, manifest: Manifest) -> tuple[Segment, bytes]:
    """The file of some commit that is not the last is gone; where, and what was in it."""
    segment = manifest.queries["q1"].results[3].segment
    return segment, delete(storage, segment)


def delete(storage: Storage, segment: Segment) -> bytes:
    path = storage.root / segment.path
    data = path.read_bytes()
    path.unlink()
    return data


def put_back(storage: Storage, segment: Segment, data: bytes) -> None:
    (storage.root / segment.path).write_bytes(data)


def readable(storage: Storage, manifest: Manifest) -> list[int]:
    """The windows whose rows read, by number."""
    found = []
    for result in result_segments(storage, manifest.queries["q1"]):
        with contextlib.suppress(CorruptFileError):
            found += [int(row["window_start"].timestamp()) // 10 for row in rows_of(storage, result)]
    return sorted(found)


def test_results_that_do_not_read_hinder_no_others(storage):
    """They stay described, so that who asks for their windows is told the file."""
    state, manifest = closing(storage, 20)
    segment, data = lost_in_between(storage, manifest)
    count = 2 * results.RECENT_MAX + 5
    for number in range(20, count):
        manifest = close_one(storage, manifest, state, number)
        assert len(manifest.queries["q1"].results) <= results.RECENT_MAX
    assert [r.segment for r in result_segments(storage, manifest.queries["q1"])].count(segment) == 1
    assert readable(storage, manifest) == [number for number in range(count) if number != 3]
    put_back(storage, segment, data)
    assert readable(storage, manifest) == list(range(count))


def test_results_that_do_not_read_end_with_their_retention(storage):
    state, manifest = closing(storage, 20, retention_ms=-1)
    segment, _ = lost_in_between(storage, manifest)
    for number in range(20, 2 * results.RECENT_MAX + 5):
        manifest = close_one(storage, manifest, state, number, retention_ms=-1)
    assert segment not in [r.segment for r in result_segments(storage, manifest.queries["q1"])]


def test_without_its_index_results_gather_until_it_is_put_back(storage):
    """Nothing that an index may name is lost, and commits do not grow by every window."""
    state, manifest = closing(storage, 2 * results.RECENT_MAX + 5)
    index = manifest.queries["q1"].results_index
    data = delete(storage, index)
    for number in range(2 * results.RECENT_MAX + 5, 5 * results.RECENT_MAX):
        manifest = close_one(storage, manifest, state, number)
        assert len(manifest.queries["q1"].results) <= results.RECENT_MAX + 4
    with pytest.raises(CorruptFileError, match=index.path):
        readable(storage, manifest)
    put_back(storage, index, data)
    assert readable(storage, manifest) == list(range(5 * results.RECENT_MAX))
    for number in range(5 * results.RECENT_MAX, 7 * results.RECENT_MAX):
        manifest = close_one(storage, manifest, state, number)
    assert len(manifest.queries["q1"].results) <= results.RECENT_MAX
    assert readable(storage, manifest) == list(range(7 * results.RECENT_MAX))


def test_an_index_that_does_not_read_ends_with_its_retention(storage):
    state, manifest = closing(storage, results.RECENT_MAX + 5)
    delete(storage, manifest.queries["q1"].results_index)
    for number in range(results.RECENT_MAX + 5, 2 * results.RECENT_MAX + 5):
        manifest = close_one(storage, manifest, state, number, retention_ms=-1)
    assert readable(storage, manifest) == list(range(results.RECENT_MAX, 2 * results.RECENT_MAX + 5))
    assert gone_us(storage, manifest) == results.RECENT_MAX * 10_000_000


def test_older_results_that_cannot_be_looked_at_now_hold_no_commit(storage, monkeypatch):
    """Neither in putting results together, nor in looking for files that nothing names: both are done later."""
    state, manifest = closing(storage, 2 * results.RECENT_MAX)
    index, real = manifest.queries["q1"].results_index, storage.read

    def read(segment: Segment) -> bytes:
        if segment == index:
            raise StateAwayError("the state folder does not answer", segment.path)
        return real(segment)

    with monkeypatch.context() as patch:
        patch.setattr(storage, "read", read)
        manifest = close_one(storage, manifest, state, 2 * results.RECENT_MAX)
        prepared = commit.prepare(storage, manifest, {"q1": state}, WEEK_MS)
        patch.setattr(sweep, "KEEP_UNUSED_S", -1)
        assert sweep.unused_files(storage, prepared.manifest, prepared.segment) == []
    assert manifest.queries["q1"].results_index == index
    manifest = close_one(storage, manifest, state, 2 * results.RECENT_MAX + 1)
    assert manifest.queries["q1"].results_index != index
    assert readable(storage, manifest) == list(range(2 * results.RECENT_MAX + 2))


def test_without_an_index_what_it_may_name_is_kept_and_the_rest_deleted(storage):
    state, manifest = closing(storage, results.RECENT_MAX + 5)
    index = manifest.queries["q1"].results_index
    delete(storage, index)
    state.accept(piece(1000, 0, 1000, [2000]))
    prepared = commit.prepare(storage, manifest, {"q1": state}, WEEK_MS)
    long_ago = time.time() - 2 * sweep.KEEP_UNUSED_S
    files = [path for path, _ in storage.files("0/0")]
    for path in files:
        os.utime(storage.root / path, (long_ago, long_ago))
    named = {r.segment.path for r in prepared.manifest.queries["q1"].results} | {prepared.segment.path}
    together = {path for path in files if "/results-" in path}
    assert together
    assert set(sweep.unused_files(storage, prepared.manifest, prepared.segment)) == set(files) - named - together


def test_only_old_files_that_nothing_names_are_unused(storage):
    state, manifest, written = fresh(), Manifest(0, 0), []
    for number in range(3):
        state.accept(piece(number, 0, number * 2, [1, 2]))
        if number == 2:
            state.close(13)
        prepared = commit.prepare(storage, manifest, {"q1": state}, WEEK_MS)
        commit.adopt({"q1": state}, prepared)
        manifest = prepared.manifest
        written.append(prepared.segment.path)
    assert sweep.unused_files(storage, prepared.manifest, prepared.segment) == []
    long_ago = time.time() - 2 * sweep.KEEP_UNUSED_S
    for path, _ in storage.files("0/0"):
        os.utime(storage.root / path, (long_ago, long_ago))
    # The cells of the first two lie in windows that have closed; the third holds their results.
    assert sorted(sweep.unused_files(storage, prepared.manifest, prepared.segment)) == sorted(written[:2])


def test_a_commit_is_one_file(storage):
    state = fresh()
    state.accept(piece(1, 0, 0, [1, 2, 30]))
    state.close(13)
    prepared = commit.prepare(storage, Manifest(0, 0), {"q1": state}, WEEK_MS)
    [(path, _)] = storage.files("0/0")
    entry = storage.manifest(Pointer(prepared.segment, 1)).queries["q1"]
    assert {path} == {s.path for s in (prepared.segment, entry.state[0], entry.results[0].segment)}
    assert entry == prepared.manifest.queries["q1"]


def test_a_segment_whose_windows_have_closed_is_named_no_more(storage):
    state, manifest = fresh(), Manifest(0, 0)
    for number, times in enumerate([[1, 2], [3, 14], [15]]):
        state.accept(piece(number, 0, number * 2, times))
        manifest = step(storage, manifest, state)
    _first, second, third = manifest.queries["q1"].state
    state.close(13)
    manifest = step(storage, manifest, state)
    assert manifest.queries["q1"].state == [second, third]
    assert content(resumed(storage, manifest)) == content(state)
