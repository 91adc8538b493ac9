"""When a key part looks into its log and when it commits, with an exchange and a clock of our own."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from mars.adapters.storage import NewFile, Storage
from mars.adapters.view import StreamView
from mars.config import Config
from mars.errors import NotReadyError
from mars.model.entries import Entry
from mars.model.registry import PAUSED, QuerySet
from reducer import inbox, keypart
from reducer.committing import commit, history, pace, sweep, trim
from reducer.committing.assignment import Assignment
from reducer.keypart import KeyPart
from reducer.state.computation import UncomputableError
from reducer.state.merge import QueryState
from tests.clock import ManualClock
from tests.reducer.pieces import QUERY, STREAM, fresh, piece


class Log:
    """Stands for the exchange and for the key part's log in it: entries that come, and what is asked for and told."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.facts = {"begun": "1", "done": "1"}
        self.received = self.asked = self.tried = 0
        self.is_away = False  # for what is told alone
        self.told: list[dict] = []
        self.deleted: list[int] = []

    def add(self, seq: int, start: int, times: list[int]) -> None:
        made = piece(seq, 0, start, times)
        self.entries.append(Entry(seq, made.header, {"q1": made.share}))

    def log(self, stream_id: int, **_: int) -> Log:
        return self

    def receive(self, after: int, bytes_max: int):
        self.received += 1
        return self.facts, [entry for entry in self.entries if entry.seq > after]

    def trim(self, seqs: list[int], positions: dict) -> None:
        self.tried += 1
        if self.is_away:
            raise NotReadyError("Redis does not answer")
        self.told.append(positions)
        self.deleted += seqs

    def ask_for_check(self, stream_id: int) -> None:
        self.asked += 1


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000.0, time.time() - 1_000.0)  # the times of files are of the real one


@pytest.fixture
def part(tmp_path, clock) -> KeyPart:
    """A key part with one query that has merged nothing; commits cost no time unless a test says so."""
    view = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 1, 1, 1)
    zookeeper = SimpleNamespace(usable=True, transact=lambda *_: True, clock=clock)
    made = KeyPart.load(Config(), zookeeper, Log(), Storage(tmp_path.as_uri()), Assignment(view, 0, 1, 1))
    made.step()
    return made


def reads_one_partition(part: KeyPart) -> None:
    """So that one entry is enough for a watermark."""
    part.view.queries.partitions = (0,)
    part.queries.states["q1"].follow(replace(QUERY, start={0: 0}))


def commits(part: KeyPart) -> int:
    return part.truth.manifest.commit


def test_nobody_looks_before_a_wake_up_and_a_lost_one_costs_the_net_alone(part, clock):
    received = part.exchange.received
    part.exchange.add(1, 0, [1, 2])
    clock.now_s += inbox.RECEIVE_S / 2
    assert not part.step(woken=False)
    assert part.exchange.received == received
    clock.now_s += inbox.RECEIVE_S
    assert part.step(woken=False)


def test_a_wake_up_brings_the_entry_at_once_and_it_is_committed(part, clock):
    part.exchange.add(1, 0, [1, 2])
    assert part.step(woken=True)
    assert commits(part) == 1
    assert part.due_in_s() is None


def test_cheap_commits_follow_each_other_after_the_least_pause(part, clock):
    part.exchange.add(1, 0, [1])
    part.step()
    part.exchange.add(2, 1, [2])
    part.step()
    assert part.due_in_s() == pytest.approx(pace.PAUSE_MIN_S)
    clock.now_s += pace.PAUSE_MIN_S + 0.001
    part.step(woken=False)
    assert commits(part) == 2


@pytest.mark.parametrize(("cpu_s", "wall_s", "pause_s"), [
    (0.012, 0.013, 0.012 / pace.COMMIT_SHARE),
    (0.090, 0.100, 0.20),  # at most commit_interval_ms
    (0.500, 0.600, 0.50),  # but as long as the commit itself computes
    (0.010, 0.500, 0.010 / pace.COMMIT_SHARE),  # and a slow disk does not count
])
def test_the_pause_follows_the_cost(part, clock, cpu_s, wall_s, pause_s):
    def transact(*_: tuple) -> bool:
        clock.cpu_s, clock.now_s = clock.cpu_s + cpu_s, clock.now_s + wall_s
        return True

    part.zookeeper.transact = transact
    part.exchange.add(1, 0, [1])
    part.step()
    part.exchange.add(2, 1, [2])
    part.step()
    assert part.due_in_s() == pytest.approx(pause_s)


