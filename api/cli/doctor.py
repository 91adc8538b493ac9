"""What Mars needs on this machine, what is missing, and the command that fixes it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from types import ModuleType

import psutil

from api import tls
from api.instance.services import jars, java, kafka, ports, redis, zookeeper
from mars.config import Config
from mars.errors import MarsError
from mars.settings import MIB

PYTHON_MIN = (3, 11)
DISK_BYTES_MIN = 2048 * MIB
WORKER_MEMORY_MB = 250  # a worker's interpreter with its libraries, before it holds any data
SETUP = "make setup"
MISSING = "missing"
PINNED = re.compile(r"^([\w.-]+)==([^\s;\\]+)\s*(;)?", re.MULTILINE)  # name, version, and whether only some machines need it
LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"


@dataclass(frozen=True)
class Check:
    """One thing that Mars needs: what was found, and the command that fixes it, if there is one."""

    name: str
    ok: bool
    detail: str
    command: str = ""


def check(config: Config) -> list[Check]:
    """Checks everything, starts nothing, and raises nothing. Takes about a second."""
    looks: list[tuple[str, Callable[[], Check]]] = [
        ("python", _python), ("packages", _packages), ("java", partial(_java, config)),
        ("kafka", partial(_kafka, config)), ("zookeeper", partial(_zookeeper, config)),
        ("redis", partial(_redis, config)), ("memory", partial(_memory, config)),
        ("disk", partial(_disk, config)), ("port", partial(_port, config)),
        *([("tls", partial(_tls, config))] if config.api_tls_certificate else []),
    ]
    return [_guarded(name, look) for name, look in looks]


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except MarsError as error:
        return Check(name, False, str(error), error.hint)
    except OSError as error:
        return Check(name, False, f"cannot be looked at: {error}")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MIN:
        return Check("python", False, f"{version} is older than 3.11", "apt install python3")
    return Check("python", True, f"{version} at {sys.executable}")


def _packages() -> Check:
    """Compares the installed packages with the lock file. A wheel of Mars has none; then pip has checked them."""
    if not LOCK.exists():
        return Check("packages", True, "installed without a lock file")
    wanted: dict[str, set[str]] = {}
    for name, version, marker in PINNED.findall(LOCK.read_text()):
        # What only some machines need, and this one may lack, is as good as what it has.
        wanted.setdefault(name, set()).update((version, MISSING) if marker else (version,))
    found = {name: _installed(name) for name in wanted}
    wrong = [f"{name} is {found[name]}, not {' or '.join(sorted(wanted[name] - {MISSING}))}" for name in sorted(wanted)
             if found[name] not in wanted[name]]
    if wrong:
        more = f"; {len(wrong) - 5} more" if len(wrong) > 5 else ""
        return Check("packages", False, "; ".join(wrong[:5]) + more, f"rm -r .venv; {SETUP}")
    return Check("packages", True, f"{len(wanted)} as locked")


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return MISSING


def _java(config: Config) -> Check:
    found = java.find(config)
    return Check("java", True, f"{found.version} from {found.source}: {found.home}")


def _kafka(config: Config) -> Check:
    if config.kafka_address:
        return _foreign(kafka, config, config.kafka_address)
    folder, absent, damaged = jars.folder(), jars.missing(), jars.damaged()
    if damaged:
        return Check("kafka", False, f"{len(damaged)} damaged jars in {folder}", f"rm -r {folder}; {SETUP}")
    if absent:
        return Check("kafka", False, f"{len(absent)} jars are missing in {folder}", SETUP)
    return Check("kafka", True, f"{jars.KAFKA_VERSION} in {folder}")


def _zookeeper(config: Config) -> Check:
    if config.zookeeper_address:
        return _foreign(zookeeper, config, config.zookeeper_address)
    return Check("zookeeper", True, f"comes with PySpark: {zookeeper.server_jar().name}")


def _redis(config: Config) -> Check:
    if config.redis_address:
        return _foreign(redis, config, config.redis_address)
    return Check("redis", True, str(redis.find_server()))


def _foreign(service: ModuleType, config: Config, address: str) -> Check:
    """Looks at a service that the configuration names; its module's `start` does no more for such a one."""
    found = service.start(config, config.data)
    return Check(service.NAME, True, f"{found.version} answers at {address}".strip())


def _memory(config: Config) -> Check:
    needed_mb = config.spark_driver_memory_mb + config.workers * WORKER_MEMORY_MB
    needed_mb += 0 if config.kafka_address else config.kafka_heap_mb
    needed_mb += 0 if config.zookeeper_address else config.zookeeper_heap_mb
    free_mb = psutil.virtual_memory().available // MIB
    said = f"{free_mb} MB available, about {needed_mb} MB needed to start"
    if free_mb < needed_mb:
        return Check("memory", False, said, "MARS_MAPPERS=1 MARS_REDUCERS=1 mars up")
    return Check("memory", True, said)


def _disk(config: Config) -> Check:
    folder = next(parent for parent in (config.data, *config.data.parents) if parent.exists())
    free_bytes = shutil.disk_usage(folder).free
    said = f"{free_bytes / 1e9:.1f} GB free for {config.data}"
    return Check("disk", free_bytes >= DISK_BYTES_MIN, said)


def _port(config: Config) -> Check:
    if not config.api_port:
        return Check("port", True, "any free one is taken")
    if ports.is_free(config.api_port, config.api_host):
        return Check("port", True, f"{config.api_port} is free")
    return Check("port", False, f"{config.api_port} is taken on {config.api_host}", "mars up --port 0")


def _tls(config: Config) -> Check:
    return Check("tls", True, f"the API's certificate is for {tls.certificate_name(config)}")
