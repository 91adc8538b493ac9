"""The real Kafka, ZooKeeper and Redis: started, used, stopped, and started again on the same data."""

from __future__ import annotations

import contextlib
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from kazoo.client import KazooClient
from redis import Redis

from api.cli import doctor
from api.instance.services import Service, Services, redis, start_all, zookeeper
from mars.config import Config, load
from mars.errors import ConfigurationError, NotReadyError

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A path that is hard on files of settings, command lines and, in the locale C, on Java."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LC_ALL", "C")
        yield tmp_path_factory.mktemp("services") / "my \\u00e9 mars \u00e9 \U0001f680"


@pytest.fixture(scope="module")
def config(data: Path) -> Config:
    return load({"data": data, "redis_memory_bytes_max": 32 * 1024 * 1024}, environment={})


@pytest.fixture(scope="module")
def services(config: Config) -> Iterator[Services]:
    reported: list[Service] = []
    running = start_all(config, config.data, reported.append)
    assert sorted(service.name for service in reported) == ["kafka", "redis", "zookeeper"]
    yield running
    running.stop()


def produce(address: str, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": address})
    producer.produce(topic, value)
    assert producer.flush(20) == 0


def first_value(address: str, topic: str) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(20)
    consumer.close()
    return message and message.value()


def test_kafka_holds_a_record_over_a_restart(config: Config, services: Services) -> None:
    from api.instance.services import kafka
    produce(services.kafka.address, "greetings", b"hello")
    services.kafka.stop()
    again = kafka.start(config, config.data)
    assert again.address == services.kafka.address
    services.kafka = again
    assert first_value(again.address, "greetings") == b"hello"


def test_all_of_it_lies_in_the_data_folder(data: Path, services: Services) -> None:
    assert [path.name for path in data.parent.iterdir()] == [data.name]
    assert (data / "kafka" / "topics" / "meta.properties").exists()
    assert (data / "zookeeper" / "version-2").exists()
    assert (data / "logs" / "kafka.log").exists()


def test_kafka_recovers_from_a_kill(config: Config, services: Services) -> None:
    from api.instance.services import kafka
    produce(services.kafka.address, "killed", b"still here")
    assert services.kafka.pid
    psutil.Process(services.kafka.pid).send_signal(signal.SIGKILL)
    services.kafka.stop()
    services.kafka = kafka.start(config, config.data)
    assert first_value(services.kafka.address, "killed") == b"still here"


def test_kafka_runs_transactions(services: Services) -> None:
    producer = Producer({"bootstrap.servers": services.kafka.address, "transactional.id": "t"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("transactions", b"one")
    producer.commit_transaction(20)
    assert first_value(services.kafka.address, "transactions") == b"one"


def test_zookeeper_allows_short_sessions(services: Services) -> None:
    client = KazooClient(services.zookeeper.address, timeout=1.0)
    client.start(10)
    assert client._session_timeout == 1000
    client.stop()
    client.close()


def test_redis_refuses_rather_than_forgets(services: Services) -> None:
    host, port = services.redis.address.split(":")
    with Redis(host=host, port=int(port)) as client:
        memory = client.info("memory")
    assert (memory["maxmemory"], memory["maxmemory_policy"]) == (32 * 1024 * 1024, "noeviction")


def test_all_listen_on_loopback_only(services: Services) -> None:
    for service in services:
        connections = psutil.Process(service.pid).net_connections("tcp")
        listening = {found.laddr.ip for found in connections if found.status == psutil.CONN_LISTEN}
        assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}, service


def test_a_named_service_is_used_and_left_running(tmp_path: Path, services: Services) -> None:
    config = load({"data": tmp_path, "kafka_address": services.kafka.address,
                   "redis_address": services.redis.address, "zookeeper_address": services.zookeeper.address},
                  environment={})
    foreign = start_all(config, tmp_path)
    assert [service.pid for service in foreign] == [None] * 3
    foreign.stop()
    assert [service.fault() for service in services] == [None] * 3


def test_an_ensemble_whose_first_server_is_down_is_used(tmp_path: Path, services: Services) -> None:
    address = f"127.0.0.1:9,{services.zookeeper.address}"
    config = load({"data": tmp_path, "zookeeper_address": address}, environment={})
    found = zookeeper.start(config, tmp_path)
    assert (found.address, found.version) == (address, services.zookeeper.version)
    assert [check.ok for check in doctor.check(config) if check.name == "zookeeper"] == [True]


def test_what_hangs_up_is_no_zookeeper(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=hang_up, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(NotReadyError, match=f"{address} does not answer"):
            zookeeper.start(load({"zookeeper_address": address}, environment={}), tmp_path)


def hang_up(server: socket.socket) -> None:
    """Resets each connection once it has said something, until the server is closed; reset at once, it may not even have
    seemed open to the one who opens it."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            connection.recv(1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()


def test_a_dead_service_is_noticed(config: Config) -> None:
    service = redis.start(config, config.data / "other")
    psutil.Process(service.pid).kill()
    service.child.stop()
    assert "redis ended" in service.fault().title


def test_nothing_at_an_address_is_said_with_its_setting(tmp_path: Path) -> None:
    config = load({"zookeeper_address": "127.0.0.1:9"}, environment={})
    with pytest.raises(NotReadyError, match=r"zookeeper_address = 127\.0\.0\.1:9"):
        zookeeper.start(config, tmp_path)
    with pytest.raises(ConfigurationError, match="kafka_address"):
        load({"kafka_address": "127.0.0.1"}, environment={})


def test_one_failure_stops_the_others(tmp_path: Path) -> None:
    config = load({"data": tmp_path, "kafka_address": "127.0.0.1:9"}, environment={})
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pytest.raises(NotReadyError, match="kafka_address"):
        start_all(config, tmp_path)
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
