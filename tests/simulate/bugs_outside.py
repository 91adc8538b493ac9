"""Planted bugs of outside systems and of what they check: Redis's scripts, ZooKeeper's transactions, files, the topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from unittest.mock import patch

from tests.simulate import claiming, redis, scripts
from tests.simulate.planted import bug
from tests.simulate.world import World


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

    def lanes_of(store: scripts.Store, p: int, rates: dict[str, float]) -> dict:
        riders = real(store, p, rates)
        return {max(riders): [rider for at in riders.values() for rider in at]} if riders else {}

    with patch.object(claiming, "_lanes_of", lanes_of):
        yield


@bug
def push_deletes_the_claim_first(world: World) -> Iterator[None]:
    """Two calls instead of one: a mapper that is killed between them takes the cells with it."""
    real = scripts.push

    def push(store: scripts.Store, generation: int, claim: dict, *rest: object) -> int:
        if claim["id"] in store.claims:
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
def server_is_not_compared(world: World) -> Iterator[None]:
    world.server.same_run_id = True
    yield


@bug
def open_transactions_are_idle(world: World) -> Iterator[None]:
    world.topic.idle_by_stable = True
    yield


@bug
def one_broker_is_believed(world: World) -> Iterator[None]:
    """Found by reading: a leader that was deposed shows an end that stands still, and its partition counts as idle."""
    world.topic.one_is_asked = True
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
def late_trims_lower_positions(world: World) -> Iterator[None]:
    """Found by the simulation: a trim that comes late takes back what was told, and claims stand at their bound."""

    def tell(store: scripts.Store, k: int, name: tuple[int, str], offset: int) -> None:
        store.positions[k][name] = offset

    with patch.object(scripts, "tell", tell):
        yield


def attaching_after(forget: Callable[[scripts.Store, str, int], None]) -> AbstractContextManager:
    """Each attach of (query, incarnation) comes to a store that has forgotten why it would refuse it."""
    real = scripts.attach

    def attach(store: scripts.Store, generation: int, epoch: int, query: str, incarnation: int, state: dict) -> None:
        forget(store, query, incarnation)
        real(store, generation, epoch, query, incarnation, state)

    return patch.object(scripts, "attach", attach)


@bug
def late_attaches_take_a_newer_lane(world: World) -> Iterator[None]:
    def forget(store: scripts.Store, query: str, incarnation: int) -> None:
        newer = [lanes for lanes in store.lanes.values() if query in lanes and lanes[query][0] > incarnation]
        for lanes in newer:
            del lanes[query]
        if newer:  # what is newer came after a detach, which alone would refuse the older one
            store.detached.pop(query, None)

    with attaching_after(forget):
        yield


@bug
def late_attaches_bring_back_what_was_detached(world: World) -> Iterator[None]:
    with attaching_after(lambda store, query, _: store.detached.pop(query, None)):
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
def whoever_lost_a_claim_stops_queries(world: World) -> Iterator[None]:
    """Found by the simulation: a range that is deleted after others have read it is missed by a mapper that was paused."""
    real = redis.Exchange.renew
    with patch.object(redis.Exchange, "renew", lambda *arguments: real(*arguments) or True):
        yield


@bug
def local_files_stay(world: World) -> Iterator[None]:
    with patch.object(world.disk.spill, "delete", lambda file: None):
        yield


@bug
def starts_sweep_no_local_files(world: World) -> Iterator[None]:
    with patch.object(world.disk.spill, "sweep", lambda *_, **__: None):
        yield


@bug
def late_marks_are_believed(world: World) -> Iterator[None]:
    """Found by the simulation: what computing one query over it ends was called what reading it ends, and bad for all."""

    def mark(store: scripts.Store, generation: int, id_: int, epoch: int, stage: str) -> bool:
        if held := store.claims.get(id_):
            held["mark"] = None
        return real(store, generation, id_, epoch, stage)

    real = scripts.mark
    with patch.object(scripts, "mark", mark):
        yield


def choosing(chosen: Callable[[dict | None, list[dict]], dict | None]) -> AbstractContextManager:
    """Each claim is what `chosen` takes of the front and of the lanes behind, in the order of their names."""
    real = claiming._choose

    def choose(store: scripts.Store, *rest: object) -> dict | None:
        kept, found = store.counters["claim"], []
        try:
            for turn in range(6):  # of each three the first is for those behind
                store.counters["claim"] = turn + store.counters["fronts_only"]
                found.append(real(store, *rest))
        finally:
            store.counters["claim"] = kept
        front = next((one for one in found if one and not one["distance"]), None)
        return chosen(front, [one for one in found if one and one["distance"]])

    return patch.object(claiming, "_choose", choose)


@bug
def fronts_wait_for_lanes_behind(world: World) -> Iterator[None]:
    """Found by reading: a query that is resumed beside a backfill gets no claim until that is over."""
    with choosing(lambda front, behind: behind[0] if behind else front):
        yield


@bug
def lanes_behind_wait_for_fronts(world: World) -> Iterator[None]:
    with choosing(lambda front, behind: front or (behind[0] if behind else None)):
        yield
