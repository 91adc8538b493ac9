"""What the API works with: the configuration and connections of one process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from api.statements.offsets import ASK_S, RETRY_S, EndOffsets
from api.statements.progress import ProgressBoard
from mars.adapters.catalog import CatalogStore
from mars.adapters.changes import GLANCE_S, PATIENCE_S
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.security import security_of
from mars.adapters.kafka.wire import Wire
from mars.adapters.secrets import SecretStore
from mars.adapters.sink_catalog import SinkStore
from mars.adapters.storage import Storage
from mars.adapters.workforce import WorkforceStore
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.results.embedded.engine import Engine
from mars.results.first_pages import FirstPages
from mars.results.partial_pages import PartialPages
from mars.results.snapshot import SnapshotReader
from mars.results.source import ResultSource
from mars.results.tables import ResultTables
from mars.runtime.system import SYSTEM, Runtime
from sql.check.condition import result_condition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Connections:
    """An API's connections to the outside, and its embedded SQL engine. Made once at the start, so that two requests
    never make two sessions."""

    zk: ZooKeeper
    kafka: KafkaAdmin
    ends: EndOffsets
    storage: Storage
    engine: Engine


def connect(config: Config) -> Connections:
    """Connect to what the configuration names. NotReadyError if ZooKeeper does not answer."""
    security = security_of(config)
    return Connections(
        ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms),
        KafkaAdmin(config.kafka_address, security=security),
        EndOffsets(Wire(config.kafka_address, security, ASK_S, RETRY_S, asks_all=True)),
        Storage(config.state_root), Engine())


@dataclass
class Context:
    """`config` has the addresses of all services. `spark` may be None: only ad-hoc queries need it. Setting `shutdown`
    ends open streams and waiting requests. Its creator calls `close`, which also ends its connections.

    `catalog` is for reading: it waits no longer than a lost connection takes to come back. `definitions` is the same for
    statements that change what exists: it reads nothing old, and waits for a ZooKeeper that is away. The same holds for
    `sinks` and `sink_definitions`."""

    config: Config
    connections: Connections
    spark: SparkSession | None = None
    runtime: Runtime = SYSTEM
    shutdown: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        known = self.connections
        self.zk, self.kafka, self.ends, self.storage, self.engine = \
            known.zk, known.kafka, known.ends, known.storage, known.engine
        self.snapshots = SnapshotReader(self.zk, self.storage, self.runtime)
        self.catalog = CatalogStore(self.zk, GLANCE_S, self.snapshots.cache)
        self.definitions = CatalogStore(self.zk, PATIENCE_S, changed=self.snapshots.cache.forget)
        self.sinks, self.sink_definitions = SinkStore(self.zk, GLANCE_S), SinkStore(self.zk, PATIENCE_S)
        self.workforce = WorkforceStore(self.zk, self.config)
        self.secrets = SecretStore(self.zk, self.config, PATIENCE_S)
        self.tables = ResultTables(self.storage, self.runtime)
        partial_pages = PartialPages(self.runtime)
        self.results = ResultSource(self.catalog, self.snapshots, self.tables, partial_pages,
                                    FirstPages(partial_pages, self.runtime), self.ends,
                                    self.config.result_retention_days, result_condition, self.runtime.clock)
        self.progress = ProgressBoard()

    def close(self) -> None:
        """End the connections; open streams end first."""
        self.shutdown.set()
        self.ends.close()
        self.zk.stop()
