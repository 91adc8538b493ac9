"""Hunts for what keeps a window open until all of it is there, and hidden until all of it is closed."""

from __future__ import annotations

import time

from tests.nemesis.hunts import hunt, needs
from tests.nemesis.oracle import Verdict
from tests.nemesis.proxy import Rule
from tests.nemesis.scene import Scene

LATER_MS = 10_000  # event time that closes the first window
IDLE_S, CLOSES_S, SHOWN_S = 1.5, 1.5, 2.5


@needs(partitions=2, idle="IDLE 1 s")
def windows_close_without_a_check(scene: Scene) -> Verdict:
    """After a silence tuples come to both partitions, first to the second one, whose mapper rests; and the leader, who would
    see it, waits for the broker. Without the second partition, which was idle, the first one closes the window."""
    for p in range(2):
        scene.produce(partition=p)
    for owner in (scene.leading, scene.other):
        for p in range(2):
            scene.has_committed(owner, 1, p)
    time.sleep(IDLE_S + 1.0)  # and for the leader to say so
    rest = scene.rest("mapper.claimed")
    scene.cut("kafka", scene.leading.pid, Rule(hold_answers=True))
    scene.produce(at_ms=200, partition=1)
    rest.reached()
    scene.produce(at_ms=LATER_MS)
    scene.has_committed(scene.leading, 2)
    time.sleep(CLOSES_S / 2)
    scene.heal("kafka")
    rest.end()
    return scene.conclude()


@hunt
def watermark_passes_a_gap(scene: Scene) -> Verdict:
    """A mapper rests with the first range of a partition, while another one brings the second, which is later by more than a
    window."""
    rest = scene.rest("mapper.claimed")
    scene.produce()
    rest.reached()
    scene.produce(at_ms=LATER_MS)
    for owner in (scene.leading, scene.other):
        scene.until(lambda owner=owner: scene.redis.xlen(scene.keys.log(owner.key_part)), "the second range waits")
    time.sleep(CLOSES_S)
    rest.end()
    return scene.conclude()


@hunt
def windows_show_when_one_key_part_has_closed_them(scene: Scene) -> Verdict:
    """One reducer rests before the commit that closes a window, which the other one has committed: a reader looks."""
    scene.produce()
    scene.until(lambda: scene.instance.api.get(f"/v1/queries/{scene.query}")["watermark"], "both have a first watermark")
    rest = scene.rest("reducer.files_written", scene.other.pid)
    scene.produce(at_ms=LATER_MS)
    rest.reached()
    scene.has_committed(scene.leading, 2)
    time.sleep(SHOWN_S)
    rest.end()
    scene.has_committed(scene.other, 2)
    time.sleep(SHOWN_S)  # for the same reader to look again
    return scene.conclude()
