"""ZooKeeper through kazoo: a client that knows when it must not write, and the few calls that Mars needs."""

from __future__ import annotations

import contextlib
import logging
import threading
from dataclasses import dataclass

import orjson
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import Callback
from kazoo.retry import KazooRetry

from mars.errors import NotReadyError
from mars.runtime.system import SYSTEM, Clock

logging.getLogger("kazoo").setLevel(logging.CRITICAL)


# In a refused transaction the operations before the failed one report RolledBackError, those after it
# RuntimeInconsistency.
REFUSED = (BadVersionError, NoNodeError, NodeExistsError, NotEmptyError, RolledBackError, RuntimeInconsistency)
LARGE_BYTES = 1_000_000  # ZooKeeper ends the connection of a request above its jute.maxbuffer, 1 MB if it is not set
LARGE_AGAIN_S = 60.0  # then it is tried again: somebody may have raised the limit
SETTLE_S = 5.0  # watchers are told within milliseconds, unless one of them hangs


class TooLargeError(NotReadyError):
    """A request that is too large for ZooKeeper."""

    def __init__(self, size: int) -> None:
        super().__init__("ZooKeeper does not take what is to be written", f"{size:,} bytes at once end the connection",
                         "set jute.maxbuffer of the ZooKeeper servers higher (-Djute.maxbuffer=4194304), or drop queries or "
                         "streams")


ZOOKEEPER_AWAY = (KazooException, KazooTimeoutError, TooLargeError)


@dataclass(frozen=True)
class Znode:
    """A znode's data and version."""

    data: bytes
    version: int


class ZooKeeper:
    """One session. `usable` is False from SUSPENDED on; `expired` is True once the session may have ended by our own
    monotonic clock; that is earlier than the server could tell us. Whoever sees `expired` must end its process. `clock`
    is that of the process: whoever is handed the session alone takes it from here.

    Not fork-safe: make it inside the worker process.
    """

    def __init__(self, hosts: str, session_ms: int = 6_000, clock: Clock = SYSTEM.clock) -> None:
        self.session_ms = session_ms
        self.clock, self.new_id = clock, SYSTEM.new_id
        self.client = KazooClient(hosts, timeout=session_ms / 1000, logger=logging.getLogger("kazoo"),
                                  connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=1.0),
                                  command_retry=KazooRetry(max_tries=3, delay=0.1, max_delay=1.0))
        self._suspended_at: float | None = None
        self._lost = threading.Event()
        self._too_large, self._too_large_until = 0, 0.0
        self.client.add_listener(self._listen)
        try:
            self.client.start(timeout=15)
        except KazooTimeoutError as error:
            self.client.close()
            raise NotReadyError("ZooKeeper does not answer", f"at {hosts}", "is it running? see `mars status`") from error

    def _listen(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._suspended_at = None
        elif state == KazooState.SUSPENDED:
            self._suspended_at = self.clock.monotonic_s()
        else:
            self._lost.set()

    @property
    def usable(self) -> bool:
        """May a commit or an assignment be tried now?"""
        return self._suspended_at is None and not self._lost.is_set()

    @property
    def expired(self) -> bool:
        """May the session, and with it every ephemeral znode, be gone?"""
        since = self._suspended_at
        return self._lost.is_set() or (since is not None and self.clock.monotonic_s() - since > self.session_ms / 1000)

    def get(self, path: str) -> Znode | None:
        """Data and version, or None if there is no such znode."""
        try:
            data, stat = self.client.get(path)
        except NoNodeError:
            return None
        return Znode(data, stat.version)

    def get_synced(self, path: str) -> Znode | None:
        """Like `get`, and not older than anything that was written before this call."""
        self.client.sync(path)
        return self.get(path)

    def children(self, path: str) -> list[str]:
        """Names of the children, sorted; empty if there is no such znode."""
        try:
            return sorted(self.client.get_children(path))
        except NoNodeError:
            return []

    def documents(self, path: str) -> list[dict]:
        """The JSON that the children have, by their names."""
        found = [self.get(f"{path}/{child}") for child in self.children(path)]
        return [orjson.loads(znode.data) for znode in found if znode and znode.data]

    def ensure(self, path: str, data: bytes = b"") -> None:
        """Make the znode, with its parents, unless it exists."""
        with contextlib.suppress(NodeExistsError):
            self.client.create(path, data, makepath=True)

    def transact(self, *operations: tuple) -> bool:
        """All operations or none; True if they were applied. Each is ('check', path, version), ('set', path, data,
        version), ('create', path, data), ('delete', path). False means that a check failed: nothing was written. A
        connection error (kazoo's) leaves the outcome unknown. TooLargeError for a request that is too large: it would end
        the session's connection each time."""
        size = sum(len(part) for operation in operations for part in operation if isinstance(part, (str, bytes)))
        if 0 < self._too_large <= size and self.clock.monotonic_s() < self._too_large_until:
            raise TooLargeError(size)
        transaction = self.client.transaction()
        for kind, path, *rest in operations:
            {"check": transaction.check, "set": transaction.set_data, "create": transaction.create,
             "delete": transaction.delete}[kind](path, *rest)
        try:
            results = transaction.commit()
        except ConnectionLoss as error:
            if size < LARGE_BYTES:
                raise
            self._too_large, self._too_large_until = size, self.clock.monotonic_s() + LARGE_AGAIN_S
            raise TooLargeError(size) from error
        failures = [r for r in results if isinstance(r, Exception)]
        for failure in failures:
            if not isinstance(failure, REFUSED):
                raise failure
        return not failures

    def settle(self) -> None:
        """Return once watchers have been told of all changes before what has been read so far: kazoo tells them in a
        thread of its own, so an answer may come before the notice. KazooTimeoutError if that takes too long."""
        told = threading.Event()
        self.client.handler.dispatch_callback(Callback("settle", told.set, ()))
        if not told.wait(SETTLE_S):
            raise KazooTimeoutError("watchers are not told")

    def stop(self) -> None:
        """End the session; its ephemeral znodes go with it."""
        self.client.stop()
        self.client.close()
