"""The instance that owns ZooKeeper, the state folder and Redis, and the format in which they are written.

An instance has an id, which is made at its first start and kept in all three. So a wrong address or folder is refused
before anything is read or deleted. The format is one number for everything that is written to ZooKeeper and the state
folder. If you change it so that an older Mars could not read it, raise FORMAT. Every earlier format must stay readable
(tests/formats).
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
import uuid
from dataclasses import dataclass

import orjson

from mars.adapters.changes import PATIENCE_S, answering
from mars.adapters.exchange import Exchange, ExchangeFullError
from mars.adapters.storage import INSTANCE_FILE as FILE
from mars.adapters.storage import Storage
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.errors import ConflictError, NotReadyError
from mars.model import names

log = logging.getLogger("mars.server")
FORMAT = 4
GUARD_S = 0.5


@dataclass(frozen=True)
class Identity:
    """An instance's id, and the format of what it has written."""

    id: str
    format: int = FORMAT

    def dump(self) -> bytes:
        """The form in which it is stored in ZooKeeper and in the state folder."""
        return orjson.dumps(self)

    @staticmethod
    def load(data: bytes | None, place: str) -> Identity | None:
        """The identity stored at a place; None if there is none. ConflictError for a format that this Mars does not
        know."""
        if data is None:
            return None
        try:
            raw = orjson.loads(data)
            found = Identity(str(raw["id"]), int(raw["format"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ConflictError(f"{place} does not read", repr(error), "put it back from a backup") from error
        if found.format > FORMAT:
            raise ConflictError(f"{place} is of a newer Mars", f"written in format {found.format}; this Mars reads up to "
                                f"{FORMAT}", "start the newer Mars again, or restore a backup from before it was started")
        return found


def admit(config: Config, zookeeper: ZooKeeper, storage: Storage) -> Identity:
    """The instance that owns this ZooKeeper and state folder; a new one if both are empty. ConflictError if they belong
    to two instances, or were written by a newer Mars. Waits for a ZooKeeper that is away."""
    ensemble, folder = f"ZooKeeper at {config.zookeeper_address}", f"The state folder {storage.root}"
    known = answering(zookeeper, lambda: zookeeper.get(names.INSTANCE), PATIENCE_S)
    ours = Identity.load(known.data if known else None, ensemble)
    there = Identity.load(storage.get(FILE), f"{folder}: {FILE}")
    if ours and (there is None or there.id != ours.id):
        raise ConflictError("The state folder is not this instance's", f"{ensemble} is of instance {ours.id}, "
                            f"{storage.root} of {there.id if there else 'none'}",
                            "give the state_uri or data folder that was used with it, or another zookeeper_address")
    if ours is None:
        _require_no_commits(config, zookeeper, storage)
    mine = Identity((ours or there or Identity(uuid.uuid4().hex)).id, FORMAT)
    # Write the folder first. Then whatever is in ZooKeeper is in the folder too, even after a kill in between.
    if there != mine:
        storage.put(FILE, mine.dump())
    if ours != mine:
        answering(zookeeper, lambda: _write(zookeeper, mine), PATIENCE_S)
    return mine


def hold_first(exchange: Exchange, config: Config, identity: Identity) -> None:
    """Like `hold`, for an instance that starts. It waits first, so that a running instance can mark a Redis that was just
    emptied."""
    if exchange.instance() is None:
        time.sleep(2 * GUARD_S)
    hold(exchange, config, identity)


def hold(exchange: Exchange, config: Config, identity: Identity) -> None:
    """Mark Redis as this instance's. ConflictError if it is another's."""
    mark = f"{identity.id} {socket.gethostname()}:{config.data}"
    holder = exchange.hold(mark)
    if holder.split()[0] != identity.id:
        host, port = exchange.address.rsplit(":", 1)
        raise ConflictError("Redis belongs to another instance", f"{exchange.address} is in use by instance {holder}",
                            f"give another redis_address; if that instance is gone for good: redis-cli -h {host} -p {port} "
                            f"DEL {names.INSTANCE_KEY}")


def guard(config: Config, identity: Identity, stopping: threading.Event) -> None:
    """Hold Redis until `stopping`, and mark it again if it comes back empty. End this process if another instance has it.
    Waits for a Redis that is away or full."""
    exchange = Exchange(config.redis_address)
    while not stopping.wait(GUARD_S):
        try:
            hold(exchange, config, identity)
        except (NotReadyError, ExchangeFullError) as error:
            log.debug("waiting: %s", error)
        except ConflictError as error:
            log.error("%s", error)
            os.kill(os.getpid(), signal.SIGTERM)
            return


def _write(zookeeper: ZooKeeper, identity: Identity) -> None:
    zookeeper.ensure(names.INSTANCE, identity.dump())
    zookeeper.client.set(names.INSTANCE, identity.dump())


def _require_no_commits(config: Config, zookeeper: ZooKeeper, storage: Storage) -> None:
    """ConflictError if the folder holds streams that this ZooKeeper, which is empty, does not know: a leader would delete
    them."""
    streams = [entry.name for entry in storage.entries("") if entry.name.isdigit()]
    if streams and answering(zookeeper, lambda: zookeeper.get(names.CATALOG), PATIENCE_S) is None:
        raise ConflictError("ZooKeeper is not this instance's", f"{storage.root} holds {len(streams)} streams, and "
                            f"ZooKeeper at {config.zookeeper_address} none",
                            "give the zookeeper_address that was used with this folder, or another data folder or "
                            "state_uri; if that ZooKeeper is gone for good, nobody can use what lies there: delete it")
