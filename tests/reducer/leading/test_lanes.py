"""Lanes read from commits: cursor and stops, as attach and install take them (rules 5, 7, 17)."""

from __future__ import annotations

from mars.model.commits import Manifest, QueryCommit
from mars.model.registry import PAUSED, Query, QuerySet
from reducer.leading.lanes import attach_state, install_state, partitions_of
from tests.reducer.pieces import PLAN


def query(id_: str = "q1", incarnation: int = 1, **changes: object) -> Query:
    """A query that starts at 10 of partition 0 and at 20 of partition 1."""
    return Query(id_, id_, PLAN, incarnation, {0: 10, 1: 20}, **changes)


def manifests(*positions: dict[int, int], id_: str = "q1") -> list[Manifest]:
    """A key part for each dict of committed positions."""
    return [Manifest(1, k, queries={id_: QueryCommit(1, positions=p)}) for k, p in enumerate(positions)]


def test_without_commits_a_query_starts_at_its_start():
    state = attach_state(query(), [Manifest(1, 0), Manifest(1, 1)])
    assert state["cursors"] == {0: "10", 1: "20"}
    assert state["stops"] == {0: [], 1: []}
    assert state["positions"] == [[0, "0:q1", "10"], [1, "0:q1", "10"], [0, "1:q1", "20"], [1, "1:q1", "20"]]


def test_the_cursor_is_the_least_position_and_the_others_are_stops():
    state = attach_state(query(), manifests({0: 50, 1: 60}, {0: 30, 1: 60}, {0: 40}))
    assert state["cursors"] == {0: "30", 1: "20"}
    assert state["stops"] == {0: ["40", "50"], 1: ["60"]}


def test_every_running_query_gets_its_lane_and_no_other_does():
    queries = QuerySet(9, (0, 1), {"q1": query(), "q2": query("q2", 5), "q3": query("q3", 6, state=PAUSED)})
    state = install_state(queries, manifests({0: 50}, {0: 30}))
    assert state["key_parts"] == 2
    assert state["lanes"] == {"0": {"q1": "1:30", "q2": "5:10"}, "1": {"q1": "1:20", "q2": "5:20"}}
    assert state["stops"] == {"0": ["50"], "1": []}
    assert {field for _, field, _ in state["positions"]} == {"0:q1", "1:q1", "0:q2", "1:q2"}


def test_a_partition_that_only_the_query_set_knows_has_empty_lanes():
    state = install_state(QuerySet(9, (0, 1, 2), {"q1": query()}), [Manifest(1, 0)])
    assert state["lanes"]["2"] == {}
    assert state["stops"]["2"] == []


def test_a_query_may_start_in_a_partition_that_the_query_set_does_not_know_yet():
    """It was made when the leader had not entered the partition; one that rests has no lane there, and keeps none."""
    ahead = Query("q1", "q1", PLAN, 1, {0: 10, 3: 5})
    resting = Query("q2", "q2", PLAN, 2, {0: 10, 4: 7}, state=PAUSED)
    queries = QuerySet(9, (0, 1), {"q1": ahead, "q2": resting})
    state = install_state(queries, manifests({0: 50}, {0: 30, 3: 8}))
    assert state["lanes"] == {"0": {"q1": "1:30"}, "1": {}, "3": {"q1": "1:5"}, "4": {}}
    assert state["stops"]["3"] == ["8"]
    assert partitions_of(queries) == (0, 1, 3, 4)
