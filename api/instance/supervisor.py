"""The supervisor: it starts the services and the server, keeps them up, holds the run file, and ends them all.

The first start of an instance succeeds or fails as a whole. From then on no part's end ends another: each is started again,
by itself, until it is up (`api/instance/restarts.py`).
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import psutil

from api import tls
from api.instance import processes, runfile
from api.instance.processes import Process
from api.instance.restarts import Watched, in_background
from api.instance.runfile import Run
from api.instance.services import Service, ports, start_all
from api.instance.services.paths import log_dir, tail
from mars.config import Config
from mars.errors import ConflictError, MarsError

LOG = logging.getLogger("mars.supervisor")
API_PORT = 8642
WATCH_S = 0.5
LEFT_OVER_S = 1.0
READY_S = 240.0
PATIENCE_S = 8.0

# Hears what is ready: its name, where it answers, and after how many seconds.
Report = Callable[[str, str, float], None]


class ServerProcess:
    """A server from its start on. Spark starts at once; the rest waits for the addresses that `ready`
    brings."""

    def __init__(self, config: Config, report: Report) -> None:
        self.log = log_dir(config.data) / "server.log"
        self.report = report
        self.began = time.monotonic()
        self.process = processes.spawn("api.instance.server", config.data, "server")
        self.inbox, self.outbox = processes.pipes(self.process)
        self.url = ""
        self.error: MarsError | None = None
        self.settled = threading.Event()
        processes.tell(self.inbox, {"config": config.to_json()})
        threading.Thread(target=self._listen, name="server-events", daemon=True).start()

    def ready(self, config: Config) -> str:
        """Give the server all addresses, wait until it serves, return the API's URL.

        Raises MarsError with the server's own reason, or with the end of its log."""
        processes.tell(self.inbox, {"config": config.to_json()})
        if not self.settled.wait(READY_S):
            self.error = MarsError(f"The server is not ready after {READY_S:.0f} s", f"{self.log}:\n{tail(self.log)}")
        if not self.url:
            raise self.failure()
        return self.url

    def ended(self) -> bool:
        """Whether the process is gone."""
        return self.process.poll() is not None

    def failure(self) -> MarsError:
        """Why it ended: its own word, else the end of its log."""
        return self.error or MarsError("The server process ended", f"{self.log}:\n{tail(self.log)}")

    def stop(self, patience_s: float = PATIENCE_S) -> None:
        """End it and all that it started: ask, and kill after `patience_s`. Harmless once it has ended."""
        if not self.ended():
            processes.stop(Process.of(self.process.pid), patience_s)
            self.process.wait()

    def _listen(self) -> None:
        """Pass on what is ready; note the URL or the error that settles the start."""
        for event in processes.hear(self.outbox):
            if "ready" in event:
                self.report(event["ready"], event["detail"], time.monotonic() - self.began)
            elif "error" in event:
                self.error = processes.error(event)
            else:
                self.url = event["api"]
            if self.url or self.error:
                self.settled.set()
        self.settled.set()


