"""Mars on a standalone Spark cluster of three nodes.

| setting | value | why |
| --- | --- | --- |
| mappers, reducers, key_parts | 3 each | two workers a node: Spark's slots are full, so each cut takes two workers |
| lease_ms, zookeeper_session_ms | the defaults, 10 s and 6 s | how soon a silent worker's work goes to others |
| Kafka, Redis, ZooKeeper, Spark's master, Mars's server | on no node | as all systems have theirs |
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from benchmarks.clusters.node import Node
from benchmarks.clusters.standalone import Standalone
from benchmarks.contenders.mars import Mars, committed, create
from benchmarks.contenders.program import EXACTLY
from benchmarks.contenders.protocol import Job
from mars.config import Config


class MarsCluster:
    """One instance on nodes of its own."""

    name, title, guarantee = "mars", "Mars", EXACTLY
    rate_max: int | None = None

    def __init__(self, nodes: int = 3, settings: Mapping[str, object] | None = None) -> None:
        self.count, self.settings = nodes, dict(settings or {})
        self.spark: Standalone | None = None
        self.mars: Mars | None = None

    def prepare(self, config: Config) -> None:
        """Nothing to fetch: `make setup` did."""
        self.config = config

    def launch(self, folder: Path, kafka: str, way: str) -> None:
        """Start nodes and instance."""
        self.spark = Standalone(self.config, folder, way, self.count, cores=2)
        self.spark.wait()
        workers = dict.fromkeys(("mappers", "reducers", "key_parts"), self.count)
        self.mars = Mars({**workers, **self.settings, "spark_master": self.spark.url})
        self.mars.start(folder, kafka)

    @property
    def nodes(self) -> list[Node]:
        """The nodes that can be cut off."""
        assert self.spark is not None, "it was not launched"
        return self.spark.nodes

    def running(self) -> Mars:
        """The instance; it has been launched."""
        assert self.mars is not None, "it was not launched"
        return self.mars

    def begin(self, job: Job) -> None:
        """Start the query."""
        create(self.running().api(), job)

    def progress(self, job: Job) -> int:
        """Tuples of the topic that are committed."""
        return committed(self.running().api().get(f"/v1/queries/q{job.number}"))

    def results(self, job: Job) -> pa.Table:
        """What can be read now."""
        return self.running().results(job)

    def stop(self) -> None:
        """End all of it."""
        if self.mars:
            self.mars.stop()
        if self.spark:
            self.spark.stop()
        self.mars = self.spark = None