def test_a_commit_that_took_long_leaves_as_much_time_while_there_is_more_to_merge(part, clock, monkeypatch):
    def transact(*_: tuple) -> bool:
        clock.now_s += 0.5
        return True

    part.zookeeper.transact = transact
    part.exchange.add(1, 0, [1])
    part.step()
    monkeypatch.setattr(inbox, "RECEIVE_BYTES", 1)
    part.exchange.add(2, 1, [2])
    part.step()
    assert part.inbox.has_more
    assert part.due_in_s() == pytest.approx(0.5)


def test_the_state_of_a_paused_query_gets_into_new_files(part, clock, monkeypatch):
    """Else a file that is damaged while it rests would be in each of the kept commits."""
    monkeypatch.setattr(history, "SPACING_MAX", 16)
    part.exchange.add(1, 0, [1])
    part.step()
    kept = part.truth.manifest.queries["q1"]
    part.take_queries(replace(part.view, queries=QuerySet(4, (0, 1), {
        "q1": replace(QUERY, state=PAUSED), "q2": replace(QUERY, id="q2", name="other", incarnation=3)})))
    for _ in range(60):
        part.queries.states["q2"].mark_for_rewrite()
        part.commit()
    now, oldest = part.truth.manifest.queries["q1"], part.truth.history.points()[-1].manifest.queries["q1"]
    assert [part.truth.storage.read(s) for s in now.state] == [part.truth.storage.read(s) for s in kept.state] != []
    assert replace(now, state=[]) == replace(kept, state=[])
    assert {s.path for s in now.state}.isdisjoint({s.path for s in oldest.state})


def test_a_window_that_waits_asks_once_for_a_check_and_is_committed_soon(part, clock):
    reads_one_partition(part)
    part.exchange.add(1, 0, [1, 30])
    part.step()
    part.step()
    assert part.exchange.asked == 1
    part.exchange.facts = {"begun": "2", "done": "2"}
    part.step()
    assert part.due_in_s() == pytest.approx(pace.PAUSE_MIN_S * pace.CLOSING_SHARE)
    clock.now_s += pace.PAUSE_MIN_S * pace.CLOSING_SHARE + 0.001
    part.step(woken=False)
    assert part.truth.manifest.queries["q1"].watermark == 28


def test_only_new_positions_are_told_but_now_and_then_all(part, clock):
    part.exchange.add(1, 0, [1])
    part.step()
    assert part.exchange.told[-1] == {(0, "q1"): 1}
    clock.now_s += trim.TELL_ALL_S
    part.exchange.add(2, 1, [2])
    part.step()
    assert part.exchange.told[-1] == {(0, "q1"): 2, (1, "q1"): 0}


def test_positions_that_redis_did_not_hear_are_told_again_without_another_commit(part, clock):
    """Claims may stand at their bound: then nothing comes, and no commit follows. But not in each step."""
    part.exchange.add(1, 0, [1])
    part.exchange.is_away, tried = True, part.exchange.tried
    part.step()
    assert (commits(part), part.exchange.tried, part.trim.undone.keys()) == (1, tried + 1, {1})
    for _ in range(5):
        clock.now_s += trim.AGAIN_S / 4
        part.step()
    assert part.exchange.tried == tried + 2
    part.exchange.is_away = False
    clock.now_s += trim.AGAIN_S
    part.step(woken=False)
    assert part.exchange.told[-1] == {(0, "q1"): 1, (1, "q1"): 0}
    assert (commits(part), part.exchange.deleted, part.trim.is_due) == (1, [1], False)


def test_entries_of_a_query_that_was_paused_leave_the_log_without_a_commit(part, clock):
    part.exchange.add(1, 0, [1])
    part.exchange.add(2, 4, [2])  # waits for what lies between
    part.step()
    paused = replace(QUERY, incarnation=2, state=PAUSED)
    part.take_queries(replace(part.view, queries=QuerySet(3, (0, 1), {"q1": paused}), queries_version=2))
    assert list(part.trim.undone) == [2]
    part.step(woken=False)
    assert not part.trim.undone
    assert part.exchange.deleted == [1, 2]
    part.exchange.add(3, 5, [3])
    part.step()
    part.step(woken=False)
    assert part.exchange.deleted == [1, 2, 3]


