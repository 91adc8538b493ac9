"""Planted bugs of the real code: leaders, owners and their commits, mappers."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from unittest.mock import patch

from mapper.lease import LeaseKeeper
from mars.adapters.view import StreamView
from mars.errors import InvariantError
from mars.model import names
from mars.model.commits import QueryCommit
from mars.model.registry import QuerySet
from reducer.committing import fallback, pointer, sweep
from reducer.committing.assignment import PartId
from reducer.committing.sweep import living
from reducer.holdings import Holdings
from reducer.keypart import KeyPart
from reducer.leading.lead import Leader
from reducer.state import merge, sharing
from reducer.state.close import CheckedWatermark, Facts
from reducer.state.logs import Logs
from reducer.state.merge import QueryState
from reducer.state.once import Once
from tests.simulate.planted import bug
from tests.simulate.world import World


@bug
def commits_are_read_before_the_generation_is_raised(world: World) -> Iterator[None]:
    recover, manifests = Leader._recover_if_needed, Leader._manifests

    def early(leader: Leader, view: StreamView, *rest: object) -> bool:
        kept = manifests(leader, view)
        with patch.object(leader, "_manifests", lambda view: kept):
            return recover(leader, view, *rest)

    with patch.object(Leader, "_recover_if_needed", early):
        yield


@bug
def unknown_outcome_is_taken_for_done(world: World) -> Iterator[None]:
    with patch.object(pointer, "outcome", lambda *_: True):
        yield


@bug
def log_is_trimmed_before_the_commit(world: World) -> Iterator[None]:
    real = KeyPart.commit

    def commit(part: KeyPart) -> None:
        part.assignment.log(part.exchange).trim(list(part.trim.undone), {})
        real(part)

    with patch.object(KeyPart, "commit", commit):
        yield


@bug
def uncommitted_state_survives_a_new_generation(world: World) -> Iterator[None]:
    real = Holdings._keep_up

    def keep_up(holdings: Holdings, id_: PartId, view: StreamView, owner_version: int) -> None:
        part = holdings.parts.get(id_)
        if part and part.view.generation != view.generation:
            part.truth.follow(view)
            part.inbox.after, part.trim.undone = 0, {}
        real(holdings, id_, view, owner_version)

    with patch.object(Holdings, "_keep_up", keep_up):
        yield


@bug
def positions_are_not_compared(world: World) -> Iterator[None]:
    """A range that overlaps what is merged is merged too."""
    real = QueryState.accept

    def accept(state: QueryState, piece: object) -> None:
        try:
            real(state, piece)
        except InvariantError:
            state._merge(piece)

    def skip(state: QueryState, piece: object) -> None:
        if piece.share.cells:
            state._merge(piece)

    with patch.object(QueryState, "accept", accept), patch.object(QueryState, "_skip", skip):
        yield


@bug
def windows_close_without_a_check(world: World) -> Iterator[None]:
    with patch.object(CheckedWatermark, "offer", lambda self, reached, facts: reached):
        yield


@bug
def watermark_passes_a_gap(world: World) -> Iterator[None]:
    """The event time of an entry that waits counts already."""
    real = QueryState.accept

    def accept(state: QueryState, piece: object) -> None:
        p, met = piece.partition, piece.header.max_event_time
        if met is not None:
            state.commit.max_event_time[p] = max(met, state.commit.max_event_time.get(p, met))
        real(state, piece)

    with patch.object(QueryState, "accept", accept):
        yield


@bug
def incarnations_are_used_again(world: World) -> Iterator[None]:
    def raise_incarnation(queries: QuerySet, query_id: str, state: str, reason: str = "") -> None:
        queries.queries[query_id].state, queries.queries[query_id].reason = state, reason

    with patch.object(QuerySet, "raise_incarnation", raise_incarnation):
        yield


@bug
def failed_reads_keep_their_lease(world: World) -> Iterator[None]:
    """The bug that the simulation found in a mapper: what cannot be read is renewed all the same."""
    real = LeaseKeeper.drop

    def drop(keeper: LeaseKeeper, stream_id: int, claim: object) -> bool:
        held = world.server.stores[stream_id].claims.get(claim.id)
        if held is None or held["epoch"] != claim.epoch:
            return real(keeper, stream_id, claim)
        return False

    with patch.object(LeaseKeeper, "drop", drop):
        yield


@bug
def new_partitions_keep_closed_windows(world: World) -> Iterator[None]:
    """The bug that the model found in a reducer: it goes on with windows that it closed without the new partition."""
    real = Holdings._keep_up

    def keep_up(holdings: Holdings, id_: PartId, view: StreamView, owner_version: int) -> None:
        part = holdings.parts.get(id_)
        if part and part.view.queries.partitions != view.queries.partitions:
            part.take_queries(view)
        real(holdings, id_, view, owner_version)

    with patch.object(Holdings, "_keep_up", keep_up):
        yield


@bug
def a_view_takes_queries_from_the_manifest(world: World) -> Iterator[None]:
    """Found by reading: an owner whose query set is older than the commit that it loads forgets the queries that came since,
    and its next commit proves the newer query set."""
    real = KeyPart.take_queries

    def take_queries(part: KeyPart, view: StreamView) -> None:
        part.truth.manifest = living(part.truth.manifest, view.queries.queries)
        real(part, view)

    with patch.object(KeyPart, "take_queries", take_queries):
        yield


@bug
def a_fall_back_takes_results_back(world: World) -> Iterator[None]:
    """Nobody remembers what readers have been told."""
    real = fallback.again

    def again(entry: QueryCommit, newer: list, commits: int, published: int | None) -> QueryCommit:
        return real(entry, newer, commits, None)

    with patch.object(fallback, "again", again):
        yield


@bug
def a_fall_back_asks_for_no_recovery(world: World) -> Iterator[None]:
    """The lanes stay where they are, and nobody reads again what the fall-back left out."""
    elsewhere = SimpleNamespace(**{**names.__dict__, "recovery_request": lambda id_: f"{names.stream(id_)}/elsewhere"})
    with patch.object(fallback, "names", elsewhere):
        yield


@bug
def cut_logs_are_not_noticed(world: World) -> Iterator[None]:
    """What was counted is not compared with the log as it is now."""

    def replaced(logs: Logs, states: dict[str, QueryState], facts: Facts) -> dict[str, str]:
        for state in states.values():
            state.has_compared(set())
        return {}

    with patch.object(Logs, "replaced", replaced):
        yield


@bug
def only_the_last_epoch_is_noted(world: World) -> Iterator[None]:
    """Who reads on from the new log forgets that it has counted the old one."""

    def note(noted: list[tuple[int, int]], epoch: int, offset: int) -> None:
        noted[:] = [(epoch, offset)]

    with patch.object(merge, "note", note):
        yield


@bug
def files_that_no_commit_needs_stay(world: World) -> Iterator[None]:
    with patch.object(sweep, "unused_files", lambda *_: []):
        yield


@bug
def unequal_cells_are_taken_for_equal(world: World) -> Iterator[None]:
    """Queries that have read equally far come to hold the cells of one of them, whenever each of them began."""
    with patch.object(sharing, "cells", SimpleNamespace(equal=lambda *_: True, tuple_count=lambda _: 0)):
        yield


@bug
def steps_at_two_watermarks_are_taken_for_one(world: World) -> Iterator[None]:
    real = Once.get

    def get(once: Once, step: str, aggregation: object, of: object, make: object, how: object = None) -> object:
        return real(once, step, aggregation, of, make, how if step == "segment" else None)

    with patch.object(Once, "get", get):
        yield
