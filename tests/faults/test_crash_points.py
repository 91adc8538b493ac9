"""A process dies at each named crash point, and the answer stays exact to the row and to the counter."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from mars import faults

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(240)]

# Points that one run of data meets together. A leader's recovery needs an emptied Redis, an election a dead leader.
ROUNDS = (
    ("mapper.claimed", "reducer.received", "leader.attached"),
    ("mapper.fetched", "reducer.merged", "leader.assigned"),
    ("mapper.spilled", "reducer.files_written", "leader.elected"),
    ("mapper.registered", "reducer.committed", "leader.generation_raised"),
    ("mapper.aggregated", "reducer.trimmed", "leader.commits_read"),
    ("mapper.pushed", "leader.installed", "mapper.letters_written"),
)
RECOVERY = {"leader.generation_raised", "leader.commits_read", "leader.installed"}


def test_every_point_has_a_round():
    # Publishers die in tests/publisher, where there is a target.
    assert sorted(itertools.chain(*ROUNDS)) == sorted(point for point in faults.POINTS if not point.startswith("publisher."))


@pytest.mark.parametrize("points", ROUNDS, ids=" ".join)
def test_death_at_a_crash_point(cluster, workload, points):
    """The orders are given before anything exists, so each is taken by the first process that comes there."""
    for point in points:
        cluster.arm(point)
    load = workload()
    load.produce(0.5)
    load.wait_for_commit()
    if RECOVERY.intersection(points):
        cluster.flush_redis()
    if "leader.attached" in points:
        # A stream's first queries may come with its installation; a resumed one is always attached by itself.
        load.pause_and_resume()
    if "leader.elected" in points:
        cluster.kill("reducer", cluster.leader())
    load.produce()
    load.check()
    for point in points:
        cluster.wait(lambda point=point: cluster.died_at(point), 100, f"nobody died at {point}", load.queries)


def test_redis_is_emptied_at_random_moments(cluster, workload):
    """Alone, and at the same time as a mapper, a reducer and the leader die."""
    load, rng = workload(), random.Random(5)
    victims = [None, ("mapper", 0), ("reducer", 1), None]
    for number, victim in enumerate(victims):
        load.produce((number + 1) / (len(victims) + 1))
        time.sleep(rng.uniform(0, 0.6))
        cluster.flush_redis()
        if victim:
            cluster.kill(*victim)
    cluster.kill("reducer", cluster.leader())
    load.produce()
    load.check()
