"""Spark Structured Streaming on a standalone cluster of three nodes; what is not named here is as in contenders/spark.py.

| setting | value | why |
| --- | --- | --- |
| master | standalone, 3 workers of one core and one executor each | a silent node's tasks run again elsewhere |
| maxOffsetsPerTrigger | 1,000,000 | larger micro-batches after a cut, so that it catches up sooner |
| spark.network.timeout, spark.worker.timeout | 10 s | the default is 120 s and 60 s: a cut of 20 s would not be noticed |
| spark.executor.heartbeatInterval, spark.network.timeoutInterval | 2 s | as it must be well below that |
| spark.sql.shuffle.partitions | 3 | a state store a node |
| spark.excludeOnFailure | off | the default: a node that came back is used again |
| checkpoint and sink | on the disk that all share | what exactly-once needs |
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from benchmarks.clusters.node import Node
from benchmarks.clusters.standalone import HOST, SILENCE_S, Standalone
from benchmarks.contenders.process import ProcessContender
from benchmarks.contenders.protocol import Job
from benchmarks.contenders.spark import SPARK, command
from mars.config import Config

OFFSETS_PER_TRIGGER = 1_000_000
SETTINGS = {
    "spark.cores.max": "3",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.executor.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.network.timeout": f"{SILENCE_S}s",
    "spark.network.timeoutInterval": "2s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.sql.shuffle.partitions": "3",
}


class SparkCluster(ProcessContender):
    """A driver, and nodes of its own."""

    rate_max: int | None = None

    def __init__(self, nodes: int = 3) -> None:
        super().__init__(replace(SPARK, title="Spark Structured Streaming 4.2"))
        self.count = nodes
        self.cluster: Standalone | None = None

    def prepare(self, config: Config) -> None:
        """Fetch its jars."""
        self.config = config
        super().prepare(config)

    def launch(self, folder: Path, kafka: str, way: str) -> None:
        """Start nodes and driver."""
        self.cluster = Standalone(self.config, folder, way, self.count, cores=1)
        self.cluster.wait()
        settings = {**SETTINGS, "spark.master": self.cluster.url}
        self.program = replace(self.program, command=lambda setup: command(setup, OFFSETS_PER_TRIGGER, settings))
        super().start(folder, kafka)

    @property
    def nodes(self) -> list[Node]:
        """The nodes that can be cut off."""
        assert self.cluster is not None, "it was not launched"
        return self.cluster.nodes

    def begin(self, job: Job) -> None:
        """Start the query."""
        job.write(self.folder)

    def progress(self, job: Job) -> int:
        """Tuples of the topic in committed micro-batches."""
        self.running().check()
        return committed_offsets(Path(job.work))

    def stop(self) -> None:
        """End all of it."""
        super().stop()
        if self.cluster:
            self.cluster.stop()
            self.cluster = None


def committed_offsets(checkpoint: Path) -> int:
    """The sum of the offsets up to which micro-batches are committed."""
    batches = [int(file.name) for file in (checkpoint / "commits").glob("[0-9]*")]
    if not batches:
        return 0
    lines = (checkpoint / "offsets" / str(max(batches))).read_text().splitlines()
    return sum(offset for partitions in json.loads(lines[-1]).values() for offset in partitions.values())
