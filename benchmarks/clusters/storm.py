"""Storm, acking, on three supervisors; what is not named here is as in contenders/storm.py.

| setting | value | why |
| --- | --- | --- |
| nodes | 3 supervisors with two slots each, one worker in use on each | a free slot is where a lost worker's tasks go |
| topology | 3 Kafka spouts, 3 counters, 3 ackers | one of each a node |
| counters | write their counts each 100 ms, then acknowledge | never acknowledged from memory alone |
| topology.max.spout.pending | 5,000 | more than a spout reads until the counts are written; the spout searches all tuples |
| | | that it has to send again for each of them, so with 20,000 a node that was away kept it busy for good |
| uncommitted offsets | 100,000 a spout | it reads all again from the first tuple on that failed; the default is 10,000,000 |
| topology.transfer.batch.size | 500 | tuples travel between nodes in bulk |
| topology.message.timeout.secs | 20 | what a lost node had is read again then; less is too little for a backlog |
| nimbus.task.timeout, nimbus.supervisor.timeout, supervisor.worker.timeout | 10 s | the defaults are 30 and 60 s |
| nimbus.monitor.freq, supervisor.monitor.frequency | 2 s, 1 s | a lost worker is looked for that often |
| blacklist.scheduler.tolerance.count | 1,000 | a node that came back is used again |
| worker's JVM | 1 GB, parallel collector | as in contenders/storm.py, by node |

Its answer is the sum of all files that counters wrote. ZooKeeper and Nimbus are on no node.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import psutil
from confluent_kafka import Consumer, KafkaException, TopicPartition

import benchmarks
from api.instance.services import ports, zookeeper
from api.instance.services.process import Child
from api.instance.services.service import Service
from benchmarks.clusters.node import Node
from benchmarks.contenders.process import ProcessContender
from benchmarks.contenders.program import AT_LEAST, Setup
from benchmarks.contenders.protocol import Job
from benchmarks.contenders.storm import OPENED, STORM, compiled, logging
from benchmarks.contenders.storm import SETTINGS as LOCAL
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.errors import MarsError

HOST, START_S, SUBMIT_S, GROUP = "127.0.0.1", 90.0, 60.0, "storm-0"
WARM_S = 20.0
SETTINGS = {**LOCAL, "topology.transfer.batch.size": 500, "topology.transfer.buffer.size": 2_000,
            "topology.message.timeout.secs": 20, "topology.max.spout.pending": 5_000}
SESSION_MS = 6_000
DAEMON = {
    "storm.zookeeper.session.timeout": SESSION_MS, "nimbus.task.timeout.secs": 10, "nimbus.supervisor.timeout.secs": 10,
    "nimbus.monitor.freq.secs": 2, "supervisor.worker.timeout.secs": 10, "supervisor.monitor.frequency.secs": 1,
    "supervisor.heartbeat.frequency.secs": 2, "blacklist.scheduler.tolerance.count": 1_000, "worker.profiler.enabled": False,
}
AGAIN = 'while :; do "$@"; sleep 1; done'  # a supervisor ends itself at any trouble, and is meant to be started again
WORKER_LOG = """<Configuration>
<Appenders><Console name="out"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="warn"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"""
WORKER = "org.apache.storm.daemon.worker.Worker"
WORKER_JVM = ["-Xmx1g", "-XX:+UseParallelGC"]


class StormCluster(ProcessContender):
    """Nimbus, ZooKeeper, and nodes of their own."""

    rate_max: int | None = 10_000

    def __init__(self, nodes: int = 3) -> None:
        super().__init__(replace(STORM, guarantee=AT_LEAST))
        self.count = nodes
        self.nodes: list[Node] = []
        self.zookeeper: Service | None = None
        self.reader: Consumer | None = None

    def prepare(self, config: Config) -> None:
        """Fetch its jars."""
        self.config = config
        super().prepare(config)

    def launch(self, folder: Path, kafka: str, way: str) -> None:
        """Start ZooKeeper, Nimbus and nodes."""
        self.folder = folder
        # It subscribes to nothing, and so does not join the group.
        self.reader = Consumer({"bootstrap.servers": kafka, "group.id": GROUP})
        self.environment = {"JAVA_HOME": str(self.java_home)}
        self.nimbus_port = ports.pick(folder, "nimbus")
        self.zookeeper = zookeeper.start(self.config.model_copy(update={"zookeeper_address": ""}), folder)
        self.zookeeper_address = self.zookeeper.address
        self._home()
        self.child = Child("nimbus", self._daemon("nimbus", "org.apache.storm.daemon.nimbus.Nimbus"), folder / "nimbus.txt",
                           environment=self.environment)
        self.child.wait_ready(lambda: not ports.is_free(self.nimbus_port), START_S)
        for number in range(self.count):
            name = f"node-{number}"
            line = ["sh", "-c", AGAIN, "sh", *self._daemon(name, "org.apache.storm.daemon.supervisor.Supervisor")]
            self.nodes.append(Node(name, way, line, folder / f"{name}.txt", self.environment))
        self._wait()

    def begin(self, job: Job) -> None:
        """Submit the topology; return WARM_S after each node has a worker for it: none says when it is ready."""
        job.write(self.folder)
        settings = self.folder / "settings.properties"
        settings.write_text("".join(f"{name}={value}\n" for name, value in {**SETTINGS, "nodes": self.count}.items()))
        line = [*self._java("submit", ["-Xmx256m"]), f"-Dstorm.jar={self.jar}", "-cp", f"{self.jar}:{self.classpath}",
                "OnNodes", str(self.folder), str(job.number), str(settings)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=SUBMIT_S)
        if done.returncode:
            raise MarsError("Storm did not take the topology", "\n".join((done.stdout + done.stderr).splitlines()[-10:]))
        self.running().wait_ready(lambda: all(map(_has_worker, self.nodes)), START_S)
        time.sleep(WARM_S)

    def progress(self, job: Job) -> int:
        """Messages that are acknowledged, from each partition's beginning on."""
        self.running().check()
        assert self.reader is not None
        partitions = [TopicPartition(job.topic, number) for number in range(job.partitions)]
        try:
            return sum(max(0, int(found.offset)) for found in self.reader.committed(partitions, timeout=5))
        except KafkaException as error:  # its coordinator may not be there yet
            raise MarsError("Kafka does not tell how far Storm is", str(error)) from None

    def stop(self) -> None:
        """End all of it."""
        for node in self.nodes:
            node.stop()
        self.nodes = []
        super().stop()
        if self.reader:
            self.reader.close()
            self.reader = None
        if self.zookeeper:
            self.zookeeper.stop()
            self.zookeeper = None

    def _wait(self) -> None:
        """Return when all supervisors have told ZooKeeper of themselves: a job is placed on those that are there."""
        client = ZooKeeper(self.zookeeper_address, SESSION_MS)
        try:
            self.running().wait_ready(lambda: len(client.children("/storm/supervisors")) == self.count, START_S)
        finally:
            client.stop()

    def _home(self) -> None:
        """A Storm home with what workers need, and the topology's jar."""
        self.classpath = ":".join(map(str, self.jars))
        library, logs = self.folder / "home" / "lib-worker", self.folder / "home" / "log4j2"
        for made in (library, logs, self.folder / "logs"):
            made.mkdir(parents=True, exist_ok=True)  # zookeeper writes logs too
        for jar in self.jars:
            (library / jar.name).symlink_to(jar)
        (logs / "worker.xml").write_text(WORKER_LOG)
        self.jar = self.folder / "topology.jar"
        with zipfile.ZipFile(self.jar, "w") as archive:
            root = Path(benchmarks.__file__).parents[1]
            for file in compiled(Setup(self.python, self.java_home, self.jars, self.folder, root)).glob("*.class"):
                archive.write(file, file.name)

    def _daemon(self, name: str, main: str) -> list[str]:
        return [*self._java(name, ["-Xmx512m", "-XX:+UseSerialGC"]), "-cp", self.classpath, main]

    def _java(self, name: str, jvm: list[str]) -> list[str]:
        """Java with the settings of one daemon."""
        return [str(self.java_home / "bin" / "java"), *jvm, *_opened(), f"-Dstorm.conf.file={self._settings(name)}",
                f"-Dstorm.home={self.folder / 'home'}", f"-Dstorm.log.dir={self.folder / 'logs'}",
                f"-Dlog4j2.configurationFile={logging(self.folder)}"]

    def _settings(self, name: str) -> Path:
        """The file of settings of one daemon; JSON is YAML."""
        local = self.folder / name
        local.mkdir(exist_ok=True)
        told = {
            **DAEMON, "storm.local.dir": str(local), "storm.local.hostname": HOST, "storm.zookeeper.servers": [HOST],
            "storm.zookeeper.port": int(self.zookeeper_address.split(":")[1]),
            "nimbus.seeds": [HOST], "nimbus.thrift.port": self.nimbus_port,
            "supervisor.thrift.port": ports.pick(self.folder, f"{name}-thrift"),
            "supervisor.slots.ports": [ports.pick(self.folder, f"{name}-{slot}") for slot in range(2)],
            "storm.log4j2.conf.dir": str(self.folder / "home" / "log4j2"),
            "worker.childopts": " ".join([*WORKER_JVM, *_opened()])}
        file = self.folder / f"{name}.yaml"
        file.write_text(json.dumps(told))
        return file


def _has_worker(node: Node) -> bool:
    """Has its supervisor started a worker?"""
    for process in node.tree():
        with contextlib.suppress(psutil.Error):
            if WORKER in process.cmdline():
                return True
    return False


def _opened() -> list[str]:
    return [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
