"""Entries may come in any order and more than once; a query's state is that of the plain order (rules 9 and 13)."""

from __future__ import annotations

import ast
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mars.errors import InvariantError
from reducer.state.merge import QueryState
from tests.reducer.pieces import QUERY, content, fresh, piece

TIMES = [3, 12, 5, 25, 14, 1, 33, 8, 19, 41, 2, 30]


@st.composite
def logs(draw) -> list:
    """Both partitions cut into adjacent ranges, some of them twice, under shuffled SEQs."""
    ranges = []
    for partition in (0, 1):
        cuts = sorted(draw(st.sets(st.integers(1, len(TIMES) - 1))) | {0, len(TIMES)})
        ranges += [(partition, start, TIMES[start:end]) for start, end in pairwise(cuts)]
    ranges += draw(st.lists(st.sampled_from(ranges), max_size=4))
    order = draw(st.permutations(range(len(ranges))))
    return [piece(seq, *range_) for seq, range_ in zip(order, ranges, strict=True)]


@pytest.mark.laws
@given(logs(), st.data())
def test_any_order_gives_the_state_of_the_plain_order(log, data):
    plain, state = fresh(), fresh()
    for partition in (0, 1):
        plain.accept(piece(0, partition, 0, TIMES))
    for entry in data.draw(st.permutations(log)):
        state.accept(entry)
    assert content(state) == content(plain)
    assert state.commit.positions == plain.commit.positions == {0: len(TIMES), 1: len(TIMES)}
    assert state.commit.max_event_time == {0: 41, 1: 41}
    assert not any(state.waiting.values())
    skipped = sum(entry.end - entry.start for entry in log) - 2 * len(TIMES)
    assert state.commit.counters == {**plain.commit.counters, "duplicates_skipped": skipped}
    assert state.commit.bad_reasons == {"k: not a number": 2 * len(TIMES)}


def test_a_range_that_starts_later_waits_and_moves_nothing():
    state = fresh()
    state.accept(piece(1, 0, 4, [1, 2]))
    assert (state.position(0), content(state), state.changed) == (0, {}, False)
    state.accept(piece(2, 0, 0, [1, 2, 3, 4]))
    assert state.position(0) == 6


def test_a_range_over_the_position_is_a_broken_invariant():
    state = fresh()
    state.accept(piece(1, 0, 0, [1, 2, 3]))
    with pytest.raises(InvariantError, match="overlaps"):
        state.accept(piece(2, 0, 2, [3, 4]))
    assert state.position(0) == 3


def test_of_ranges_that_start_together_the_lowest_seq_is_merged_first():
    state = fresh()
    state.accept(piece(7, 0, 2, [5, 5]))
    state.accept(piece(4, 0, 2, [5, 5, 5, 5]))
    state.accept(piece(9, 0, 0, [1, 1]))
    assert state.position(0) == 6
    assert state.commit.counters["duplicates_skipped"] == 2


def test_a_longer_range_after_a_shorter_one_of_the_same_start_is_a_broken_invariant():
    state = fresh()
    state.accept(piece(4, 0, 2, [5, 5]))
    state.accept(piece(7, 0, 2, [5, 5, 5, 5]))
    with pytest.raises(InvariantError, match="start at one offset"):
        state.accept(piece(9, 0, 0, [1, 1]))


def test_a_skipped_range_without_cells_counts_nothing():
    state = fresh()
    for seq in (1, 2):
        state.accept(piece(seq, 0, 0, [], end=5))
    assert (state.position(0), state.commit.counters["duplicates_skipped"]) == (5, 0)


def test_a_partition_that_is_not_known_waits_for_the_query_set():
    state = fresh()
    state.accept(piece(1, 2, 10, [1, 2]))
    state.retry_waiting()
    assert state.position(2) is None
    state.follow(replace(QUERY, start={**QUERY.start, 2: 10}))
    state.retry_waiting()
    assert state.position(2) == 12


def test_closing_takes_whole_windows_with_grace_and_never_goes_back():
    state = fresh()
    state.accept(piece(1, 0, 0, [5, 9, 12, 25]))
    state.close(12)  # [0, 10) with a grace of 3 s closes at 13
    assert state.closed == []
    state.close(13)
    assert [row["w"] for table in state.closed for row in table.to_pylist()] == [0, 0]
    assert {window for window, _ in content(state)} == {10, 20}
    state.close(11)
    assert state.commit.watermark == 13


def test_a_tuple_of_a_closed_window_is_late_and_dropped():
    state = fresh()
    state.close(13)
    state.accept(piece(1, 0, 0, [9, 10, 3]))
    assert {window for window, _ in content(state)} == {10}
    assert state.commit.counters["late"] == 2
    assert state.commit.counters["tuples"] == 3


def test_many_small_pieces_are_folded():
    state = fresh()
    for number in range(200):
        state.accept(piece(number, 0, number, [number]))
    assert len(state.delta) < 100
    assert sum(row[0] for row in content(state).values()) == 200


def test_which_watermark_would_close_a_window():
    """Windows of 10 s with GRACE 3 s: the earliest open one decides."""
    state = fresh()
    assert not state.would_close(10**9)
    state.accept(piece(1, 0, 0, [25, 14]))
    assert (state.would_close(22), state.would_close(23)) == (False, True)
    state.close(23)
    assert (state.would_close(32), state.would_close(33)) == (False, True)
    state.close(33)
    assert not state.would_close(10**9)


def test_only_a_state_changes_its_own_fields():
    """Whoever wants something of it says so by a method, so that there is one place to read."""
    root, names = Path(__file__).parents[3] / "reducer", {field.name for field in fields(QueryState)}
    written = []
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in names
                    and ast.unparse(node.value) != "self"):
                written.append(f"{file.relative_to(root)}:{node.lineno} {ast.unparse(node)}")
    assert written == []
