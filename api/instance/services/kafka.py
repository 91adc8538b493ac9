"""Kafka: the log that holds the data. One node, its own controller (KRaft), its data kept between starts."""

from __future__ import annotations

import base64
import os
import subprocess
import uuid
from contextlib import suppress
from pathlib import Path

from api.instance.services import jars, java, ports
from api.instance.services.jvm import ENVIRONMENT, command, property_value
from api.instance.services.paths import log_dir, tail
from api.instance.services.process import Child
from api.instance.services.service import Service, reach, ready
from mars.adapters.kafka.security import security_of
from mars.adapters.kafka.wire import Wire
from mars.config import Config
from mars.errors import ConfigurationError, NotReadyError

NAME = "kafka"
MAIN = "kafka.Kafka"
FORMATTER = "kafka.tools.StorageTool"
TIMEOUT_S = 90.0
FOREIGN_S = 5.0
MESSAGE_BYTES_MAX = 16 * 1024 * 1024

# One node, so every replication factor is 1. Nothing is deleted by age: records that bear an event time
# of long ago would be taken for old ones. Topics appear when a producer first writes, which is Kafka's default. A node
# that was killed is let in again only after its session, so that is short. The log is written out twice a second: else Linux
# writes half a minute of it at once, and commits, whose files lie on the same disk, wait behind that for most of a second.
_SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
num.partitions=4
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
transaction.max.timeout.ms=300000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
message.max.bytes={message_bytes_max}
replica.fetch.max.bytes={message_bytes_max}
log.retention.ms=-1
log.message.timestamp.after.max.ms=9223372036854775807
log.segment.bytes=268435456
log.flush.interval.ms=500
log.flush.scheduler.interval.ms=500
log.cleaner.dedupe.buffer.size=16777216
num.network.threads=2
num.io.threads=4
"""


def start(config: Config, data_dir: Path, more: str = "") -> Service:
    """A ready Kafka: our own on loopback with its data in `data_dir`, or the one at `kafka_address`. `more` are lines for
    our own one's file of settings, which win.

    Raises SetupError if Java or a jar is missing, ConfigurationError if settings are for another Kafka or a file of theirs
    cannot be used, NotReadyError if it does not get ready or refuses us.
    """
    if config.kafka_address:
        security = security_of(config)
        reach(config.kafka_address, "kafka_address")
        Wire(config.kafka_address, security, retry_s=FOREIGN_S).connect()
        return Service(NAME, config.kafka_address, "")
    if config.kafka_security_protocol != "PLAINTEXT":
        raise ConfigurationError(f"kafka_security_protocol is {config.kafka_security_protocol}, but kafka_address is empty",
                                 "Mars's own Kafka listens on loopback, without TLS or passwords",
                                 "give kafka_address too, or leave out kafka_security_protocol")
    port = ports.pick(data_dir, NAME)
    settings = _write_settings(data_dir, port, more)
    _format(config, data_dir, settings)
    logs = log_dir(data_dir)
    line = _java(config, logs, config.kafka_heap_mb, [MAIN, settings])
    child = Child(NAME, line, logs / "kafka.out", more_logs=[logs / "kafka.log"], environment=ENVIRONMENT)
    address = f"127.0.0.1:{port}"
    return ready(NAME, address, child, lambda: jars.KAFKA_VERSION if serves(address) else "", TIMEOUT_S)


def _write_settings(data_dir: Path, port: int, more: str) -> Path:
    folder = data_dir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "server.properties"
    controller_port, topics = ports.pick(data_dir, "kafka_controller"), property_value(folder / "topics")
    settings.write_text(_SETTINGS.format(port=port, controller_port=controller_port, folder=topics,
                                         message_bytes_max=MESSAGE_BYTES_MAX) + more)
    return settings


def _format(config: Config, data_dir: Path, settings: Path) -> None:
    """Gives a new data folder its identity; done once. Raises NotReadyError with what the formatter said."""
    if (data_dir / NAME / "topics" / "meta.properties").exists():
        return
    # Begins with "A": one that began with "-" would read as an option.
    cluster_id = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
    log = log_dir(data_dir) / "kafka-format.out"
    main: list[str | Path] = [FORMATTER, "format", "--cluster-id", cluster_id, "--config", settings]
    line = _java(config, log.parent, 128, main)
    with log.open("wb") as output:
        code = subprocess.run(line, stdout=output, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
                              env={**os.environ, **ENVIRONMENT}).returncode
    if code:
        raise NotReadyError(f"Kafka's data folder {data_dir / NAME} cannot be made", f"{log}:\n{tail(log)}")


def _java(config: Config, logs: Path, heap_mb: int, main: list[str | Path]) -> list[str]:
    return command(java.find(config), jars.classpath(), heap_mb, logs / "kafka.log", main)


def serves(address: str) -> bool:
    """Does a broker of this machine answer for its topics?"""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient
    with suppress(KafkaException):
        if not ports.is_free(int(address.rpartition(":")[2])):
            return bool(AdminClient({"bootstrap.servers": address, "log_level": 0}).list_topics(timeout=3).brokers)
    return False
