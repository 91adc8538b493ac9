"""Workers that sleep longer than their lease or session and then wake up, and what is counted when work is done twice."""

from __future__ import annotations

import json
import time

import pytest

from mars.model import names
from mars.model.names import Keys

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(240)]


def owner(cluster, load, key_part: int) -> tuple[int, int]:
    """(reducer slot, assignment epoch) of a key part."""
    stream = cluster.context.catalog.stream(load.name)
    return cluster.wait(lambda: _assigned(cluster.context.zk.get(names.owner(stream.id, key_part))), 100, "no owner")


def _assigned(node) -> tuple[int, int] | None:
    return (int(json.loads(node.data)["id"].split("-")[0]), node.version) if node and node.data else None


def owner_of_the_first_alone(cluster, load) -> int | None:
    """Who owns key part 0, if another owns key part 1."""
    first, second = (owner(cluster, load, part)[0] for part in range(2))
    return first if first != second else None


def position_in_part(cluster, load, key_part: int) -> int:
    """How many offsets of the first query's partitions a key part has committed."""
    part = cluster.snapshot(load.queries[0]).parts[key_part]
    return sum(part.positions.values()) if part else 0


def test_a_mapper_sleeps_longer_than_its_lease(cluster, workload):
    """Its claim is given to another with a higher epoch; what it pushes when it wakes up is refused."""
    load = workload()
    stream_id = cluster.context.catalog.stream(load.name).id
    keys = Keys(stream_id)
    load.produce(0.2)
    load.wait_for_commit()  # so the workers are there and awake

    def holds_a_claim() -> bool:
        claims = (json.loads(claim) for claim in cluster.redis.hvals(keys.claims))
        return any(claim["worker"].startswith("0-") for claim in claims)

    # A claim is held for milliseconds: catch one of many small ones.
    for share in range(21, 95):
        load.produce(share / 100)
        for _ in range(100):
            with cluster.paused("mapper", 0):
                if holds_a_claim():
                    time.sleep(2.5 * cluster.config.lease_ms / 1000)
                    break
        else:
            continue
        break
    else:
        pytest.fail("the mapper was never caught with a claim")
    counters = cluster.redis.hgetall(keys.counters)
    assert int(counters[b"epoch"]) > int(counters[b"claim"]), "no claim was given a second time"
    load.produce()
    load.check()


def test_a_reducer_sleeps_longer_than_its_session(cluster, workload):
    """Its key parts get another owner; it can commit nothing when it wakes up. First a follower, then the leader."""
    load = workload()
    load.produce(0.3)
    load.wait_for_commit()
    for share, of_leader in ((0.6, False), (1.0, True)):
        cluster.wait(lambda: owner_of_the_first_alone(cluster, load), 100, "one reducer owns both key parts")
        slot = cluster.leader() if of_leader else 1 - cluster.leader()
        part = 0 if owner(cluster, load, 0)[0] == slot else 1
        with cluster.paused("reducer", slot):
            load.produce(share)
            cluster.wait(lambda part=part, slot=slot: owner(cluster, load, part)[0] != slot, 100,
                         "the sleeper's key part was not given to another", load.queries)
    load.check()


def test_work_done_twice_is_skipped_and_counted(cluster, workload):
    """One key part commits while the other's owner sleeps; then Redis is emptied, so the range comes again for both."""
    load = workload()
    load.produce(0.2)
    load.wait_for_commit()
    slow = cluster.wait(lambda: owner_of_the_first_alone(cluster, load), 100, "one reducer owns both key parts")
    with cluster.paused("reducer", slow):
        load.produce(0.6)
        cluster.wait(lambda: position_in_part(cluster, load, 1) > position_in_part(cluster, load, 0) + 2_000, 100,
                     "one key part is not ahead of the other", load.queries)
        cluster.flush_redis()
        cluster.kill("reducer", slow)
    load.produce()
    assert load.check() > 0
