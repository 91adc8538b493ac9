"""Which systems can be run as clusters, in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from benchmarks.clusters.mars import MarsCluster
from benchmarks.clusters.node import Node
from benchmarks.clusters.spark import SparkCluster
from benchmarks.clusters.storm import StormCluster
from benchmarks.contenders.protocol import Job
from mars.config import Config

CLUSTERS = {"mars": MarsCluster, "spark": SparkCluster, "storm": StormCluster}


class Cluster(Protocol):
    """One system on several nodes: `prepare`, `launch`, `begin` one job, ask for progress and results, `stop`.

    `guarantee` is what its settings promise of each tuple. `rate_max` is how many tuples a second it can follow on two
    cores with a node missing, if that is less than what others are given."""

    name: str
    title: str
    guarantee: str
    rate_max: int | None

    @property
    def nodes(self) -> Sequence[Node]: ...

    def prepare(self, config: Config) -> None: ...

    def launch(self, folder: Path, kafka: str, way: str) -> None: ...

    def begin(self, job: Job) -> None: ...

    def progress(self, job: Job) -> int: ...

    def results(self, job: Job) -> pa.Table: ...

    def stop(self) -> None: ...


def chosen(names: Sequence[str]) -> list[Cluster]:
    """The systems of these names, all for none. Raises ValueError for an unknown name."""
    if unknown := set(names) - CLUSTERS.keys():
        raise ValueError(f"no cluster is named {', '.join(sorted(unknown))}; there are {', '.join(CLUSTERS)}")
    return [make() for name, make in CLUSTERS.items() if not names or name in names]