def test_a_query_that_has_counted_what_the_log_has_lost_stops_before_it_commits(part, clock, monkeypatch):
    """The cells were read under leader epoch 4 (see piece); then the log was cut, and is led under epoch 6."""
    stops = []
    monkeypatch.setattr(keypart, "stop_queries", lambda _zookeeper, _stream, ids, *why: stops.append((ids, *why)))
    part.exchange.add(1, 0, [1, 2])
    part.step()
    assert (commits(part), stops) == (1, [])
    part.exchange.facts |= {"log:0": "6 3:1 4:2", "log:1": "0"}
    part.exchange.add(2, 0, [])
    clock.now_s += inbox.RECEIVE_S
    part.step()
    assert stops == []
    part.exchange.facts |= {"log:0": "7 3:1"}
    part.exchange.entries.clear()
    part.exchange.add(3, 2, [3, 4, 5])
    for _ in range(2):  # until the query set is known here without it
        clock.now_s += 10
        part.step()
    assert commits(part) == 1
    assert [(ids, state) for ids, state, _ in stops] == [(["q1"], "LOG_TRUNCATED")] * 2
    assert "offsets [1, 5) of partition 0" in stops[0][2]


def test_rows_that_cannot_be_computed_stop_their_query_alone(part, clock, monkeypatch):
    """Else every owner would meet them again, and end with all its key parts."""
    def closed(*_: object) -> None:
        raise OverflowError("date value out of range")

    stops = []
    monkeypatch.setattr(keypart, "stop_queries", lambda _zookeeper, _stream, ids, *why: stops.append((ids, *why)))
    monkeypatch.setattr(commit.Closed, "of", closed)
    part.queries.states["q2"] = fresh(replace(QUERY, id="q2", name="other"))
    part.exchange.add(1, 0, [1, 2])
    part.step()
    part.queries.states["q1"].close(10_000_000)
    clock.now_s += 10
    part.step(woken=False)
    assert [(ids, state) for ids, state, _ in stops] == [(["q1"], "QUARANTINED")]
    assert "OverflowError: date value out of range" in stops[0][2]
    before = commits(part)
    without = {"q1": replace(QUERY, state="QUARANTINED", incarnation=2), "q2": part.queries.states["q2"].query}
    part.take_queries(replace(part.view, queries=QuerySet(3, (0, 1), without), queries_version=2))
    part.queries.states["q2"].mark_for_rewrite()
    clock.now_s += 10
    part.step(woken=False)
    assert commits(part) == before + 1


def too_large(*_: object) -> None:
    """Stands for what computes, and comes to more text than a dictionary holds."""
    raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")


@pytest.mark.parametrize("where", ["reducer.state.merge.cells.merge", "reducer.committing.commit.encode",
                                   "reducer.state.limits.Limits.judge"])
def test_cells_that_cannot_be_committed_stop_their_query_alone(part, clock, monkeypatch, where):
    stops = []
    monkeypatch.setattr(keypart, "stop_queries", lambda _zookeeper, _stream, ids, *why: stops.append((ids, *why)))
    part.exchange.add(1, 0, [1, 2])
    part.step()
    part.queries.states["q1"].mark_for_rewrite()
    before = part.queries.states["q1"].commit.copy()
    clock.now_s += 10
    with monkeypatch.context() as patch:
        patch.setattr(where, too_large)
        part.step(woken=False)
    assert (commits(part), part.queries.states["q1"].commit) == (1, before)
    assert [(ids, state) for ids, state, _ in stops] == [(["q1"], "QUARANTINED")]
    assert "its cells cannot be computed: ArrowCapacityError: array cannot contain more" in stops[0][2]
    part.step(woken=False)
    assert commits(part) == 2, "the working state was whole"


@pytest.mark.parametrize("where", ["accept", "close"])
def test_cells_that_cannot_be_merged_are_not_committed(part, clock, monkeypatch, where):
    """Positions may have moved without the cells: the key part has to be read again."""
    reads_one_partition(part)
    part.exchange.add(1, 0, [1, 30])
    if where == "close":
        part.step()
        part.exchange.facts = {"begun": "2", "done": "2"}
    monkeypatch.setattr(QueryState, where, too_large)
    clock.now_s += 10
    before = commits(part)
    with pytest.raises(UncomputableError, match="2147483646") as error:
        part.step()
    assert (error.value.query, commits(part)) == ("q1", before)


