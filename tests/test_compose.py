"""compose.yaml says what the code reads: settings that exist, names that resolve, slots that suffice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.instance.services import jars, redis, zookeeper
from mars.config import Config, load

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "0123456789abcdef"
Parsed = dict[str, Any]


@pytest.fixture(scope="module")
def compose() -> Parsed:
    text = re.sub(r"\$\{MARS_API_TOKEN:\?[^}]*\}", TOKEN, (ROOT / "compose.yaml").read_text())
    assert "${" not in text
    return yaml.safe_load(text)


@pytest.fixture(scope="module")
def services(compose: Parsed) -> Parsed:
    return compose["services"]


@pytest.fixture(scope="module")
def config(services: Parsed) -> Config:
    """What Mars reads in its container."""
    return load(environment=services["mars"]["environment"])


def mounts(service: Parsed) -> dict[str, str]:
    """Path to volume."""
    return {path: volume for volume, path in (mount.split(":") for mount in service.get("volumes", []))}


def test_every_variable_of_ours_is_a_setting(services: Parsed) -> None:
    variables = {key for service in services.values() for key in service.get("environment", {})}
    used = {key for key in variables if key.startswith("MARS_")}
    assert used
    assert used <= {f"MARS_{name.upper()}" for name in Config.model_fields}


def test_every_address_is_a_service_here(services: Parsed, config: Config) -> None:
    addresses = [config.kafka_address, config.zookeeper_address, config.redis_address,
                 config.spark_master.removeprefix("spark://")]
    assert all(addresses)
    assert {address.split(":")[0] for address in addresses} <= set(services)
    kafka_listeners = services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"INSIDE://{config.kafka_address}," in kafka_listeners
    assert config.spark_master in services["spark-worker"]["entrypoint"]
    assert set(services["mars"]["depends_on"]) == set(services) - {"mars"}


def test_workers_have_a_slot_for_each_long_task_and_two_more(services: Parsed, config: Config) -> None:
    worker = services["spark-worker"]
    slots = int(worker["environment"]["SPARK_WORKER_CORES"]) * worker["deploy"]["replicas"]
    assert slots >= config.mappers + config.reducers + 2


def test_mars_and_workers_share_the_state_folder(services: Parsed, config: Config) -> None:
    path = config.state_root.removeprefix("file://")
    assert mounts(services["mars"])[path] == mounts(services["spark-worker"])[path]
    assert str(config.data) in mounts(services["mars"])


def test_volumes_are_declared(compose: Parsed) -> None:
    used = {volume for service in compose["services"].values() for volume in mounts(service).values()}
    assert used == set(compose["volumes"])


def test_ports_are_published_on_loopback_only(services: Parsed, config: Config) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in published)
    assert f"127.0.0.1:8642:{config.api_port}" in published


def test_versions_are_those_of_the_tests(services: Parsed) -> None:
    assert services["kafka"]["image"] == f"apache/kafka:{jars.KAFKA_VERSION}"
    assert f"-{services['zookeeper']['image'].split(':')[1]}.jar" in zookeeper.server_jar().name
    assert int(services["redis"]["image"].split(":")[1]) >= redis.VERSION_MIN


def test_redis_refuses_rather_than_forgets(services: Parsed) -> None:
    assert "--maxmemory-policy noeviction" in services["redis"]["command"]
    assert '--save ""' in services["redis"]["command"]


def test_kafka_is_set_up_as_our_own(services: Parsed) -> None:
    from api.instance.services import kafka
    own = dict(line.split("=", 1) for line in kafka._SETTINGS.splitlines())
    own["message.max.bytes"] = str(kafka.MESSAGE_BYTES_MAX)
    inside = {key.removeprefix("KAFKA_").replace("_", ".").lower(): value
              for key, value in services["kafka"]["environment"].items()}
    addresses = re.compile("listener|quorum|log.dirs")
    shared = {key for key in own if key in inside and not addresses.search(key)}
    assert len(shared) >= 10
    assert {key: inside[key] for key in shared} == {key: own[key] for key in shared}


def test_the_image_is_made_from_the_lock() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes -r requirements.lock" in text
    assert re.search(r"^FROM python:3\.1[123]-slim", text, re.MULTILINE)
