"""Queries with equal aggregations hold the same tables, and each has its own positions, counters and rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mars.adapters.storage import Storage
from mars.config import Config
from mars.model.commits import Manifest
from mars.model.entries import Entry
from mars.model.plan import QueryPlan
from mars.model.registry import Query, QuerySet
from mars.results.open_windows import OpenWindows
from mars.results.snapshot import Snapshot
from reducer.committing import commit
from reducer.state.limits import Limits
from reducer.state.merge import QueryState
from reducer.state.queries import QueryStates
from sql.check.compile import compile_select
from sql.read.parse import parse
from tests.reducer.pieces import PLAN, STREAM, content, piece, rows_of

WEEK_MS = 7 * 86_400_000
SHOWN_OTHERWISE: QueryPlan = compile_select(parse(
    "SELECT k AS key, sum(k) + 1 AS s FROM s GROUP BY k, t WINDOWING 10 s HAVING count(*) > 1 WATERMARK 2 s IDLE 1 s "
    "GRACE 3 s"), STREAM, True)


@pytest.fixture
def storage(tmp_path) -> Storage:
    """A state URI of our own."""
    return Storage(tmp_path.as_uri())


def states_of(*queries: Query) -> QueryStates:
    """The states of queries that have merged nothing."""
    states = QueryStates(Limits(Config()))
    states.follow(QuerySet(9, (0, 1), {query.id: query for query in queries}),
                  lambda query, once: QueryState.resume(query, STREAM, None, [], once))
    return states


def query(id_: str, start: int = 0, plan: QueryPlan = PLAN) -> Query:
    """A query that begins at an offset of partition 0."""
    return Query(id_, id_, plan, int(id_[1:]), {0: start, 1: 0})


def merge(states: QueryStates, *ranges: tuple[int, int, list[int]]) -> None:
    """An entry for each (partition, start, event times): of all queries whose position is at its start or before."""
    for seq, (partition, start, times) in enumerate(ranges):
        one = piece(seq, partition, start, times)
        tasks = {id_: state.query.incarnation for id_, state in states.states.items() if state.position(partition) <= start}
        states.merge(Entry(seq, replace(one.header, tasks=tasks), dict.fromkeys(tasks, one.share)))


def commit_all(storage: Storage, manifest: Manifest, states: QueryStates) -> Manifest:
    """Commit, as the owner does when its transaction goes through."""
    prepared = commit.prepare(storage, manifest, states.states, WEEK_MS)
    commit.adopt(states.states, prepared)
    return prepared.manifest


def tables(states: QueryStates, id_: str) -> list[int]:
    """Which tables a query holds."""
    return [id(table) for table in states.states[id_].open + states.states[id_].delta]


def rows(storage: Storage, manifest: Manifest, id_: str, shown_otherwise: bool = False) -> list[dict]:
    """The rows of closed windows."""
    plan = SHOWN_OTHERWISE if id_ == "q2" and shown_otherwise else PLAN
    return [row for result in manifest.queries[id_].results for row in rows_of(storage, result, plan)]


def open_rows(storage: Storage, reader: OpenWindows, manifest: Manifest, query: Query) -> list[tuple]:
    """(window start in s, key, tuples) of open windows, as a reader sees them who has read earlier commits, too."""
    part = manifest.queries[query.id]
    found = reader.rows(Snapshot(STREAM, query, (part,)), 0, part).to_pylist()
    return sorted((int(row["window_start"].timestamp()), row["k"], row["count"]) for row in found)


def test_what_is_kept_does_not_depend_on_what_is_shown():
    assert PLAN.aggregation.cells_name == SHOWN_OTHERWISE.aggregation.cells_name
    select = "SELECT k, t, count(*), sum(k) FROM s GROUP BY k, t WINDOWING 10 s WATERMARK 3 s"
    later = compile_select(parse(select), STREAM, True)
    assert PLAN.aggregation.cells_name != later.aggregation.cells_name


def test_queries_that_merge_the_same_hold_the_same_and_write_it_once(storage):
    states = states_of(query("q1"), query("q2", plan=SHOWN_OTHERWISE), query("q3"))
    merge(states, (0, 0, [1, 2, 13]), (1, 0, [3, 14]))
    for state in states.states.values():
        state.close(16)
    manifest = commit_all(storage, Manifest(0, 0), states)
    one, other, third = (manifest.queries[id_] for id_ in ("q1", "q2", "q3"))
    assert one.state == other.state == third.state != []
    assert one.results == other.results == third.results != []
    assert tables(states, "q1") == tables(states, "q2") == tables(states, "q3")
    assert [(row["k"], row["count"], row["sum"]) for row in rows(storage, manifest, "q1")] == [(0, 2, 0), (1, 1, 1)]
    assert [(row["key"], row["s"]) for row in rows(storage, manifest, "q2", True)] == [(0, 1)]
    assert {tuple(entry.counters.values()) for entry in manifest.queries.values()} == {(5, 0, 0, 0, 0, 0)}


def test_a_query_that_began_later_holds_the_same_once_its_first_windows_are_closed(storage):
    first, later = query("q1"), query("q2", start=2)
    states, reader = states_of(first, later), OpenWindows(storage)
    merge(states, (0, 0, [1, 2]))
    manifest = commit_all(storage, Manifest(0, 0), states)
    merge(states, (0, 2, [3, 14, 15]), (1, 0, [4, 12]))
    states.share_equal()
    manifest = commit_all(storage, manifest, states)
    assert open_rows(storage, reader, manifest, first) != open_rows(storage, reader, manifest, later)
    merge(states, (0, 5, [16]))
    for state in states.states.values():
        state.close(16)
    manifest = commit_all(storage, manifest, states)
    before = open_rows(storage, reader, manifest, later)
    assert tables(states, "q1") != tables(states, "q2")

    states.share_equal()
    assert tables(states, "q1") == tables(states, "q2")
    merge(states, (0, 6, [17]))
    manifest = commit_all(storage, manifest, states)
    assert manifest.queries["q1"].state == manifest.queries["q2"].state
    assert [(row["k"], row["count"]) for row in rows(storage, manifest, "q2")] == [(0, 1), (2, 1)]
    # The reader knew the segments that the query had before; what has taken their place must not count beside them.
    assert open_rows(storage, reader, manifest, later) == open_rows(storage, OpenWindows(storage), manifest, later)
    assert sum(count for _, _, count in open_rows(storage, reader, manifest, later)) == 1 + sum(n for _, _, n in before)
    assert content(states.states["q1"]) == content(states.states["q2"])


@pytest.mark.parametrize("times", [[3, 14], [13, 14, 15]])
def test_cells_that_differ_are_not_shared(times):
    """Of the second ones, as many tuples are in other windows."""
    states = states_of(query("q1"), query("q2"))
    merge(states, (1, 0, [3]))
    for id_, own in (("q1", [3, 14, 15]), ("q2", times)):
        one = piece(5, 0, 0, own, end=3)
        states.states[id_].accept(one)
    held = [tables(states, id_) for id_ in ("q1", "q2")]
    states.share_equal()
    assert [tables(states, id_) for id_ in ("q1", "q2")] == held
    assert content(states.states["q1"]) != content(states.states["q2"])


def test_a_query_that_has_read_further_shares_nothing():
    states = states_of(query("q1"), query("q2"))
    merge(states, (0, 0, [1, 2]))
    states.states["q2"].accept(piece(2, 1, 0, [], end=4))
    states.states["q2"].mark_for_rewrite()
    states.states["q2"].to_write(1)
    states.share_equal()
    assert content(states.states["q1"]) == content(states.states["q2"])
    assert states.states["q1"].position(1) == 0
