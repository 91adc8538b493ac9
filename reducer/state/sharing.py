"""Finds queries that hold equal cells in tables of their own, and lets them hold the same tables. Pure.

A query that began later than another with the same aggregation, or was paused for a while, holds other cells than that one
until the windows of that time are closed. Then both hold the same, but each made its tables by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from mars.algebra import cells
from reducer.state.merge import QueryState


def share_equal(states: Iterable[QueryState]) -> None:
    """Of states that have read equally far, let those with equal cells hold the tables of one of them. No answer changes by
    it: cells are equal bit by bit, so sums of floats that were made in another order are not."""
    alike: dict[tuple, list[QueryState]] = {}
    for state in states:
        commit = state.commit
        if commit.published is None and not state.waiting and not state.closed:
            place = (state.query.plan.aggregation.cells_name, commit.watermark, *sorted(commit.positions.items()))
            alike.setdefault(place, []).append(state)
    for group in alike.values():
        if len({_tables(state) for state in group}) > 1:
            _join(group)


def _join(group: list[QueryState]) -> None:
    first, *others = sorted(group, key=lambda state: state.query.id)
    held, tuples = _tables(first), _tuples(first)
    perhaps = [state for state in others if _tables(state) != held and _tuples(state) == tuples]
    joined = [state for state in perhaps if cells.equal(first.merged(), state.merged())]
    if joined:
        whole = first.merged()
        for state in [*(state for state in group if _tables(state) == held), *joined]:
            state.hold(whole)


def _tables(state: QueryState) -> tuple[int, ...]:
    return tuple(id(table) for table in (*state.open, *state.delta))


def _tuples(state: QueryState) -> int:
    return sum(cells.tuple_count(table) for table in (*state.open, *state.delta))
