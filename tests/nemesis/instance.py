"""The Mars under test: `mars up` on services of our own, with its processes by what they do."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from api.cli.client import Client
from api.instance import runfile
from api.instance.services import ports
from api.instance.services.paths import log_dir, tail
from api.instance.services.process import Child
from mars.config import Config, load
from mars.errors import MarsError
from mars.model import names
from tests.nemesis.brokers import Kafka
from tests.nemesis.nodes import Nodes
from tests.nemesis.services import Redis, ZooKeeper

ROOT = Path(__file__).resolve().parents[2]
HOOK = Path(__file__).parent / "hook"
logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # that ZooKeeper goes away is what we do to it
UP_S, POLL_S, ANSWER_S = 300.0, 0.1, 2.0
# Short runs, leases and sessions, so that each fault meets work under way and shows within seconds.
SETTINGS = {"mappers": 2, "reducers": 2, "key_parts": 2, "batch_tuples": 1_000, "run_tuples_max": 20_000, "lease_ms": 3_000,
            "zookeeper_session_ms": 4_000, "spark_driver_memory_mb": 512, "kafka_heap_mb": 512,
            "redis_memory_bytes_max": 256 * 1024 * 1024, "future_limit_ms": 0, "publishers": 2}
PLACES = {"mapper": names.MAPPERS, "reducer": names.REDUCERS, "publisher": names.PUBLISHERS}
UP = [sys.executable, "-P", "-c", "from api.cli import main; main()", "up"]


class Instance:
    """Starts with `start`, ends with `close`. `nodes` are where its workers live, None for this machine."""

    def __init__(self, folder: Path, nodes: Nodes | None = None, brokers: int = 1) -> None:
        self.folder, self.data, self.nodes = folder, folder / "mars", nodes
        self.orders, self.switches = folder / "orders", folder / "switches"
        for place in (self.data, self.orders, self.switches):
            place.mkdir(parents=True, exist_ok=True)
        self.environment = {"NEMESIS_SWITCHES": str(self.switches), "NEMESIS_NODES": ",".join(nodes.files if nodes else [])}
        ports.pick(self.data, "api")  # not the one that all take: while this Mars is down, another might answer there
        self.take(ROOT, 0)
        base, host = load({"data": folder, **SETTINGS}, environment={}), nodes.address if nodes else "127.0.0.1"
        self.kafka = Kafka(base, folder, host, brokers)
        self.redis, self.zookeeper = (kind(base, folder, host) for kind in (Redis, ZooKeeper))
        self.servers = {server.name: server for server in (self.kafka, self.redis, self.zookeeper)}
        self.config: Config = base.model_copy(update={
            "data": self.data, "fault_folder": str(self.orders),
            **{f"{name}_address": server.proxy.address for name, server in self.servers.items()}})
        self.mars: Child | None = None
        self._known: dict[str, dict[int, dict]] = {kind: {} for kind in PLACES}

    def start(self) -> None:
        """Services and Mars are ready when this returns."""
        with ThreadPoolExecutor(3) as pool:
            for started in [pool.submit(server.start) for server in self.servers.values()]:
                started.result()
        self.zk = KazooClient(self.zookeeper.address, timeout=30)
        self.zk.start(timeout=20)
        self.up()

    def take(self, code: Path, newer: int) -> None:
        """Use the code in a folder from the next start on; `newer`: how many versions it is newer than this tree."""
        self.newer = newer
        self.environment["PYTHONPATH"] = os.pathsep.join((str(HOOK), str(code), str(ROOT)))

    def launch(self, name: str, environment: dict[str, str], **changes: object) -> Child:
        """`mars up` with these changes of its settings."""
        config = self.config.model_copy(update=changes)
        file, wanted = self.folder / f"{name}.toml", json.loads(config.to_json())
        file.write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in wanted.items()
                                  if name in self.config.model_fields_set))
        return Child(name, [*UP, "--config", str(file)], log_dir(self.folder) / f"{name}-{time.time():.0f}.log",
                     environment=environment)

    def up(self) -> None:
        """`mars up`, on the same data as before."""
        self.mars = self.launch("up", self.environment)
        deadline = time.monotonic() + UP_S
        while (run := runfile.running(self.data)) is None or run.state != runfile.READY:
            self.mars.check()
            if time.monotonic() > deadline:
                raise MarsError("mars up is not ready", tail(self.data / "logs" / "server.log"))
            time.sleep(POLL_S)
        self.api = Client(run.api, timeout_s=15)

    def ensure_services(self) -> None:
        """Let Kafka, Redis and ZooKeeper run."""
        for server in self.servers.values():
            server.ensure()

    def ensure(self) -> None:
        """Let everything run: services, and Mars if it has ended."""
        self.ensure_services()
        if self.mars.exit_code() is not None:
            self.up()

    def close(self) -> None:
        """Stop all, as far as it runs."""
        if self.mars:
            self.mars.stop(25)
        with contextlib.suppress(Exception):
            self.zk.stop()
        for server in self.servers.values():
            server.stop()

    def purge(self) -> None:
        """Delete all that it has written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- who runs -------------------------------------------------------------------------------------------------

    def workers(self, kind: str) -> dict[int, dict]:
        """pid -> what the worker told of itself, of the live workers of a kind; while ZooKeeper is away, as last known."""
        path = PLACES[kind]
        if self.zk.connected:
            with contextlib.suppress(Exception):
                children = self.zk.get_children_async(path).get(timeout=ANSWER_S)
                told = [json.loads(self.zk.get_async(f"{path}/{child}").get(timeout=ANSWER_S)[0]) for child in children]
                self._known[kind] = {worker["pid"]: worker for worker in told}
        return {pid: worker for pid, worker in self._known[kind].items() if psutil.pid_exists(pid)}

    def leader(self) -> int | None:
        """The pid of the reducer that leads, as far as known."""
        return next((pid for pid, worker in self.workers("reducer").items() if worker["leader"]), None)

    def process(self, word: str) -> int | None:
        """The pid of the first process of Mars that has this very word in its command line, as 'api.instance.server'."""
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self.mars.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if word in process.cmdline():
                        return process.pid
        return None

    def signal(self, pid: int | None, number: signal.Signals) -> bool:
        """Send it; False if there is no such process."""
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                return True
        return False

    def kill_workers(self, *kinds: str) -> bool:
        """SIGKILL for every mapper, reducer, or both; False if none is known."""
        killed = [pid for kind in kinds for pid in self.workers(kind) if self.signal(pid, signal.SIGKILL)]
        return bool(killed)

    def unregister(self, *pids: int) -> None:
        """Take back what killed workers have registered in ZooKeeper, as the end of their sessions would some seconds
        later."""
        ended = {worker["id"]: f"{path}/{worker['id']}" for kind, path in PLACES.items()
                 for pid, worker in self._known[kind].items() if pid in pids}
        candidates = {self.zk.get(path)[0].decode(): path for child in self.zk.get_children(names.ELECTION)
                      for path in [f"{names.ELECTION}/{child}"]}
        for id_, path in ended.items():
            for registered in filter(None, (path, candidates.get(id_))):
                with contextlib.suppress(NoNodeError):
                    self.zk.delete(registered)

    def switch(self, name: str, value: str = "") -> None:
        """Tell the hook in Mars's processes something; '' takes it back."""
        file = self.switches / name
        draft = self.folder / f"{name}.draft"
        draft.write_text(value)
        draft.rename(file) if value else (draft.unlink(), file.unlink(missing_ok=True))