class Supervisor:
    """One instance, from `start` to `stop`. Its methods are called from one thread."""

    def __init__(self, config: Config, report: Report) -> None:
        self.config = config
        self.report = report
        self.run = Run(Process.of(os.getpid()))
        self.server: ServerProcess | None = None
        self.services: list[Service] = []
        self.reserved: int | None = None
        self.saved = True

    def start(self) -> Run:
        """Start everything at once; return when all answer and each worker has registered.

        Raises MarsError with the reason when something does not come up; the caller calls `stop` in any
        case."""
        self.run.api_name, self.run.api_certificate = tls.certificate_name(self.config), self.config.api_tls_certificate
        self.config = self.config.model_copy(update={"api_port": self._api_port()})
        server = self._start_server()
        self.services = list(start_all(self.config, self.config.data, self._service_ready))
        self._server_ready(server.ready(self._with_addresses()))
        return self.run

    def watch(self) -> None:
        """Start again what ends by itself, for ever. Nothing that a part does ends this."""
        parts: list[Watched[Any]] = [self._watched_server(), *(self._watched_service(i) for i in range(len(self.services)))]
        while True:
            time.sleep(WATCH_S)
            for part in parts:
                part.step(time.monotonic())
            self._tell([part.trouble for part in parts if part.trouble])

    def stop(self) -> None:
        """End the server, then the services, then forget the run file."""
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        if self.server is not None:
            self.server.stop()
        for service in self.services:
            service.stop()
        runfile.remove(self.config.data)

    def _api_port(self) -> int:
        """The port that was asked for, else the one of last time, else the usual one, else any that is
        free."""
        asked = self.config.api_port
        if asked and not ports.is_free(asked, self.config.api_host):
            raise ConflictError(f"Port {asked} is taken", f"on {self.config.api_host}, by another program",
                                "give another with --port, or leave it out to get a free one")
        if asked:
            ports.remember(self.config.data, "api", asked)
        return asked or ports.pick(self.config.data, "api", API_PORT, self._is_ours)

    def _is_ours(self, port: int) -> bool:
        """Can the API have this port? It binds it only once all else is up, so it is kept from other instances now."""
        if not ports.is_free(port, self.config.api_host):
            return False
        self.reserved = ports.reserve(port)
        return self.reserved is not None

    def _watched_server(self) -> Watched[str]:
        def fault() -> MarsError | None:
            return self.server.failure() if self.server and self.server.ended() else None

        def begin() -> Future[str]:
            server, config = self._start_server(), self._with_addresses()
            return in_background(lambda: server.ready(config))

        return Watched("server", fault, begin, self._server_ready, self._stop_server)

    def _watched_service(self, place: int) -> Watched[Service]:
        name = self.services[place].name
        start = importlib.import_module(f"api.instance.services.{name}").start

        def adopt(service: Service) -> None:
            moved = service.address != self.services[place].address
            self.services[place] = service
            self._service_ready(service)
            if moved:  # the server knows the old address; it ends, and begins anew with this one
                self._stop_server()

        return Watched(name, lambda: self.services[place].fault(),  # noqa: PLW0108 each start puts another service there
                       lambda: in_background(lambda: start(self.config, self.config.data)), adopt)

    def _start_server(self) -> ServerProcess:
        self.run.state = runfile.STARTING
        self.server = ServerProcess(self.config, self.report)
        self._add("server", self.server.process.pid)
        return self.server

    def _stop_server(self) -> None:
        """End what is left of the server that was last."""
        if self.server is not None:
            self.server.stop(LEFT_OVER_S)

    def _server_ready(self, url: str) -> None:
        self.run.api, self.run.state = url, runfile.READY
        self._save()

    def _with_addresses(self) -> Config:
        """What the server is told: the configuration, and where the services answer."""
        return self.config.model_copy(update={f"{name}_address": getattr(self.run, name)
                                              for name in ("kafka", "redis", "zookeeper")})

    def _service_ready(self, service: Service) -> None:
        setattr(self.run, service.name, service.address)
        self._add(service.name, service.pid)
        self.report(f"{service.name} {service.version}", service.address, service.started_s)

    def _add(self, name: str, pid: int | None) -> None:
        try:
            if pid is not None:
                self.run.processes[name] = Process.of(pid)
        except psutil.NoSuchProcess:
            self.run.processes.pop(name, None)  # it has ended since, which the next look at it says
        self._save()

    def _tell(self, troubles: list[str]) -> None:
        if troubles != self.run.troubles or not self.saved:
            self.run.troubles = troubles
            self._save()

    def _save(self) -> None:
        """Write the run file; where that fails, try again later: a full disk ends no service."""
        try:
            self.run.save(self.config.data)
            self.saved = True
        except OSError as error:
            if self.saved:
                LOG.warning("the run file is not written: %s", error)
            self.saved = False
