"""Planted bugs, for tests alone: each takes one safeguard from the real code or from the scripts, and a run must show it.

`BUGS` maps a name to a context manager of the world. `RARE` are those that 1500 seeds need not show.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

from mapper.lease import LeaseKeeper
from mars import names
from mars.adapters.view import StreamView
from mars.commits import QueryCommit
from mars.errors import InvariantError
from mars.registry import QuerySet
from reducer import fallback, merge
from reducer.close import CheckedWatermark, Facts
from reducer.job import Reducer
from reducer.keypart import KeyPart
from reducer.lead import Leader
from reducer.logs import Logs
from reducer.merge import QueryState
from tests.simulate import claiming, redis, scripts
from tests.simulate.world import World

BUGS: dict[str, Callable[[World], AbstractContextManager]] = {}
RARE = frozenset((
    "late_trims_lower_positions", "late_attaches_take_a_newer_lane", "late_detaches_take_a_newer_lane",
    "late_facts_are_told", "new_partitions_keep_closed_windows", "queries_share_a_now",
    "whoever_lost_a_claim_stops_queries"))


def bug(function: Callable[[World], Iterator[None]]) -> Callable:
    """Enters a planted bug under its function's name."""
    BUGS[function.__name__] = contextlib.contextmanager(function)
    return function


@bug
def commit_ignores_generation(world: World) -> Iterator[None]:
    world.ensemble.unchecked = ("/generation",)
    yield


@bug
def commit_ignores_query_set(world: World) -> Iterator[None]:
    world.ensemble.unchecked = ("/queries",)
    yield


@bug
def commit_ignores_owner_and_pointer(world: World) -> Iterator[None]:
    world.ensemble.unchecked = ("/owner", "/pointer")
    yield


@bug
def claims_cross_stops(world: World) -> Iterator[None]:
    real = scripts.install

    def install(store: scripts.Store, *arguments: object) -> None:
        real(store, *arguments)
        store.stops.clear()

    with patch.object(scripts, "install", install):
        yield


@bug
def tasks_are_frozen_anew(world: World) -> Iterator[None]:
    real = claiming._again

    def again(store: scripts.Store, held: dict, now: float) -> dict:
        held["tasks"] |= {q: lane[0] for q, lane in store.lanes[held["partition"]].items()}
        return real(store, held, now)

    with patch.object(claiming, "_again", again):
        yield


@bug
def lanes_join_before_they_are_equal(world: World) -> Iterator[None]:
    real = claiming._lanes_of

    def lanes_of(store: scripts.Store, p: int) -> tuple:
        main, joined, others = real(store, p)
        return main, joined + [(q, i, False) for q, i, cursor in others if cursor <= main], []

    with patch.object(claiming, "_lanes_of", lanes_of):
        yield


@bug
def push_deletes_the_claim_first(world: World) -> Iterator[None]:
    """Two calls instead of one: a mapper that is killed between them takes the cells with it."""
    real = scripts.push

    def push(store: scripts.Store, generation: int, claim: dict, *rest: object) -> int:
        if scripts._is_held(store, claim):
            kept = dict(store.claims[claim["id"]]), store.leases[claim["id"]]
            del store.claims[claim["id"]], store.leases[claim["id"]]
            world.scheduler.sleep(0.2)
            store.claims[claim["id"]], store.leases[claim["id"]] = kept
        return real(store, generation, claim, *rest)

    with patch.object(scripts, "push", push):
        yield


@bug
def scripts_ignore_the_generation(world: World) -> Iterator[None]:
    with patch.object(scripts.Store, "check", lambda *_: None):
        yield


@bug
def run_id_is_not_compared(world: World) -> Iterator[None]:
    world.server.same_run_id = True
    yield


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
    with patch.object(KeyPart, "_outcome", lambda *_: True):
        yield


@bug
def log_is_trimmed_before_the_commit(world: World) -> Iterator[None]:
    real = KeyPart.commit

    def commit(part: KeyPart) -> None:
        part.exchange.trim(part.view.stream.id, part.view.generation, part.number, part.owner_version,
                           list(part.undone), {})
        real(part)

    with patch.object(KeyPart, "commit", commit):
        yield


@bug
def uncommitted_state_survives_a_new_generation(world: World) -> Iterator[None]:
    real = Reducer._keep_up

    def keep_up(reducer: Reducer, key: tuple[int, int], owner_version: int) -> None:
        part, view = reducer.parts.get(key), reducer.views[key[0]]
        if part and part.view.generation != view.generation:
            part.view, part.after, part.undone = view, 0, {}
        real(reducer, key, owner_version)

    with patch.object(Reducer, "_keep_up", keep_up):
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
        if piece.cells:
            state._merge(piece)

    with patch.object(QueryState, "accept", accept), patch.object(QueryState, "_skip", skip):
        yield


@bug
def windows_close_without_a_check(world: World) -> Iterator[None]:
    with patch.object(CheckedWatermark, "offer", lambda self, reached, facts: reached):
        yield


@bug
def open_transactions_are_idle(world: World) -> Iterator[None]:
    world.topic.idle_by_stable = True
    yield


@bug
def watermark_passes_a_gap(world: World) -> Iterator[None]:
    """The event time of an entry that waits counts already."""
    real = QueryState.accept

    def accept(state: QueryState, piece: object) -> None:
        p, met = piece.marker["p"], piece.marker["met"]
        if met is not None:
            state.commit.max_event_time[p] = max(met, state.commit.max_event_time.get(p, met))
        real(state, piece)

    with patch.object(QueryState, "accept", accept):
        yield


