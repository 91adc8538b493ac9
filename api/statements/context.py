"""What the API works with: one process's configuration and connections, made once."""

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
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.results.embedded.engine import Engine
from mars.results.partial import PartialPages
from mars.results.snapshot import SnapshotReader
from mars.results.source import ResultSource
from mars.results.tables import ResultTables
from sql.check.condition import result_condition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Context:
    """`config` has the addresses of all services. `spark` may be None: only ad-hoc queries need it. Setting `shutdown`
    ends open streams and waiting requests. Whoever made it calls `close`.

    `catalog` is for who only looks: it waits no longer than a lost connection takes to come back. `definitions` is the
    same for statements that change what exists: it reads nothing old, and waits for a ZooKeeper that is away. So it is with
    `sinks` and `sink_definitions`."""

    config: Config
    spark: SparkSession | None = None
    shutdown: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        # Made here and not lazily, because two requests must not make two sessions.
        self.zk = ZooKeeper(self.config.zookeeper_address, self.config.zookeeper_session_ms)
        self.kafka = KafkaAdmin(self.config.kafka_address, security=security_of(self.config))
        self.ends = EndOffsets(Wire(self.config.kafka_address, security_of(self.config), ASK_S, RETRY_S))
        self.storage = Storage(self.config.state_root)
        self.snapshots = SnapshotReader(self.zk, self.storage)
        self.catalog = CatalogStore(self.zk, GLANCE_S, self.snapshots.cache)
        self.definitions = CatalogStore(self.zk, PATIENCE_S, changed=self.snapshots.cache.forget)
        self.sinks, self.sink_definitions = SinkStore(self.zk, GLANCE_S), SinkStore(self.zk, PATIENCE_S)
        self.secrets = SecretStore(self.zk, self.config, PATIENCE_S)
        self.tables = ResultTables(self.storage)
        self.engine = Engine()
        self.results = ResultSource(self.catalog, self.snapshots, self.tables, PartialPages(), self.ends,
                                    self.config.result_retention_days, result_condition)
        self.progress = ProgressBoard()

    def close(self) -> None:
        """End the connections; open streams end first."""
        self.shutdown.set()
        self.ends.close()
        self.zk.stop()
