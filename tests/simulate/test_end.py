"""Courses of events that seeds hit rarely: a dead session writes, a run ends before its workers have heard all, Redis goes
back while nobody leads."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from kazoo.exceptions import SessionExpiredError

from mars.adapters.storage import CorruptFileError
from mars.model import names
from reducer.job import Reducer
from reducer.keypart import KeyPart
from reducer.leading.lead import Leader
from tests.simulate import faults, patches, zookeeper
from tests.simulate.driver import Driver
from tests.simulate.log import Log
from tests.simulate.run import STEPS_MAX
from tests.simulate.world import PLAN, World


@pytest.fixture
def world() -> Iterator[World]:
    world = World(1, STEPS_MAX)
    with patches.installed(world):
        try:
            world.begin()
            yield world
        finally:
            world.scheduler.close()


def test_a_slow_call_of_a_session_that_ends_meanwhile_is_refused(world: World) -> None:
    """Or an ephemeral znode would stay whose session nobody can end: for ever a leader that does not live."""
    session = zookeeper.ZooKeeper(world.ensemble, 700)
    world.network.rate, world.network.fates = 1.0, {**faults.FATES, "zookeeper": (faults.SLOW,)}
    world.scheduler.after(0.002, lambda: world.ensemble.expire(session.number))
    with pytest.raises(SessionExpiredError):
        session.client.create("/mars/late", b"", ephemeral=True)
    assert "/mars/late" not in world.ensemble.now


def test_a_run_is_not_through_before_owners_know_that_a_query_is_gone(world: World) -> None:
    """Else their pieces of it are taken for such as nothing will ever wake."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    driver.heal()
    assert world.is_followed()
    [query] = world.checker.queries.queries.values()
    world.catalog.drop_query(query.name)
    assert not driver.is_through()
    world.scheduler.sleep(1.0)
    assert driver.is_through()


def test_a_run_is_not_through_before_owners_read_what_they_got_back(world: World) -> None:
    """A key part went to another reducer and came back: what its owner holds from before is thrown away."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    driver.heal()
    assert driver.is_through()
    path = names.owner(world.checker.stream_id, 0)
    session = zookeeper.ZooKeeper(world.ensemble, 700)
    session.client.set(path, world.ensemble.now[path].data)
    assert not driver.is_through()
    world.scheduler.sleep(1.0)
    assert driver.is_through()


def test_whose_records_were_deleted_gets_another_query(world: World) -> None:
    """A run that ended without any query would have shown nothing."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    world.scheduler.sleep(1.0)
    world.server.full = True  # so that nobody reads what comes now
    [first] = world.checker.queries.queries
    driver.burst()
    for log in world.topic.logs:
        log.first = log.stable
    world.scheduler.sleep(1.0)
    driver.heal()
    [second] = world.checker.queries.queries
    assert second != first
    world.checker.finish()
    world.nothing_waits()


def test_a_redis_that_went_back_gives_no_claim_until_somebody_leads(world: World) -> None:
    """Its lanes may be those of an earlier moment, and would give ranges that overlap what is merged."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    world.scheduler.sleep(1.0)
    world.server.keeps = 1.0
    driver.burst()
    world.scheduler.sleep(0.5)
    for name in ("r0", "r1"):
        world.pause(name, 3.0)
    world.server.restart(empty=False)
    driver.burst()
    counters = world.server.stores[world.checker.stream_id].counters
    given, steps = counters["epoch"], world.scheduler.steps
    world.scheduler.sleep(2.0)
    assert given == counters["epoch"] > 0
    assert world.scheduler.steps - steps < 1_000, "refused, mappers run in circles"
    driver.heal()
    world.checker.finish()


def test_a_query_made_while_a_partition_is_added_reads_it_too(world: World) -> None:
    """Its start was looked up before, and it is made when the leader has entered the partition already: for ever it would
    show no window, as the partition has no event time for it."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    world.scheduler.sleep(0.5)
    driver.add_partition()
    world.scheduler.sleep(2.0)
    assert world.checker.queries.partitions == (0, 1, 2)
    made = world.catalog.create_query("late", PLAN, {0: 0, 1: 0})
    driver.heal()
    assert world.checker.queries.queries[made.id].start == {0: 0, 1: 0, 2: 0}
    world.checker.finish()
    world.nothing_waits()


