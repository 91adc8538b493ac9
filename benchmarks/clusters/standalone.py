"""A standalone Spark cluster: a master, and nodes that are each a Spark worker with its executor and their children.

Spark's own time-outs are set to notice a silent node in about SILENCE_S seconds, as Mars's leases and Storm's time-outs are;
sessions of ZooKeeper, which Mars and Storm have beside these, last 6 s.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyspark

import benchmarks
from api.instance.services import java, ports
from api.instance.services.process import Child
from benchmarks.clusters.node import Node
from mars.config import Config

SILENCE_S = 10
START_S = 60.0
MEMORY_MB = 1_536
HOST = "127.0.0.1"


class Standalone:
    """A running cluster with `cores` task slots on each node."""

    def __init__(self, config: Config, folder: Path, way: str, nodes: int, cores: int) -> None:
        self.folder = folder
        home = Path(pyspark.__file__).parent
        self.environment = {
            "JAVA_HOME": str(java.find(config).home), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST,
            "PYTHONPATH": str(Path(benchmarks.__file__).parents[1]), "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"-XX:+UseSerialGC -Dspark.worker.timeout={SILENCE_S}"}
        launch, port = [str(home / "bin" / "spark-class")], ports.pick(folder, "spark")
        self.url = f"spark://{HOST}:{port}"
        self.nodes: list[Node] = []
        self.master = Child("spark-master", [*launch, "org.apache.spark.deploy.master.Master", "--host", HOST, "--port",
                                             str(port), "--webui-port", "0"], folder / "master.txt",
                            environment=self.environment)
        self.master.wait_ready(lambda: not ports.is_free(port), START_S)
        worker = [*launch, "org.apache.spark.deploy.worker.Worker", "--host", HOST, "--webui-port", "0", "--cores",
                  str(cores), "--memory", f"{MEMORY_MB}m"]
        for number in range(nodes):
            name = f"node-{number}"
            self.nodes.append(Node(name, way, [*worker, "--work-dir", str(folder / name), self.url], folder / f"{name}.txt",
                                   self.environment))

    def wait(self) -> None:
        """Return when each node has told the master of itself."""
        for node in self.nodes:
            node.child.wait_ready(partial(_is_registered, node.child.logs[0]), START_S)

    def stop(self) -> None:
        """End all of it."""
        for node in self.nodes:
            node.stop()
        self.master.stop(timeout_s=2.0)


def _is_registered(log: Path) -> bool:
    return "Successfully registered" in log.read_text()
