"""Planted bugs of rows that change: of the stamps of cells, of revisions, and of places of readers. Each shows only in runs
that have such rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

from mars.algebra import cells_stamps
from mars.results import changes
from mars.results.blocks import Block, Chunk
from mars.results.places import ALL, Changes
from mars.results.schema import schema_of
from mars.results.snapshot import Snapshot
from reducer.committing import fallback
from reducer.state.changelog import ChangingState, RevisedState
from reducer.state.merge import QueryState
from tests.simulate.planted import bug
from tests.simulate.world import World


@bug
def changes_have_the_number_of_the_last_commit(world: World) -> Iterator[None]:
    """Whoever has read that commit takes them for read."""
    real = cells_stamps.stamped

    def stamped(aggregation: object, cells: object, **stamps: object) -> object:
        if set(stamps) == {"changed"}:
            stamps["changed"] -= 1
        return real(aggregation, cells, **stamps)

    with patch.object(cells_stamps, "stamped", stamped):
        yield


@bug
def closed_windows_keep_their_old_stamps(world: World) -> Iterator[None]:
    """A row that has not changed since it was read is never final for the reader."""

    def closed_cells(state: ChangingState) -> object:
        closed = QueryState.closed_cells(state)
        return None if closed is None else cells_stamps.stamped(state.query.plan.aggregation, closed, final=1)

    with patch.object(ChangingState, "closed_cells", closed_cells):
        yield


@bug
def readers_skip_the_rest_of_a_commit(world: World) -> Iterator[None]:
    """A place is a commit alone, also in the middle of its changes."""
    real = changes._slices

    def slices(tables: object) -> Iterator[tuple]:
        for table, (commit, _, _) in real(tables):
            yield table, (commit, ALL, ALL)

    with patch.object(changes, "_slices", slices):
        yield


@bug
def readers_have_one_place_for_all_key_parts(world: World) -> Iterator[None]:
    """The greatest number of any key part. What lies before it is left out, and the reader goes on behind all."""
    real = changes.changed

    def changed(tables: object, snapshot: Snapshot, after: Changes, choice: object) -> Iterator[Block]:
        yield from real(tables, snapshot, replace(after, parts=(max(after.parts),) * len(after.parts)), choice)
        # Else whoever got nothing would look again at once, for ever.
        yield Block(schema_of(snapshot.query.plan).empty_table(), [Chunk(Changes.of(snapshot.vector), 0)])

    with patch.object(changes, "changed", changed):
        yield


@bug
def a_restart_forgets_closed_windows(world: World) -> Iterator[None]:
    """Late tuples then make rows of their own."""
    with patch.object(RevisedState, "keep", lambda state, tables: None):
        yield


@bug
def late_tuples_of_a_lost_commit_are_kept(world: World) -> Iterator[None]:
    """What a commit has published goes into the next revision once more."""
    real = RevisedState.adopt

    def adopt(state: RevisedState, commit: object, tables: object) -> None:
        late = state.late
        real(state, commit, tables)
        state.late = late

    with patch.object(RevisedState, "adopt", adopt):
        yield


@bug
def revisions_are_numbered_as_before_a_fall_back(world: World) -> Iterator[None]:
    """Numbers that readers know come again, for other tuples."""
    real = fallback._choose

    def choose(storage: object, found: object, stream: object, query: object, *given: object) -> None:
        real(storage, found, stream, query, *given)
        if query.id in found.manifest.queries:
            found.manifest.queries[query.id].revised_until = None

    with patch.object(fallback, "_choose", choose):
        yield
