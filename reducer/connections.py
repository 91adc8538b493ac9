"""What a reducer reaches outside of its process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from confluent_kafka import Consumer

from mars.adapters.exchange import Exchange
from mars.adapters.kafka.security import Security, librdkafka, security_of
from mars.adapters.kafka.wire import Wire
from mars.adapters.letters import LetterStore
from mars.adapters.storage import Storage
from mars.adapters.view import instance_id
from mars.adapters.wakeups import Wakeups
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.model.plan import Stream

log = logging.getLogger("mars.leader")
ASK_S = 2.0  # so long the leader waits for Kafka at a time: the other streams wait with it

Heard = Callable[[str, int | None], None]


@dataclass(frozen=True)
class Connections:
    """Not fork-safe: made in the process that uses them. `open_group` gives the consumer that tells Kafka how far a stream
    is; `listen` begins to tell what is heard of Redis (see Wakeups)."""

    zookeeper: ZooKeeper
    exchange: Exchange
    storage: Storage
    letters: LetterStore
    wire: Wire
    open_group: Callable[[Stream], Consumer]
    listen: Callable[[Heard], Wakeups]


def connect(config: Config) -> Connections:
    """Connect to what the configuration names. NotReadyError if ZooKeeper does not answer, StateAwayError as
    state_folder."""
    zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
    storage, security = state_folder(config, zookeeper), security_of(config)
    return Connections(
        zookeeper, Exchange(config.redis_address), storage, LetterStore(storage),
        Wire(config.kafka_address, security, timeout_s=ASK_S, retry_s=ASK_S),
        partial(open_group, config.kafka_address, security), partial(Wakeups, config.redis_address))


def state_folder(config: Config, zookeeper: ZooKeeper) -> Storage:
    """The state folder of the instance that ZooKeeper names. StateAwayError if it is not there, as on a host whose mount
    is missing: a worker that started all the same would be given key parts that it cannot read."""
    storage = Storage(config.state_root, instance_id(zookeeper))
    storage.require()
    return storage


def open_group(address: str, security: Security, stream: Stream) -> Consumer:
    """A consumer of the stream's group, which commits offsets and reads nothing."""
    return Consumer({"bootstrap.servers": address, "group.id": f"mars-{stream.name}", "enable.auto.commit": False,
                     "log_level": 0, **librdkafka(security)}, logger=log)
