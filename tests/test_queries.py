"""Each query file gives its one golden answer: whole, through crashes and restarts, and at any parallelism and batch size.

MARS_UPDATE_GOLDEN=1 writes the golden answers of the first way anew: look at the difference before you commit it.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator

import pytest

from tests.cluster import Cluster
from tests.queries.case import Case, cases, difference

pytestmark = [pytest.mark.services, pytest.mark.e2e, pytest.mark.timeout(300)]

UPDATE = os.environ.get("MARS_UPDATE_GOLDEN") == "1"
LONG_S = 150
QUIET_S = 8


@pytest.fixture(scope="module")
def cluster(stack, tmp_path_factory) -> Iterator[Cluster]:
    """One mapper and one reducer; a test that wants others scales it."""
    made = Cluster(stack, tmp_path_factory.mktemp("cluster"), mappers=1, reducers=1)
    try:
        made.wait_for_workers()
        yield made
    finally:
        made.close()


def test_whole(cluster):
    """One mapper, one reducer, the batches of the defaults."""
    held = cases("whole")
    run(cluster, held)
    if UPDATE:
        time.sleep(QUIET_S)
        for case in held:
            case.golden.write_text(case.answer(cluster))
    check(cluster, held)


def test_other_batches_and_workers(cluster):
    """Three mappers with batches of 25 tuples, two reducers."""
    cluster.scale(3, 2, batch_tuples=25, run_tuples_max=25)
    held = cases("small")
    run(cluster, held)
    check(cluster, held)


def test_crash_and_restart(cluster):
    """Workers die at crash points and at random, and Redis is emptied, while everything is under way."""
    cluster.scale(2, 2, batch_tuples=50, run_tuples_max=100)
    cluster.wait_for_workers()
    points = ("mapper.spilled", "mapper.pushed", "reducer.files_written", "reducer.committed")
    for point in points:
        cluster.arm(point)
    held, rng = cases("crash"), random.Random(1)

    def faults() -> None:
        time.sleep(rng.uniform(0.5, 1.5))
        cluster.flush_redis()
        cluster.kill("reducer", cluster.leader())
        cluster.kill("mapper", 0)

    run(cluster, held, faults)
    check(cluster, held)
    assert [point for point in points if not cluster.died_at(point)] == []


def run(cluster: Cluster, held: list[Case], after_produce: Callable[[], None] = lambda: None) -> None:
    """Create all streams and queries, then produce all, phase by phase."""
    for case in held:
        case.create(cluster)
    phases = {case.query: case.phases() for case in held}
    for number in range(max(map(len, phases.values()))):
        now = [case for case in held if number < len(phases[case.query])]
        cluster.produce(message for case in now for message in phases[case.query][number])
        after_produce()
        for case in now if number + 1 < max(map(len, phases.values())) else held:
            cluster.wait(lambda query=case.query: is_settled(cluster, query), LONG_S, f"{case.query} is not done",
                         [case.query])


def is_settled(cluster: Cluster, query: str) -> bool:
    """Is everything read, and every window closed that the event times of the slowest partition close? Both as of one
    snapshot: a watermark from before the last tuples were read says nothing of them."""
    snapshot = cluster.snapshot(query)
    times = [time for time in snapshot.max_event_times().values() if time is not None]
    delay = snapshot.stream.units(snapshot.query.plan.aggregation.watermark_ms)
    return bool(times) and snapshot.watermark is not None and snapshot.watermark >= min(times) - delay \
        and cluster.has_read_all(query, snapshot)


def check(cluster: Cluster, held: list[Case]) -> None:
    """Every answer is the golden one, now or, where only idleness closes the last windows, a little later; and it is
    still so when all are."""
    for case in held:
        golden = case.golden.read_text()
        deadline = time.monotonic() + 15
        while (wrong := difference(case.answer(cluster), golden)) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not wrong, f"{case.query}: {wrong}\n{cluster.report([case.query])}"
    later = {case.query: wrong for case in held if (wrong := difference(case.answer(cluster), case.golden.read_text()))}
    assert later == {}
    for case in held:
        case.drop(cluster)