@pytest.mark.parametrize("where", ["resume", "retry_waiting"])
def test_cells_that_cannot_be_taken_up_name_their_query(part, monkeypatch, where):
    monkeypatch.setattr(QueryState, where, too_large)
    again = replace(QUERY, incarnation=1 if where == "retry_waiting" else 2)
    with pytest.raises(UncomputableError) as error:
        part.take_queries(replace(part.view, queries=QuerySet(3, (0, 1), {"q1": again})))
    assert error.value.query == "q1"


def drop(part: KeyPart, version: int, *left: str) -> None:
    """All queries but these are dropped."""
    queries = {id_: query for id_, query in part.view.queries.queries.items() if id_ in left}
    part.take_queries(replace(part.view, queries=QuerySet(5, (0, 1), queries), queries_version=version))


def kept(part: KeyPart) -> set[str]:
    return {path for path, _ in part.truth.storage.files("0/0")}


@pytest.fixture
def two(part, clock, monkeypatch) -> KeyPart:
    """A key part with a second query. The first one has state and results in files that are old enough to be deleted."""
    monkeypatch.setattr(sweep, "KEEP_UNUSED_S", -1)
    other = replace(QUERY, id="q2", name="other")
    part.take_queries(replace(part.view, queries=QuerySet(3, (0, 1), {"q1": QUERY, "q2": other}), queries_version=2))
    part.exchange.add(1, 0, [1, 2, 30])
    part.step()
    part.queries.states["q1"].close(13)
    part.commit()
    for number in range(2):
        part.queries.states["q2"].accept(piece(number, 0, number, [30]))
        part.commit()
    return part


def test_the_files_of_the_last_query_go_without_another_commit(two, clock):
    before = commits(two)
    drop(two, 3)
    two.step(woken=False)
    named = {two.assignment.pointer.manifest.path} | {e.manifest.path for e in two.assignment.pointer.earlier if e.manifest}
    assert kept(two) > named
    clock.now_s += sweep.SWEEP_S
    two.step(woken=False)
    assert kept(two) == named, "only manifests are left"
    assert commits(two) == before


def test_what_is_not_the_truth_any_more_is_not_swept(two, clock):
    """Another owner, a later commit, or a query set with a query that is not known here."""
    drop(two, 3)
    before, asked = kept(two), []
    two.zookeeper.transact = lambda *checks: asked.append({(kind, *rest) for kind, _, *rest in checks})
    clock.now_s += sweep.SWEEP_S
    two.step(woken=False)
    assert kept(two) == before
    assert asked == [{("check", two.assignment.owner_version), ("check", 3), ("check", two.assignment.pointer_version)}]
    two.zookeeper.transact = lambda *_: True
    clock.now_s += sweep.SWEEP_S
    two.step(woken=False)
    assert kept(two) < before


def test_a_full_state_folder_gets_room_when_a_query_is_dropped(two, clock, monkeypatch):
    """Each commit would fail for want of the room that the next one would make."""
    most, write = len(kept(two)), NewFile.write

    def full(file: NewFile) -> None:
        if len(kept(two)) >= most:
            raise OSError(28, "No space left on device")
        write(file)

    monkeypatch.setattr(NewFile, "write", full)
    monkeypatch.setattr(sweep, "KEEP_UNUSED_S", 1000)
    drop(two, 3, "q2")
    monkeypatch.setattr(sweep, "KEEP_UNUSED_S", -1)
    two.queries.states["q2"].mark_for_rewrite()
    before = commits(two)
    clock.now_s += sweep.SWEEP_S
    with pytest.raises(OSError, match="No space left"):
        two.step(woken=False)
    two.step(woken=False)
    assert commits(two) == before + 1


def test_a_fall_back_still_finds_what_is_left_after_a_sweep(two, clock):
    drop(two, 3, "q2")
    clock.now_s += sweep.SWEEP_S
    two.step(woken=False)
    manifests = [two.truth.manifest, *(point.manifest for point in two.truth.history.points())]
    segments = {segment for manifest in manifests if "q2" in manifest.queries for segment in manifest.queries["q2"].state}
    assert {len(two.truth.storage.read(segment)) for segment in segments}
