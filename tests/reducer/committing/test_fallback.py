"""Falling back (rule 25): whichever file of a commit is damaged, what is merged again gives the same rows and counters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace

import pytest

from mars.adapters.storage import CorruptFileError, StateAwayError, Storage
from mars.adapters.view import StreamView
from mars.adapters.zookeeper import Znode
from mars.algebra.cells_layout import schema
from mars.algebra.cells_wire import decode
from mars.model import names
from mars.model.commits import Earlier, Manifest, Pointer, Segment
from mars.model.registry import PAUSED, QuerySet
from reducer.committing import commit, fallback, history, sweep
from reducer.committing.assignment import Assignment
from reducer.committing.history import History, Point, pointer_to
from reducer.state.merge import QueryState
from tests.reducer.pieces import PLAN, QUERY, STREAM, content, fresh, piece, result_segments, rows_of

WEEK_MS = 7 * 86_400_000
# Seconds of event time in each commit; the watermark follows 5 s behind, so that windows of 10 s close on the way.
TIMES = [[number * 3, number * 3 + 2, max(0, number * 3 - 40)] for number in range(40)]


@dataclass
class Owner:
    """A key part that commits as KeyPart does."""

    storage: Storage
    state: QueryState = field(default_factory=fresh)
    manifest: Manifest = field(default_factory=lambda: Manifest(0, 0))
    history: History = History()
    pointer: Pointer | None = None

    def merge(self, number: int) -> None:
        self.state.accept(piece(number, 0, number * 3, TIMES[number]))
        if number > 2:
            self.state.close(number * 3 - 5)

    def commit(self) -> None:
        prepared = commit.prepare(self.storage, self.manifest, {"q1": self.state}, WEEK_MS)
        last = Point(Earlier(self.pointer and self.pointer.manifest, self.manifest.commit), self.manifest)
        self.history = self.history.follow(last, prepared.manifest, ["q1"])
        self.pointer = Pointer.load(pointer_to(prepared.segment, prepared.manifest, self.history).dump())
        commit.adopt({"q1": self.state}, prepared)
        self.manifest = prepared.manifest

    def run(self, numbers: range) -> Owner:
        for number in numbers:
            self.merge(number)
            self.commit()
        return self


def damage(storage: Storage, segment: Segment) -> None:
    path = storage.root / segment.path
    data = bytearray(path.read_bytes())
    data[segment.start + segment.length // 2] ^= 0x10
    path.write_bytes(data)


def view(**changes: object) -> StreamView:
    return StreamView(STREAM, QuerySet(2, (0, 1), {"q1": replace(QUERY, **changes)}), 1, 1, 1)


def assigned(pointer: Pointer | None, **changes: object) -> Assignment:
    """The key part as its owner knows it; what falls back reads the pointer again."""
    return Assignment(view(**changes), 0, 3, 5, pointer)


def rows(storage: Storage, manifest: Manifest) -> list[tuple]:
    found = [rows_of(storage, result) for result in result_segments(storage, manifest.queries["q1"])]
    return sorted((int(r["window_start"].timestamp()), r["k"], r["count"]) for rows in found for r in rows)


def go_on(storage: Storage, found: fallback.Found, end: int) -> Owner:
    """What a new owner makes of it: everything from the positions on comes again, in other pieces."""
    entry = found.manifest.queries["q1"]
    tables = [decode(storage.read(segment), schema(PLAN.aggregation, STREAM)) for segment in entry.state]
    owner = Owner(storage, QueryState.resume(QUERY, STREAM, entry, tables), found.manifest)
    return owner.run(range(entry.positions.get(0, 0) // 3, end))


@pytest.fixture
def storage(tmp_path) -> Storage:
    return Storage(tmp_path.as_uri())


@pytest.fixture
def whole(tmp_path) -> Owner:
    """The same without any damage."""
    return Owner(Storage((tmp_path / "whole").as_uri())).run(range(40))


def victims(owner: Owner) -> dict[str, Segment]:
    entry = owner.manifest.queries["q1"]
    [results] = [r.segment for r in entry.results if r.segment.path == owner.pointer.manifest.path]
    return {"manifest": owner.pointer.manifest, "results": results, "newest state": entry.state[-1],
            "oldest state": entry.state[0]}


@pytest.mark.parametrize("victim", ["manifest", "results", "newest state", "oldest state"])
def test_whatever_is_damaged_rows_and_counters_are_the_same(storage, whole, victim):
    owner = Owner(storage).run(range(30))
    number = 30
    while not owner.state.closed:
        owner.merge(number)
        number += 1
    owner.commit()  # the last one closes a window
    damage(storage, victims(owner)[victim])
    found = fallback.find(storage, assigned(owner.pointer))
    assert not found.lost
    assert found.manifest.commit == owner.manifest.commit + 1
    entry, before = found.manifest.queries["q1"], owner.manifest.queries["q1"]
    assert entry.positions[0] < before.positions[0]
    assert entry.commits > before.commits
    assert str(owner.manifest.commit) in found.notes["q1"]
    assert entry.leader_epochs == (before if victim != "manifest" else
                                   owner.history.points()[0].manifest.queries["q1"]).leader_epochs
    assert entry.published == before.watermark, "readers wait until it is reached again"
    again = go_on(storage, found, 40)
    assert rows(storage, again.manifest) == rows(whole.storage, whole.manifest)
    assert content(again.state) == content(whole.state)
    assert again.manifest.queries["q1"].counters == whole.manifest.queries["q1"].counters
    assert again.manifest.queries["q1"].bad_reasons == whole.manifest.queries["q1"].bad_reasons
    assert again.state.commit.published is None


@pytest.mark.parametrize("between", [0, 1, 4])
def test_a_second_damaged_file_before_the_first_is_made_good_changes_nothing(storage, whole, between):
    """Neither what had been counted before the first one, nor what came between the two, counts twice."""
    owner = Owner(storage).run(range(30))
    damage(storage, owner.manifest.queries["q1"].state[-1])
    found = fallback.find(storage, assigned(owner.pointer))
    start = found.manifest.queries["q1"].positions[0] // 3
    pointer = pointer_to(*storage.write("0/0", "commit", [found.manifest.dump()]), found.manifest, History.of(found.points))
    fallen = go_on(storage, found, start + between)
    if between:
        pointer = fallen.pointer
    damage(storage, pointer.manifest)
    found = fallback.find(storage, assigned(pointer))
    assert not found.lost
    assert found.manifest.queries["q1"].published >= owner.manifest.queries["q1"].watermark
    again = go_on(storage, found, 40)
    assert rows(storage, again.manifest) == rows(whole.storage, whole.manifest)
    assert content(again.state) == content(whole.state)
    assert again.manifest.queries["q1"].counters == whole.manifest.queries["q1"].counters


def test_a_commit_that_reads_again_lies_ahead_of_what_is_made_again(storage, whole):
    """A file came back after its query had fallen behind it: its windows closed long ago are not open in its state."""
    owner = Owner(storage).run(range(30))
    states = [point.manifest.queries["q1"].state for point in owner.history.points()]
    damaged = {segment.path: segment for segment in (owner.pointer.manifest, states[0][-1], states[1][-1])}
    kept = {path: (storage.root / path).read_bytes() for path in damaged}
    for segment in damaged.values():
        damage(storage, segment)
    found = fallback.find(storage, assigned(owner.pointer))
    fallen, newest = found.manifest.queries["q1"], owner.history.points()[0].manifest.queries["q1"]
    assert fallen.watermark < newest.watermark
    for path, data in kept.items():
        (storage.root / path).write_bytes(data)
    for segment in set(fallen.state) - set(newest.state):
        damage(storage, segment)
    pointer = pointer_to(*storage.write("0/0", "commit", [found.manifest.dump()]), found.manifest, History.of(found.points))
    found = fallback.find(storage, assigned(pointer))
    assert found.manifest.queries["q1"].positions == newest.positions
    assert found.manifest.queries["q1"].commits > fallen.commits
    assert found.manifest.queries["q1"].published == fallen.published
    again = go_on(storage, found, 40)
    assert rows(storage, again.manifest) == rows(whole.storage, whole.manifest)
    assert content(again.state) == content(whole.state)


def test_a_missing_file_is_a_damaged_one(storage):
    owner = Owner(storage).run(range(30))
    storage.delete(owner.pointer.manifest.path)
    found = fallback.find(storage, assigned(owner.pointer))
    assert found.manifest.queries["q1"].positions == {0: 29 * 3}


def test_an_old_segment_needs_the_old_point(storage):
    owner = Owner(storage).run(range(30))
    first = owner.manifest.queries["q1"].state[0]
    damage(storage, first)
    found = fallback.find(storage, assigned(owner.pointer))
    assert first.path not in {segment.path for segment in found.manifest.queries["q1"].state}
    assert found.manifest.queries["q1"].positions.get(0, 0) < 29 * 3


def test_where_nothing_reads_the_query_is_lost_and_named_with_the_file(storage):
    owner = Owner(storage).run(range(30))
    for path, _ in list(storage.files("0/0")):
        storage.delete(path)
    found = fallback.find(storage, assigned(replace(
        owner.pointer, earlier=tuple(e for e in owner.pointer.earlier if e.manifest))))
    assert owner.pointer.manifest.path in found.lost["q1"]
    assert "RESUME QUERY q" in found.lost["q1"]


def test_a_query_without_damage_keeps_its_commit(storage):
    owner = Owner(storage).run(range(30))
    found = fallback.find(storage, assigned(owner.pointer))
    assert (found.notes, found.lost) == ({}, {})


@pytest.mark.parametrize(("state", "goes_back"), [(PAUSED, True), ("LIMIT_EXCEEDED", True), ("STATE_LOST", False)])
def test_a_query_that_rests_falls_back_too_unless_it_is_lost_already(storage, state, goes_back):
    """When it is resumed, the commits that still read may be gone."""
    owner = Owner(storage).run(range(30))
    damage(storage, owner.manifest.queries["q1"].state[0])
    found = fallback.find(storage, assigned(owner.pointer, state=state))
    assert (found.manifest.queries["q1"] != owner.manifest.queries["q1"]) == ("q1" in found.notes) == goes_back


@pytest.mark.parametrize(("state", "stopped"), [(PAUSED, ["q1"]), ("STATE_LOST", [])])
def test_a_query_that_rests_and_of_which_nothing_reads_is_lost(storage, state, stopped):
    """Else whatever is damaged of the others would wait for its file."""
    owner = Owner(storage).run(range(30))
    for path, _ in list(storage.files("0/0")):
        storage.delete(path)
    pointer = replace(owner.pointer, earlier=())
    sets: list[tuple] = []
    nodes = {names.pointer(0, 0): Znode(pointer.dump(), 5), names.queries(0): Znode(view(state=state).queries.dump(), 1)}
    zookeeper = SimpleNamespace(get_synced=nodes.get, transact=lambda *operations: sets.extend(operations) or True)
    assert fallback.fall_back(zookeeper, storage, assigned(None, state=state)) == bool(stopped)
    assert [QuerySet.load(data).queries["q1"].state for _, _, data, _ in sets] == ["STATE_LOST" for _ in stopped]


@pytest.mark.parametrize("instead", ["nothing", "another's"])
def test_without_the_state_folder_nothing_is_lost(storage, instead):
    """As on a host that came back without its mount: nobody stops, and nobody falls back behind what others still read."""
    storage.put("instance.json", b'{"id": "ours"}')
    owner = Owner(storage).run(range(30))
    storage.root.rename(storage.root.with_name(f"{storage.root.name} elsewhere"))
    there = Storage(str(storage.root), "ours")
    if instead == "another's":
        storage.put("instance.json", b'{"id": "another"}')
        (there.root / "0/0").mkdir(parents=True)
    done: list[tuple] = []
    zookeeper = SimpleNamespace(get_synced=lambda path: Znode(owner.pointer.dump(), 5), get=lambda path: None,
                                transact=lambda *operations: done.extend(operations) or True)
    with pytest.raises(StateAwayError):
        fallback.fall_back(zookeeper, there, assigned(None))
    assert done == []


def test_a_file_server_that_comes_back_meanwhile_stops_nobody(storage, monkeypatch):
    """Its soft mount had given errors for one file after the other."""
    owner = Owner(storage).run(range(30))
    real, away = storage.read, [True]
    monkeypatch.setattr(storage, "require", lambda: away.append(len(away) < 2))  # asked before all reads, and after them

    def read(segment: Segment) -> bytes:
        if away[-1]:
            raise CorruptFileError("a committed file cannot be read", segment.path)
        return real(segment)

    monkeypatch.setattr(storage, "read", read)
    pointer = replace(owner.pointer, earlier=tuple(e for e in owner.pointer.earlier if e.manifest))
    zookeeper = SimpleNamespace(get_synced=lambda path: Znode(pointer.dump(), 5))
    assert fallback.fall_back(zookeeper, storage, assigned(None))


def test_three_points_are_kept_and_the_oldest_shares_no_file(storage):
    owner = Owner(storage)
    for number in range(40):
        owner.merge(number)
        owner.commit()
        assert len(owner.pointer.earlier) <= 3
        assert owner.pointer.earlier[0].commit == number
    oldest = owner.history.points()[-1].manifest
    shared = {s.path for s in oldest.queries["q1"].state} & {s.path for s in owner.manifest.queries["q1"].state}
    assert shared == set()
    assert oldest.commit > 0


def test_a_state_that_stands_still_is_written_anew(storage, monkeypatch):
    """Else the file that it lies in would be in each of the kept commits."""
    monkeypatch.setattr(history, "SPACING_MAX", 32)
    owner = Owner(storage)
    for number in range(80):
        for id_ in owner.history.standing_still(owner.manifest, ["q1"]):
            assert id_ == "q1"
            owner.state.mark_for_rewrite()
        if number < 3:
            owner.merge(number)
        owner.commit()
    first = owner.manifest.queries["q1"].state[0].path
    assert first not in {s.path for s in owner.history.points()[-1].manifest.queries["q1"].state}
    assert content(owner.state) == content(Owner(Storage((storage.root / "again").as_uri())).run(range(3)).state)


def test_the_state_of_a_query_that_rests_is_written_anew_as_it_is(storage):
    owner = Owner(storage).run(range(30))
    before = owner.manifest.queries["q1"]
    prepared = commit.prepare(storage, owner.manifest, {}, WEEK_MS, ["q1"])
    entry = prepared.manifest.queries["q1"]
    assert [storage.read(segment) for segment in entry.state] == [storage.read(segment) for segment in before.state] != []
    assert {segment.path for segment in entry.state} == {prepared.segment.path}
    assert replace(entry, state=[]) == replace(before, state=[])
    damage(storage, before.state[0])
    with pytest.raises(CorruptFileError):
        commit.prepare(storage, owner.manifest, {}, WEEK_MS, ["q1"])


def test_no_more_than_fits_is_written_anew_at_once(storage, monkeypatch):
    owner = Owner(storage).run(range(30))
    one = owner.manifest.queries["q1"]
    many = replace(owner.manifest, queries={f"q{n}": one for n in range(5)})
    kept = History(None, Point(Earlier(None, many.commit + 1 - history.SPACING_MAX + history.SPACING), many), None)
    size = sum(segment.length for segment in one.state)
    monkeypatch.setattr(history, "TOGETHER_BYTES_MAX", 3 * size)
    assert kept.standing_still(many, many.queries) == ["q0", "q1", "q2"]
    monkeypatch.setattr(history, "REWRITTEN_BYTES_MAX", size - 1)
    assert kept.standing_still(many, many.queries) == []


def test_files_of_kept_commits_are_not_deleted(storage, monkeypatch):
    monkeypatch.setattr(sweep, "KEEP_UNUSED_S", -1)
    owner = Owner(storage).run(range(30))
    unused = partial(sweep.unused_files, storage, owner.manifest, owner.pointer.manifest)
    assert set(unused()) > set(unused(owner.history.points()))
    for path in unused(owner.history.points()):
        storage.delete(path)
    damage(storage, owner.manifest.queries["q1"].state[0])
    assert not fallback.find(storage, assigned(owner.pointer)).lost


@pytest.mark.parametrize(("state", "reason", "then"), [
    ("RUNNING", "", "fell back"), ("DATA_LOSS", "[7, 9) is gone", "[7, 9) is gone")])
def test_pointer_reason_and_recovery_are_one_transaction(storage, state, reason, then):
    """And a query that has stopped keeps its reason."""
    owner = Owner(storage).run(range(30))
    damage(storage, owner.pointer.manifest)
    done: list[tuple] = []
    zookeeper = SimpleNamespace(get_synced=lambda path: Znode(owner.pointer.dump(), 5), get=lambda path: None,
                                transact=lambda *operations: done.extend(operations) or True)
    assert fallback.fall_back(zookeeper, storage, assigned(None, state=state, reason=reason))
    checks, sets = ([op for op in done if op[0] == kind] for kind in ("check", "set"))
    assert {(path.rsplit("/", 1)[1], version) for _, path, version in checks} == {("generation", 1), ("owner", 3)}
    written = {path.rsplit("/", 1)[1]: data for _, path, data, _ in sets}
    assert then in QuerySet.load(written["queries"]).queries["q1"].reason
    pointer = Pointer.load(written["pointer"])
    assert storage.manifest(pointer).commit == pointer.commit == owner.pointer.commit + 1
    assert ("create", names.recovery_request(0)) in {op[:2] for op in done}


def test_files_that_came_back_need_no_fall_back(storage):
    owner = Owner(storage).run(range(30))
    zookeeper = SimpleNamespace(get_synced=lambda path: Znode(owner.pointer.dump(), 5))
    assert fallback.fall_back(zookeeper, storage, assigned(None))