@bug
def pointer_is_set_before_the_files_are_durable(world: World) -> Iterator[None]:
    world.disk.loose = {}
    yield


@bug
def empty_throttled_answers_are_the_end(world: World) -> Iterator[None]:
    world.topic.throttled_is_end = True
    yield


@bug
def incarnations_are_used_again(world: World) -> Iterator[None]:
    def raise_incarnation(queries: QuerySet, query_id: str, state: str, reason: str = "") -> None:
        queries.queries[query_id].state, queries.queries[query_id].reason = state, reason

    with patch.object(QuerySet, "raise_incarnation", raise_incarnation):
        yield


@bug
def nows_are_forgotten(world: World) -> Iterator[None]:
    real = scripts.install

    def install(store: scripts.Store, *arguments: object) -> None:
        real(store, *arguments)
        store.nows.clear()

    with patch.object(scripts, "install", install):
        yield


@bug
def failed_reads_keep_their_lease(world: World) -> Iterator[None]:
    """The bug that the simulation found in a mapper: what cannot be read is renewed all the same."""
    real = LeaseKeeper.drop

    def drop(keeper: LeaseKeeper, stream_id: int, claim: object) -> None:
        held = world.server.stores[stream_id].claims.get(claim.id)
        if held is None or held["epoch"] != claim.epoch:
            real(keeper, stream_id, claim)

    with patch.object(LeaseKeeper, "drop", drop):
        yield


@bug
def new_partitions_keep_closed_windows(world: World) -> Iterator[None]:
    """The bug that the model found in a reducer: it goes on with windows that it closed without the new partition."""
    real = Reducer._keep_up

    def keep_up(reducer: Reducer, key: tuple[int, int], owner_version: int) -> None:
        part, view = reducer.parts.get(key), reducer.views[key[0]]
        if part and part.view.queries.partitions != view.queries.partitions:
            part.take_queries(view)
        real(reducer, key, owner_version)

    with patch.object(Reducer, "_keep_up", keep_up):
        yield


@bug
def a_fall_back_counts_again(world: World) -> Iterator[None]:
    """Counters and results stay, and what they have already is counted once more."""
    real = fallback.keep_results

    def keep_results(entry: QueryCommit, last: QueryCommit) -> QueryCommit:
        return replace(real(entry, last), counted={})

    with patch.object(fallback, "keep_results", keep_results):
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
def late_trims_lower_positions(world: World) -> Iterator[None]:
    """Found by the simulation: a trim that comes late takes back what was told, and claims stand at their bound."""

    def tell(store: scripts.Store, k: int, name: tuple[int, str], offset: int) -> None:
        store.positions[k][name] = offset

    with patch.object(scripts, "tell", tell):
        yield


@bug
def late_attaches_take_a_newer_lane(world: World) -> Iterator[None]:
    real = scripts.attach

    def attach(store: scripts.Store, generation: int, epoch: int, query: str, incarnation: int, state: dict) -> None:
        for p in state["cursors"]:
            if query in store.lanes[p] and store.lanes[p][query][0] > incarnation:
                del store.lanes[p][query]
        real(store, generation, epoch, query, incarnation, state)

    with patch.object(scripts, "attach", attach):
        yield


@bug
def late_detaches_take_a_newer_lane(world: World) -> Iterator[None]:
    real = scripts.detach

    def detach(store: scripts.Store, generation: int, epoch: int, query: str, attached: dict[int, int]) -> None:
        real(store, generation, epoch, query, dict.fromkeys(attached, 1_000_000))

    with patch.object(scripts, "detach", detach):
        yield


@bug
def late_facts_are_told(world: World) -> Iterator[None]:
    def facts(store: scripts.Store, generation: int, epoch: int, told: dict[str, object]) -> None:
        store.check_leader(generation, epoch)
        store.facts |= {name: str(value) for name, value in told.items()}

    with patch.object(scripts, "facts", facts):
        yield


@bug
def nothing_tells_what_kills(world: World) -> Iterator[None]:
    """No mark is kept: what ends every worker is given again for ever."""
    with patch.object(scripts, "mark", lambda *_: True):
        yield


@bug
def queries_share_a_now(world: World) -> Iterator[None]:
    """Found by the simulation: a range is claimed again with the time at which another query has merged it."""

    def wanted_nows(store: scripts.Store, p: int, end: int, queries: set[str]) -> dict[str, int]:
        times = [entry for entry in sorted(store.nows[p]) if entry[0] >= end]
        return dict.fromkeys(queries, times[0][1]) if times else {}

    with patch.object(claiming, "_wanted_nows", wanted_nows):
        yield


@bug
def whoever_lost_a_claim_stops_queries(world: World) -> Iterator[None]:
    """Found by the simulation: a range that is deleted after others have read it is missed by a mapper that was paused."""
    real = redis.Exchange.renew
    with patch.object(redis.Exchange, "renew", lambda *arguments: real(*arguments) or True):
        yield


@bug
def cut_logs_are_not_noticed(world: World) -> Iterator[None]:
    """What was counted is not compared with the log as it is now."""

    def replaced(logs: Logs, states: dict[str, QueryState], facts: Facts) -> dict[str, str]:
        for state in states.values():
            state.read_on = set()
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
