"""Changes in ZooKeeper by compare-and-set, where a connection may be lost under any call.

Whoever loses a connection does not know whether its transaction was made. A later connection of the session ends the
earlier one, so once ZooKeeper answers again what it has is what came of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError

from mars.adapters.zookeeper import ZooKeeper
from mars.errors import NotReadyError
from mars.model import names

T = TypeVar("T")
Change = tuple[T, list[tuple]]  # what is made, and the transaction that makes it
OUTCOME_UNKNOWN = (ConnectionLoss, ConnectionClosedError, SessionExpiredError, KazooTimeoutError)
PATIENCE_S = 15.0  # longer than a session and the start of a ZooKeeper that was killed
GLANCE_S, POLL_S = 1.0, 0.1  # longer than a connection that was lost takes to come back
TRIES = 20
LOOK = "is it running? see `mars status`, and ask again"
LOOK_FIRST = "is it running? see `mars status`; the change may have been made nevertheless, so look first"


def change(zk: ZooKeeper, prepare: Callable[[], Change[T]], is_made: Callable[[T], bool], patience_s: float) -> T:
    """Prepare a change and make it, again if somebody else was quicker. Where its outcome is unknown, `is_made` tells from
    what ZooKeeper then has whether it was made. NotReadyError as in `answering`."""
    unknown: T | None = None

    def attempt() -> T | None:
        nonlocal unknown
        if unknown is not None:
            zk.get_synced(names.CATALOG)
            if is_made(unknown):
                return unknown
        made, operations = prepare()
        unknown = made
        done = zk.transact(*operations)
        unknown = None
        return made if done else None

    for _ in range(TRIES):
        done = answering(zk, attempt, patience_s, LOOK_FIRST)
        if done is not None:
            return done
    raise NotReadyError("the catalog changes too fast", f"other changes came first in all {TRIES} tries", "try again")


def answering(zk: ZooKeeper, call: Callable[[], T], patience_s: float = 0.0, hint: str = LOOK) -> T:
    """The call's result; NotReadyError if ZooKeeper does not answer. For `patience_s` it waits for a connection that is
    gone, and makes the call again when one was lost under it."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            if zk.client.connected:
                return call()
            detail = "the connection is interrupted"
        except OUTCOME_UNKNOWN as error:
            detail = type(error).__name__
        except KazooException as error:
            raise NotReadyError("ZooKeeper refused a request", repr(error), "see its log") from error
        if time.monotonic() >= deadline:
            raise NotReadyError("ZooKeeper does not answer", detail, hint)
        time.sleep(POLL_S)
