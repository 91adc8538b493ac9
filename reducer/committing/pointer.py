"""Setting a key part's pointer: the moment at which a commit becomes the truth (rule 3)."""

from __future__ import annotations

import logging

from mars.adapters.view import StreamView
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.errors import NotReadyError
from mars.model import names
from mars.model.commits import Pointer

log = logging.getLogger("mars.reducer")
ASK_AGAIN_S = 0.1  # while ZooKeeper does not answer: the session ends in some seconds


def set_pointer(zookeeper: ZooKeeper, view: StreamView, number: int, owner_version: int, pointer_version: int,
                pointer: Pointer) -> bool:
    """One transaction, which is refused if the generation, the assignment, the query set or the pointer has another version
    than the owner knows. After an unknown outcome: sync, read the pointer, compare. NotReadyError if the session may have
    ended before it is known."""
    stream_id = view.stream.id
    path = names.pointer(stream_id, number)
    try:
        return zookeeper.transact(
            ("check", names.generation(stream_id), view.generation_version),
            ("check", names.owner(stream_id, number), owner_version),
            ("check", names.queries(stream_id), view.queries_version),
            ("set", path, pointer.dump(), pointer_version))
    except ZOOKEEPER_AWAY as error:
        log.warning("outcome of a commit is unknown: %r", error)
        return outcome(zookeeper, path, pointer)


def outcome(zookeeper: ZooKeeper, path: str, pointer: Pointer) -> bool:
    """Is the pointer the truth? Asks until ZooKeeper answers or the session may have ended."""
    while not zookeeper.expired:
        try:
            node = zookeeper.get_synced(path)
            return node is not None and Pointer.load(node.data) == pointer
        except ZOOKEEPER_AWAY:
            zookeeper.clock.sleep(ASK_AGAIN_S)
    raise NotReadyError("the ZooKeeper session may have ended", "in a commit of unknown outcome")
