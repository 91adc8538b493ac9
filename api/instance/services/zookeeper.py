"""ZooKeeper: elects, and remembers the pointers to what is committed. Its server comes with PySpark."""

from __future__ import annotations

import re
import socket
from pathlib import Path

from api.instance.services import java, ports
from api.instance.services.errors import SetupError
from api.instance.services.ivy import spark_jars
from api.instance.services.jvm import ENVIRONMENT, command, property_value
from api.instance.services.paths import log_dir
from api.instance.services.process import Child
from api.instance.services.service import Service, host_port, reach, ready
from mars.config import Config
from mars.errors import NotReadyError

NAME = "zookeeper"
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
TIMEOUT_S = 60.0
FOREIGN_S = 3.0

# One thread writes a few hundred bytes at a time: the simplest collector and compiler start soonest.
_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.jmx.log4j.disable=true"]

# Sessions may be from 2 to 20 ticks long: 1 to 60 s, which is what the setting zookeeper_session_ms allows.
_SETTINGS = """tickTime=500
minSessionTimeout=1000
maxSessionTimeout=60000
maxClientCnxns=0
dataDir={folder}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
4lw.commands.whitelist=srvr,ruok,mntr
"""


def start(config: Config, data_dir: Path) -> Service:
    """A ready ZooKeeper: our own on loopback with its data in `data_dir`, or the one at `zookeeper_address`.

    Raises SetupError if Java or PySpark is missing, NotReadyError if it does not get ready, or no foreign server answers.
    """
    if config.zookeeper_address:
        reach(config.zookeeper_address, "zookeeper_address")
        return Service(NAME, config.zookeeper_address, _ensemble_version(config.zookeeper_address))
    folder, logs = data_dir / NAME, log_dir(data_dir)
    folder.mkdir(parents=True, exist_ok=True)
    port = ports.pick(data_dir, NAME)
    settings = folder / "zoo.cfg"
    settings.write_text(_SETTINGS.format(folder=property_value(folder), port=port))
    log = logs / "zookeeper.log"
    main: list[str | Path] = [*_OPTIONS, MAIN, settings]
    line = command(java.find(config), f"{spark_jars()}/*", config.zookeeper_heap_mb, log, main)
    child = Child(NAME, line, logs / "zookeeper.out", more_logs=[log], environment=ENVIRONMENT)
    address = f"127.0.0.1:{port}"
    return ready(NAME, address, child, lambda: _version(address, 0.2), TIMEOUT_S)


def server_jar() -> Path:
    """The jar of PySpark that has the server. Raises SetupError if there is none."""
    for jar in spark_jars().glob("zookeeper-[0-9]*.jar"):
        return jar
    raise SetupError("PySpark has no ZooKeeper", f"looked in {spark_jars()}", "make setup")


def _ensemble_version(addresses: str) -> str:
    """What the first server that tells its version says; empty if some answer and none tells, as where each waits for the
    others. Raises NotReadyError if none answers."""
    answers, faults = [], []
    for address in addresses.split(","):
        try:
            answers.append(_version(address, FOREIGN_S))
        except OSError as error:
            faults.append(f"{address}: {error}")
        if answers and answers[-1]:
            return answers[-1]
    if not answers:
        raise NotReadyError(f"ZooKeeper at {addresses} does not answer", "; ".join(faults),
                            "is it ZooKeeper that listens there? see its own log")
    return ""


def _version(address: str, timeout_s: float) -> str:
    """What the server says of itself; empty while it is not serving, or where it may not tell.

    Raises OSError if it is silent, as it is for a moment between listening and serving.
    """
    with socket.create_connection(host_port(address, "zookeeper_address"), timeout_s) as connection:
        connection.sendall(b"srvr")
        answer = b""
        while block := connection.recv(4096):
            answer += block
    found = re.search(rb"Zookeeper version: ([\d.]+)", answer)
    return found[1].decode() if found else ""
