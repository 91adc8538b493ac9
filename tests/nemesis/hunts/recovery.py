"""Hunts for what makes a recovery exact: one key part is ahead of the other when Redis forgets.

What is read again is cut into other ranges than before, as more has been written by then: a key part that holds more than
the recovery took it for meets a range that begins below its position and ends above it.
"""

from __future__ import annotations

import time

from tests.nemesis.hunts import hunt
from tests.nemesis.oracle import Verdict
from tests.nemesis.proxy import Rule
from tests.nemesis.rest import Rest
from tests.nemesis.scene import Scene

CUT_S = 1.0
LOOKS_S = 1.0  # until each mapper knows of a range: one that waits elsewhere learns of it in its second look (0.4 s)


@hunt
def claims_cross_stops(scene: Scene) -> Verdict:
    """One key part has committed two ranges, the other none, and there is a third. Claimed as one range again, they overlap
    what the one has committed."""
    rest = _lag_behind(scene)
    scene.produce()
    scene.has_committed(scene.leading, 2)
    third = scene.rest("reducer.received", scene.leading.pid)
    scene.produce()
    third.reached()
    time.sleep(LOOKS_S)
    scene.flush()
    rest.end()
    third.end()
    return scene.conclude()


@hunt
def positions_are_not_compared(scene: Scene) -> Verdict:
    """Redis is emptied when one key part has committed a range and the other has not: it comes to both again."""
    rest = _lag_behind(scene)
    scene.flush()
    rest.end()
    return scene.conclude()


@hunt
def server_is_not_compared(scene: Scene) -> Verdict:
    """Redis comes back as what it was before the second range was claimed, and there is a third: both are claimed as one,
    which overlaps what both key parts have committed. One of them has a new owner, that reads the log from its begin."""
    scene.produce()
    owners = scene.leading, scene.other
    for owner in owners:
        scene.has_committed(owner, 1)
    time.sleep(0.5)  # for what is told to Redis afterwards
    size = scene.instance.redis.log_tail().stat().st_size
    scene.produce()
    for owner in owners:
        scene.has_committed(owner, 2)
    rests = [scene.rest("reducer.received", owner.pid) for owner in owners]
    scene.produce()
    for rest in rests:
        rest.reached()
    time.sleep(LOOKS_S)
    scene.instance.redis.set_back(size)
    scene.kill(scene.other.pid)
    for rest in rests:
        rest.end()
    return scene.conclude()


@hunt
def uncommitted_state_survives_a_new_generation(scene: Scene) -> Verdict:
    """A reducer has merged a range, and can neither commit nor receive while Redis is emptied. With the next one it comes
    again as one range."""
    kept = scene.other
    merged, received = _both_hold(scene, "reducer.merged")
    for service in ("zookeeper", "redis"):
        scene.cut(service, kept.pid, Rule(reset=True))
    time.sleep(CUT_S / 2)
    scene.flush()
    merged.end()
    time.sleep(CUT_S / 2)
    scene.heal("zookeeper")
    time.sleep(CUT_S)  # it sees the new generation before it reaches Redis again
    scene.heal("redis")
    received.end()
    return scene.conclude()


@hunt
def commits_are_read_before_the_generation_is_raised(scene: Scene) -> Verdict:
    """Redis is emptied, and one key part commits a range between the two steps of the recovery. With the next one it comes
    again as one range."""
    written, received = _both_hold(scene, "reducer.files_written")
    first = scene.rest("leader.manifests_read")
    time.sleep(1.5)  # a leader that reads the commits in each of its rounds comes there before anything is lost
    scene.redis.flushall()
    if not first.order.exists():
        again = scene.rest("leader.manifests_read")
        first.end()
        first = again
    first.reached()
    written.end()
    time.sleep(CUT_S)  # for the commit, if it is one
    first.end()
    scene.until(scene.generation, "the stream has been recovered")
    received.end()
    return scene.conclude()


def _both_hold(scene: Scene, point: str) -> tuple[Rest, Rest]:
    """Produce two ranges. The other reducer rests with the first at `point`, the leading one where it has received it."""
    held, received = scene.rest(point, scene.other.pid), scene.rest("reducer.received", scene.leading.pid)
    scene.produce()
    held.reached()
    received.reached()
    scene.produce()
    time.sleep(LOOKS_S)
    return held, received


def _lag_behind(scene: Scene) -> Rest:
    """Produce what the leading reducer commits, while the other one rests with it in its hands."""
    rest = scene.rest("reducer.received", scene.other.pid)
    scene.produce()
    rest.reached()
    scene.has_committed(scene.leading, 1)
    return rest
