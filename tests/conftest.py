"""One Kafka, ZooKeeper and Redis for all tests of a process that want real ones; each test takes names of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
from confluent_kafka import Producer

from api.instance.services import Services, start_all
from mars.config import Config, load
from tests import spread


@dataclass(frozen=True)
class Stack:
    """The running services, and a configuration with their addresses, leases of 1 s and short sessions."""

    services: Services
    config: Config

    def produce(self, topic: str, messages: list[bytes | None], partition: int = 0) -> None:
        """Append messages to a partition; they are readable when this returns."""
        producer = Producer({"bootstrap.servers": self.config.kafka_address, "linger.ms": 5})
        for message in messages:
            producer.produce(topic, message, partition=partition)
        assert producer.flush(20) == 0


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Started once, and stopped at the end."""
    folder: Path = tmp_path_factory.mktemp("stack")
    first = load({"data": folder, "lease_ms": 1_000, "zookeeper_session_ms": 4_000, "kafka_heap_mb": 256,
                  "redis_memory_bytes_max": 256 * 1024 * 1024}, environment={})
    services = start_all(first, folder)
    addresses = {f"{service.name}_address": service.address for service in services}
    try:
        yield Stack(services, first.model_copy(update=addresses))
    finally:
        services.stop()


@pytest.fixture
def fresh_name() -> Callable[[str], str]:
    """Makes names that no other test uses."""
    return lambda prefix: f"{prefix}_{uuid.uuid4().hex[:8]}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> spread.Units:
    """Whole files, the longest first."""
    return spread.Units(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Processes do not get into each other's way; properties meet the same data in every run, or new data in long ones."""
    spread.prepare(config)
    hypothesis.settings.register_profile("same", derandomize=True)
    hypothesis.settings.load_profile("default" if os.environ.get("LONG_TESTS") else "same")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The order in which `spread.Units` gives them out; a single process keeps that of the files."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: spread.unit(item.nodeid))
