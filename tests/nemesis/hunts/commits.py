"""Hunts for what fences a commit: a reducer rests between its files and the transaction, while others go on."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.nemesis.hunts import hunt
from tests.nemesis.oracle import Verdict
from tests.nemesis.proxy import Rule
from tests.nemesis.scene import Scene

SESSION_ENDS_S = 20.0
LOOKS_S = 1.0  # until a range that was just written is claimed


@hunt
def commit_ignores_generation(scene: Scene) -> Verdict:
    """Redis is emptied meanwhile. What the late commit holds is claimed again, as one range with what came after it."""
    return _commit_late(scene, scene.flush)


@hunt
def commit_ignores_query_set(scene: Scene) -> Verdict:
    """The query is paused and resumed meanwhile. Its new incarnation begins at the last commit, and claims what the late
    one holds of the old incarnation again, as one range with what came after it."""
    def pause_and_resume() -> None:
        for verb in ("PAUSE", "RESUME"):
            scene.instance.api.sql(f"{verb} QUERY {scene.query}")

    return _commit_late(scene, pause_and_resume)


@hunt
def commit_ignores_owner_and_pointer(scene: Scene) -> Verdict:
    """The session of the resting reducer ends, and a new one begins before it goes on. Its key part has meanwhile two
    newer commits of another owner: the late one takes them back."""
    zombie = scene.other
    rest = scene.rest("reducer.files_written", zombie.pid)
    scene.produce()
    rest.reached()
    scene.cut("zookeeper", zombie.pid, Rule(reset=True))
    scene.until(lambda: scene._owner(zombie.key_part) == scene.leading.pid, "the key part has a new owner", SESSION_ENDS_S)
    scene.has_committed(zombie, 1)
    scene.produce()
    scene.has_committed(zombie, 2)
    scene.until(lambda: scene.readers.reads and scene.position(scene.leading.key_part) == 2, "all is committed")
    time.sleep(1.0)  # for the readers to see it
    scene.heal("zookeeper")
    time.sleep(2.0)  # for its client to open a new session
    rest.end()
    time.sleep(1.5)  # for the readers, again
    return scene.conclude()


def _commit_late(scene: Scene, fence: Callable[[], object]) -> Verdict:
    """The leading reducer rests before the transaction; the other one, before it merges the same range, and dies."""
    late, killed = scene.leading, scene.other
    rests = scene.rest("reducer.files_written", late.pid), scene.rest("reducer.received", killed.pid)
    scene.produce()
    for rest in rests:
        rest.reached()
    scene.produce()
    time.sleep(LOOKS_S)
    fence()
    scene.replace(killed.pid)
    scene.has_committed(killed, 2)  # by its next owner, from the range as it was claimed again
    rests[0].end()
    return scene.conclude()
