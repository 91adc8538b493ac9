"""Redis and ZooKeeper of our own, each behind a proxy, to be killed, stopped, set back and started anew. Kafka: brokers.py.

Mars knows them by their proxies alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import redis

from api.instance.services import ports
from api.instance.services import redis as redis_service
from api.instance.services import zookeeper as zookeeper_service
from api.instance.services.paths import log_dir
from api.instance.services.process import Child
from mars.config import Config
from tests.nemesis.proxy import Proxy

READY_S = 180.0


class Server:
    """A service that runs as one process; `address` is where it really listens, `proxy` where Mars finds it."""

    name = ""

    def __init__(self, config: Config, folder: Path, host: str = "127.0.0.1") -> None:
        self.config, self.folder = config, folder
        self.port = ports.pick(folder, self.name)
        self.proxy = Proxy(("127.0.0.1", self.port), host)
        self.child: Child | None = None

    @property
    def address(self) -> str:
        """Where it listens, without the proxy."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, or start it again; ready when this returns."""
        raise NotImplementedError

    def signal(self, number: signal.Signals) -> bool:
        """SIGKILL, SIGSTOP or SIGCONT; False if it does not run."""
        is_sent = False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child.pid, number)
            is_sent = True
        if number == signal.SIGKILL:
            self.child.stop(0)
        return is_sent

    def ensure(self) -> None:
        """Let it run: wake it up, and start it if it has ended."""
        self.signal(signal.SIGCONT)
        if self.child.exit_code() is not None:
            self.start()

    def stop(self) -> None:
        """End it and its proxy."""
        self.proxy.close()
        if self.child:
            self.signal(signal.SIGCONT)
            self.child.stop(3)


class ZooKeeper(Server):
    """The ensemble of one."""

    name = "zookeeper"

    def start(self) -> None:
        service = zookeeper_service.start(self.config, self.folder)
        assert service.address == self.address, "another program has taken ZooKeeper's port"
        self.child = service.child


class Redis(Server):
    """The exchange. It keeps an append-only file, so that a restart can bring it back as an earlier state of itself."""

    name = "redis"

    def start(self) -> None:
        place = self.folder / f"redis-{self.port}"
        place.mkdir(parents=True, exist_ok=True)
        line = [str(redis_service.find_server()), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(place),
                "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--aof-load-truncated", "yes",
                "--repl-diskless-sync-delay", "0", "--maxmemory", str(self.config.redis_memory_bytes_max),
                "--maxmemory-policy", "noeviction"]
        self.child = Child("redis", line, log_dir(self.folder) / "redis.log")
        self.child.wait_ready(lambda: redis_service._info(self.address) and not self._is_loading(), READY_S)

    def _is_loading(self) -> bool:
        try:
            return self.client().info("persistence")["loading"] == 1
        except redis.RedisError as error:
            raise OSError(str(error)) from error

    def client(self) -> redis.Redis:
        """A client that goes past the proxy."""
        return redis.Redis(port=self.port, socket_timeout=5)

    def log_tail(self) -> Path:
        """The part of the append-only file that is being written."""
        place = self.folder / f"redis-{self.port}" / "appendonlydir"
        return max(place.glob("*.incr.aof"), key=lambda file: file.stat().st_mtime)

    def set_back(self, size: int) -> None:
        """Let it restart as what it was when its log had this size."""
        log = self.log_tail()
        self.signal(signal.SIGKILL)
        os.truncate(log, size)
        self.start()

    def fail_over(self, lag_s: float) -> None:
        """A replica takes over that has heard nothing for `lag_s`; the former master is gone."""
        master, old_port = self.child, self.port
        (self.folder / "replica").mkdir(exist_ok=True)
        self.port = ports.pick(self.folder / "replica", self.name,
                               usable=lambda port: port != old_port and ports.is_free(port))
        self.start()
        replica = self.client()
        replica.replicaof("127.0.0.1", old_port)
        deadline = time.monotonic() + 20
        while replica.info("replication").get("master_link_status") != "up":
            assert time.monotonic() < deadline, "the replica does not follow"
            time.sleep(0.05)
        replica.replicaof("NO", "ONE")
        time.sleep(lag_s)
        master.stop(0)
        self.proxy.point_to(("127.0.0.1", self.port))
