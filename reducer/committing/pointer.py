"""Setting a key part's pointer: the moment at which a commit becomes the truth (rule 3)."""

from __future__ import annotations

import logging

from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.errors import NotReadyError
from mars.model.commits import Pointer
from reducer.committing.assignment import Assignment

log = logging.getLogger("mars.reducer")
ASK_AGAIN_S = 0.1  # while ZooKeeper does not answer: the session ends in some seconds


def set_pointer(zookeeper: ZooKeeper, assignment: Assignment, pointer: Pointer) -> Assignment | None:
    """The assignment with this pointer, set in one transaction; None if that was refused, as the generation, the assignment,
    the query set or the pointer has another version than the owner knows. After an unknown outcome: sync, read the pointer,
    compare. NotReadyError if the session may have ended before it is known."""
    try:
        done = zookeeper.transact(*assignment.to_commit(pointer))
    except ZOOKEEPER_AWAY as error:
        log.warning("outcome of a commit is unknown: %r", error)
        done = outcome(zookeeper, assignment, pointer)
    return assignment.committed(pointer) if done else None


def outcome(zookeeper: ZooKeeper, assignment: Assignment, pointer: Pointer) -> bool:
    """Is the pointer the truth? Asks until ZooKeeper answers or the session may have ended."""
    while not zookeeper.expired:
        try:
            found = assignment.read_again(zookeeper)
            return found is not None and found.pointer == pointer
        except ZOOKEEPER_AWAY:
            zookeeper.clock.sleep(ASK_AGAIN_S)
    raise NotReadyError("the ZooKeeper session may have ended", "in a commit of unknown outcome")
