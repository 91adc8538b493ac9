"""What a mapper reaches outside its process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mapper.fetch import Reader, open_reader
from mapper.letters import LetterBox
from mapper.spill import Spill
from mars.adapters.exchange import Exchange
from mars.adapters.kafka.security import security_of
from mars.adapters.view import instance_id
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.model.plan import Stream

RETRY_S = 1.0  # how long a stream may wait for Kafka at a time: the other streams wait with it


@dataclass(frozen=True)
class Connections:
    """Not fork-safe: to be made in the process that uses them. `open_reader` gives a reader of a stream's topic."""

    zookeeper: ZooKeeper
    exchange: Exchange
    spill: Spill
    letters: LetterBox
    open_reader: Callable[[Stream], Reader]


def connect(config: Config) -> Connections:
    """Connect to what the configuration names. NotReadyError if ZooKeeper does not answer."""
    zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
    security = security_of(config)
    return Connections(
        zookeeper, Exchange(config.redis_address), Spill(Path(config.data) / "spill"),
        LetterBox(config, instance_id(zookeeper)),
        lambda stream: open_reader(config.kafka_address, security, stream.topic, stream.topic_id, RETRY_S))