def test_key_parts_of_a_stream_that_is_not_recovered_are_read_now_and_then(world: World, monkeypatch) -> None:
    """Each try costs the reading of a commit, in the thread that serves all streams. Once it is recovered they go on."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    world.scheduler.sleep(0.5)
    load, loads = KeyPart.load, []
    monkeypatch.setattr(KeyPart, "load", lambda *what: loads.append(world.scheduler.now) or load(*what))
    damaged = CorruptFileError("a commit does not read", "")
    with monkeypatch.context() as without_recovery:
        without_recovery.setattr(Leader, "_recover_if_needed", Mock(side_effect=damaged))
        world.server.restart(empty=True)
        driver.burst()
        world.scheduler.sleep(10.0)
    assert 4 <= len(loads) <= 40
    recovered = world.scheduler.now
    world.scheduler.sleep(1.5)
    held = [worker.holdings.parts for worker in world.workers.values() if isinstance(worker, Reducer)]
    assert {k for parts in held for _, k in parts} == {0, 1}
    assert max(loads) < recovered + 1.0
    driver.heal()
    world.checker.finish()


@pytest.mark.parametrize("word", ["", "pause", "drop_query"])
def test_a_query_may_know_a_partition_before_the_leader_does(world: World, word: str) -> None:
    """It was added and the query made while Redis was away, so that the leader looked at no topic; then Redis is back, and
    the stream is recovered. Perhaps the query's user thinks better of it meanwhile."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    world.scheduler.sleep(0.5)
    world.topic.logs.append(type(world.topic.logs[0])())
    made = world.catalog.create_query("early", PLAN, {0: 0, 1: 0, 2: 0})
    if word:
        getattr(world.catalog, word)("early")
    world.server.restart(empty=True)
    world.scheduler.sleep(0.5)
    world.tick()
    driver.heal()
    assert world.checker.queries.partitions == (0, 1, 2)
    assert (made.id in world.checker.queries.queries) == (word != "drop_query")
    world.checker.finish()
    world.nothing_waits()


@pytest.mark.parametrize("regrows", [False, True])
def test_who_has_counted_what_a_log_has_lost_is_stopped(world: World, regrows: bool) -> None:
    """Also if the log is as long again, with other records."""
    driver = Driver(world)
    driver.new_query("EARLIEST")
    driver.burst()
    world.scheduler.sleep(1.0)
    log = world.topic.logs[0]
    log.cut(len(log.records) - 1)
    if regrows:
        driver.burst()
    world.scheduler.sleep(1.5)
    [query] = world.checker.queries.queries.values()
    assert query.state == "LOG_TRUNCATED"
    driver.heal()
    world.checker.finish()
    world.nothing_waits()


def test_another_leader_with_the_same_log_and_a_cut_of_what_nobody_has_read_stop_nobody(world: World) -> None:
    driver = Driver(world)
    driver.new_query("EARLIEST")
    driver.burst()
    world.scheduler.sleep(1.0)
    for log in world.topic.logs:
        log.cut(len(log.records))
    world.server.full = True  # so that nobody reads what comes now
    driver.burst()
    for log in world.topic.logs:
        log.cut(log.read_to)
    driver.heal()
    [query] = world.checker.queries.queries.values()
    assert (query.state, query.incarnation) == ("RUNNING", 1)
    world.checker.finish()


def test_a_log_that_is_cut_below_a_start_stops_the_query_with_a_cause(world: World) -> None:
    """Nobody has read it for the query, but whoever made the query has seen where it ended."""
    driver = Driver(world)
    for log in world.topic.logs:
        while len(log.records) < 4:
            driver.burst()
    driver.new_query("LATEST")
    for log in world.topic.logs:
        log.cut(1)
    world.scheduler.sleep(5.0)
    [query] = world.checker.queries.queries.values()
    assert query.state == "LOG_TRUNCATED"
    assert world.checker.broken is None


def test_a_log_tells_where_epochs_end() -> None:
    """As a broker does: of one that it does not know any more, where the first that it knows begins."""
    log = Log()
    log.records += [None] * 4
    log.cut(4)
    log.records += [None] * 4
    log.cut(6)
    assert [log.end_of(epoch) for epoch in (0, 1, 2, 3)] == [(0, 4), (1, 6), (2, 6), (-1, -1)]
    assert [log.epoch_before(offset) for offset in (1, 4, 5, 6)] == [0, 0, 1, 1]
    log.cut(2)
    assert [log.end_of(epoch) for epoch in (0, 1, 2, 3)] == [(0, 2), (0, 2), (0, 2), (3, 2)]
    log.cut(0)
    assert [log.end_of(epoch) for epoch in (0, 3, 4)] == [(0, 0), (3, 0), (4, 0)]
