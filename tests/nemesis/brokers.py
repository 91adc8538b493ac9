"""Kafka under test: one broker, or several, each behind a proxy; the first one is the controller too.

The load and the checker go to the brokers directly, by a listener of their own.
"""

from __future__ import annotations

import itertools
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from api.instance.services import kafka as kafka_service
from api.instance.services import ports
from api.instance.services.paths import log_dir
from api.instance.services.process import Child
from mars.config import Config
from tests.nemesis.proxy import PASS, Proxy, Rule
from tests.nemesis.services import READY_S, Server

FOLDERS = "kafka-{number}"  # of all brokers but the first
CLUSTER = re.compile(r"(?m)^cluster\.id=.*$")
# A second listener, topics that leave the disk soon after they are deleted, and a cleaner that looks often. Java takes the
# last of two equal names.
SETTINGS = """
node.id={number}
process.roles={roles}
controller.quorum.voters=1@{controller}
listeners=MARS://127.0.0.1:{mars},LOAD://127.0.0.1:{load}{more}
advertised.listeners=MARS://{proxy},LOAD://127.0.0.1:{load}
listener.security.protocol.map=MARS:PLAINTEXT,LOAD:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=LOAD
default.replication.factor={count}
offsets.topic.replication.factor={count}
transaction.state.log.replication.factor={count}
share.coordinator.state.topic.replication.factor={count}
replica.lag.time.max.ms=4000
leader.imbalance.check.interval.seconds=5
file.delete.delay.ms=1000
log.segment.delete.delay.ms=1000
log.cleaner.backoff.ms=500
"""


class Broker(Server):
    """One of them. `quorum` is how it reaches the controller: a rule there cuts it off from the others' decisions, while its
    clients still see it."""

    name = "kafka"

    def __init__(self, config: Config, folder: Path, host: str, number: int, count: int, controller: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(config, folder, host)
        self.number, self.count, self.controller = number, count, controller
        self.load = ports.pick(folder, "load")
        self.load_address = f"127.0.0.1:{self.load}"
        self.quorum = Proxy(("127.0.0.1", controller)) if number > 1 else None

    def start(self) -> None:
        settings, logs = self.prepare(), log_dir(self.folder)
        line = kafka_service._java(self.config, logs, self.config.kafka_heap_mb, [kafka_service.MAIN, settings])
        self.child = Child("kafka", line, logs / "kafka.out", more_logs=[logs / "kafka.log"])
        self.child.wait_ready(lambda: kafka_service.serves(self.load_address), READY_S)

    @property
    def identity(self) -> Path:
        """The file that says of which cluster it is."""
        return self.folder / "kafka" / "topics" / "meta.properties"

    def prepare(self) -> Path:
        """Its file of settings; a new one's folder is formatted."""
        leads = self.number == 1
        settings = kafka_service._write_settings(self.folder, self.port, SETTINGS.format(
            number=self.number, roles="broker,controller" if leads else "broker", count=self.count,
            controller=f"127.0.0.1:{self.controller}" if leads else self.quorum.address, mars=self.port, load=self.load,
            more=f",CONTROLLER://127.0.0.1:{self.controller}" if leads else "", proxy=self.proxy.address))
        kafka_service._format(self.config, self.folder, settings)
        return settings

    def join(self, first: Broker) -> None:
        """Be of the same cluster as the first one, if it is new: its id is written over one's own."""
        if not self.identity.exists():
            self.prepare()
            [cluster] = CLUSTER.findall(first.identity.read_text())
            self.identity.write_text(CLUSTER.sub(cluster, self.identity.read_text()))

    def stop(self) -> None:
        super().stop()
        if self.quorum:
            self.quorum.close()


class Proxies:
    """The brokers' proxies as if they were one."""

    def __init__(self, proxies: list[Proxy]) -> None:
        self.proxies = proxies
        self.address = ",".join(proxy.address for proxy in proxies)

    def set(self, rule: Rule) -> None:
        """The rule holds for each of them."""
        for proxy in self.proxies:
            proxy.set(rule)


class Kafka:
    """All brokers, as one service. A signal strikes one of them, in turn. `count`: topics have so many replicas."""

    name = "kafka"

    def __init__(self, config: Config, folder: Path, host: str = "127.0.0.1", count: int = 1) -> None:
        controller = ports.pick(folder, "kafka_controller")
        self.count = count
        places = {1: folder, **{number: folder / FOLDERS.format(number=number) for number in range(2, count + 1)}}
        self.brokers = [Broker(config, place, host, number, count, controller) for number, place in places.items()]
        self.proxy = Proxies([broker.proxy for broker in self.brokers])
        self.load_address = ",".join(broker.load_address for broker in self.brokers)
        self._turns = itertools.cycle(self.brokers)

    def start(self) -> None:
        """All are ready when this returns."""
        first, *others = self.brokers
        first.start()
        for broker in others:
            broker.join(first)
        with ThreadPoolExecutor(self.count) as pool:
            list(pool.map(Broker.start, others))

    def signal(self, number: signal.Signals) -> bool:
        """SIGKILL or SIGSTOP for the next broker; False if it does not run."""
        return next(self._turns).signal(number)

    def ensure(self) -> None:
        """Let all run, and be one cluster."""
        for broker in self.brokers:
            if broker.quorum:
                broker.quorum.set(PASS)
            broker.ensure()

    def stop(self) -> None:
        """End them."""
        for broker in reversed(self.brokers):
            broker.stop()
