"""Hunts for what keeps the log in Redis until it is committed. Their bugs leave a range that is nowhere any more."""

from __future__ import annotations

import json
import time

from tests.nemesis.hunts import hunt
from tests.nemesis.oracle import Verdict
from tests.nemesis.proxy import Rule
from tests.nemesis.scene import PATIENCE_S, Scene

HELD_S = 0.5


@hunt
def push_loses_cells_when_killed(scene: Scene) -> Verdict:
    """A mapper is killed at the very moment at which its claim is gone."""
    rest = scene.rest("mapper.aggregated")
    scene.produce()
    pid = rest.reached()
    [claim] = [json.loads(text) for text in scene.redis.hvals(scene.keys.claims)]
    rest.end()
    deadline = time.monotonic() + PATIENCE_S
    while scene.redis.hexists(scene.keys.claims, claim["id"]) and time.monotonic() < deadline:
        pass
    scene.kill(pid)
    return scene.conclude()


@hunt
def scripts_ignore_the_generation(scene: Scene) -> Verdict:
    """Redis is emptied between a reducer's commit and its trim. The SEQs begin anew: the late trim means an old entry, and
    takes a new one."""
    late = scene.other
    rest = scene.rest("reducer.committed", late.pid)
    scene.produce()
    rest.reached()
    scene.has_committed(scene.leading, 1)
    scene.flush()
    scene.produce()
    scene.until(lambda: scene.redis.xlen(scene.keys.log(late.key_part)), "there is an entry of the new generation")
    rest.end()
    return scene.conclude()


@hunt
def unknown_outcome_is_taken_for_done(scene: Scene) -> Verdict:
    """A commit's transaction is lost on its way to ZooKeeper, with the connection."""
    owner = scene.other
    rest = scene.rest("reducer.files_written", owner.pid)
    scene.produce()
    rest.reached()
    scene.cut("zookeeper", owner.pid, Rule(hold_requests=True))
    rest.end()
    time.sleep(HELD_S)
    scene.cut("zookeeper", owner.pid, Rule(reset=True))
    time.sleep(0.1)
    scene.heal("zookeeper")
    scene.produce()
    return scene.conclude()


@hunt
def log_is_trimmed_before_the_commit(scene: Scene) -> Verdict:
    """A reducer dies between the files of its commit and the transaction."""
    rest = scene.rest("reducer.files_written", scene.other.pid)
    scene.produce()
    scene.kill(rest.reached())
    rest.end()
    return scene.conclude()
