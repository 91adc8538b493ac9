"""Planted bugs of late tuples that are kept (LATE TO). Each shows only in runs that keep them."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

from mars.model.commits import QueryCommit
from reducer.committing import fallback, sweep
from reducer.state.merge import QueryState
from tests.simulate.planted import bug
from tests.simulate.world import World


@bug
def late_tuples_of_a_commit_are_kept_again(world: World) -> Iterator[None]:
    """With the next one."""
    real = QueryState.adopt

    def adopt(state: QueryState, *given: object) -> None:
        late = state.late_cells
        real(state, *given)
        state.late_cells = late

    with patch.object(QueryState, "adopt", adopt):
        yield


@bug
def a_fall_back_keeps_late_tuples(world: World) -> Iterator[None]:
    """Those that come again are there twice, and those that come in time besides."""
    real = fallback.again

    def again(entry: QueryCommit, others: list[QueryCommit], *given: object) -> QueryCommit:
        made = real(entry, others, *given)
        newest = max((entry, *others), key=lambda commit: commit.commits)
        made.late, made.late_index = newest.late, newest.late_index
        return made

    with patch.object(fallback, "again", again):
        yield


@bug
def files_of_late_tuples_are_swept(world: World) -> Iterator[None]:
    """As if no commit named them."""
    real = sweep._named_files

    def named(storage: object, manifests: object) -> tuple[set[str], bool]:
        found = list(manifests)
        with patch.object(QueryCommit, "of_late", property(lambda entry: QueryCommit(entry.incarnation))):
            return real(storage, found)

    with patch.object(sweep, "_named_files", named):
        yield
