"""Changes in ZooKeeper by compare-and-set, where a connection may be lost under any call.

A process that loses its connection does not know whether its transaction was carried out. A later connection of the
session ends the earlier one, so once ZooKeeper answers again, what it has is the outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError

from mars.adapters.zookeeper import TooLargeError, ZooKeeper
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


def change(zk: ZooKeeper, prepare: Callable[[], Change[T]], patience_s: float) -> T:
    """Prepare a change and make it; do both again if another change came first. The same transaction makes a znode for
    this change, which shows after an unknown outcome whether the change was made. NotReadyError as in `answering`."""
    unknown: tuple[T, str] | None = None

    def attempt() -> tuple[T, str] | None:
        nonlocal unknown
        if unknown is not None and zk.get_synced(unknown[1]) is not None:
            return unknown
        made, operations = prepare()
        unknown = made, f"{names.CHANGES}/{zk.new_id()}"
        if zk.transact(*operations, ("create", unknown[1], b"")):
            return unknown
        unknown = None
        return None

    for _ in range(TRIES):
        done = answering(zk, attempt, patience_s, LOOK_FIRST)
        if done is not None:
            with suppress(*OUTCOME_UNKNOWN):
                zk.transact(("delete", done[1]))
            return done[0]
    raise NotReadyError("the catalog changes too fast", f"other changes came first in all {TRIES} tries", "try again")


def answering(zk: ZooKeeper, call: Callable[[], T], patience_s: float = 0.0, hint: str = LOOK) -> T:
    """The call's result; NotReadyError if ZooKeeper does not answer. For `patience_s` it waits for a lost connection to
    come back, and repeats a call during which the connection was lost."""
    deadline_s = zk.clock.monotonic_s() + patience_s
    while True:
        try:
            if zk.client.connected:
                return call()
            detail = "the connection is interrupted"
        except OUTCOME_UNKNOWN as error:
            detail = type(error).__name__
        except (KazooException, TooLargeError) as error:
            raise NotReadyError("ZooKeeper refused a request", repr(error), "see its log") from error
        if zk.clock.monotonic_s() >= deadline_s:
            raise NotReadyError("ZooKeeper does not answer", detail, hint)
        zk.clock.sleep(POLL_S)
