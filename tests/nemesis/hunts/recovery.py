"""Hunts for what makes a recovery exact: one key part is ahead of the other when Redis forgets."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.nemesis.hunts import hunt
from tests.nemesis.oracle import Verdict
from tests.nemesis.proxy import Rule
from tests.nemesis.rest import Rest
from tests.nemesis.scene import Scene

CUT_S = 1.0
LOOKS_S = 1.0  # until each mapper knows of a range: one that waits elsewhere learns of it in its second look (0.4 s)
IS_AHEAD = "k = 'ahead'"


@hunt
def claims_cross_stops(scene: Scene) -> Verdict:
    """One key part has committed two ranges, of which the first held what was future; the other none. Claimed as one range
    again, it gets the time of the second: what the one counted as future is a row of the other."""
    rest = _lag_behind(scene, scene.produce_ahead)
    scene.was_future(scene.other.key_part)
    scene.wait_until_past()
    scene.produce()
    scene.has_committed(scene.leading, 2)
    time.sleep(LOOKS_S)
    scene.flush()
    rest.end()
    return scene.conclude(IS_AHEAD)


@hunt
def positions_are_not_compared(scene: Scene) -> Verdict:
    """Redis is emptied when one key part has committed a range and the other has not: it comes to both again."""
    rest = _lag_behind(scene, scene.produce)
    scene.flush()
    rest.end()
    return scene.conclude()


@hunt
def run_id_is_not_compared(scene: Scene) -> Verdict:
    """The same with a Redis that comes back as what it was before the range was claimed: it does not know at what time, so
    what one key part counted as future is a row of the other."""
    scene.produce()
    for owner in (scene.leading, scene.other):
        scene.has_committed(owner, 1)
    time.sleep(0.5)  # for what is told to Redis afterwards
    size = scene.instance.redis.log_tail().stat().st_size
    rest = _lag_behind(scene, scene.produce_ahead, 2)
    scene.was_future(scene.other.key_part)
    scene.wait_until_past()
    scene.instance.redis.set_back(size)
    scene.kill(scene.other.pid)
    rest.end()
    return scene.conclude(IS_AHEAD)


@hunt
def uncommitted_state_survives_a_new_generation(scene: Scene) -> Verdict:
    """A reducer has merged what was future, and can neither commit nor receive while Redis is emptied. The other one merges
    the range as it was claimed again."""
    kept = scene.other
    merged, received = _both_hold_what_was_future(scene, "reducer.merged")
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
    """Redis is emptied, and one key part commits what was future between the two steps of the recovery. The range is claimed
    again at another time, which the other key part takes."""
    written, received = _both_hold_what_was_future(scene, "reducer.files_written")
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


def _both_hold_what_was_future(scene: Scene, point: str) -> tuple[Rest, Rest]:
    """Produce what is future; the other reducer rests with it at `point`, the leading one where it has received it. It is no
    longer future when this returns."""
    held, received = scene.rest(point, scene.other.pid), scene.rest("reducer.received", scene.leading.pid)
    scene.produce_ahead()
    held.reached()
    received.reached()
    scene.was_future(scene.other.key_part)
    scene.wait_until_past()
    return held, received


def _lag_behind(scene: Scene, produce: Callable[[], object], position: int = 1) -> Rest:
    """Produce what the leading reducer commits, while the other one rests with it in its hands."""
    rest = scene.rest("reducer.received", scene.other.pid)
    produce()
    rest.reached()
    scene.has_committed(scene.leading, position)
    return rest
