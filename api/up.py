"""The composition root: a supervisor that starts the services and the server, holds the run file, and ends
them all.

Runs inside `mars up`, or as `python -m api.up` for `mars up --detach`: then it takes its configuration as one
JSON line on stdin, reports as JSON lines on stdout, and closes stdout once it is ready.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from api import runfile, supervise, tls
from api.runfile import Process, Run
from api.server_process import ServerProcess
from api.services import Service, ports, start_all
from api.services.paths import log_dir, tail
from mars import config as configuration
from mars.config import Config
from mars.errors import ConflictError, MarsError, NotReadyError

LOG = logging.getLogger("mars.supervisor")
API_PORT = 8642
WATCH_S = 0.5

# Hears what is ready: its name, where it answers, and after how many seconds.
Report = Callable[[str, str, float], None]


class Terminated(BaseException):
    """SIGTERM came: stop, as asked."""


class Supervisor:
    """One instance, from `start` to `stop`. Its methods are called from one thread."""

    def __init__(self, config: Config, report: Report) -> None:
        self.config = config
        self.report = report
        self.run = Run(Process.of(os.getpid()))
        self.server: ServerProcess | None = None
        self.services: list[Service] = []
        self.reserved: int | None = None

    def start(self) -> Run:
        """Start everything at once; return when all answer and each worker has registered.

        Raises MarsError with the reason when something does not come up; the caller calls `stop` in any
        case."""
        self.run.api_name, self.run.api_certificate = tls.certificate_name(self.config), self.config.api_tls_certificate
        self.config = self.config.model_copy(update={"api_port": self._api_port()})
        self._start_server()
        self.services = start_all(self.config, self.config.data, self._service_ready).all()
        self._await_server()
        return self.run

    def watch(self) -> None:
        """Start again what ends by itself. Never returns; raises MarsError when a part does not come back."""
        while True:
            time.sleep(WATCH_S)
            for place, service in enumerate(self.services):
                try:
                    service.check()
                except NotReadyError as error:
                    LOG.warning("starting again what has ended: %s", error)
                    start = importlib.import_module(f"api.services.{service.name}").start
                    self.services[place] = start(self.config, self.config.data)
                    self._service_ready(self.services[place])
            if self.server.ended():
                LOG.warning("%s", self.server.failure())
                self._start_server()
                self._await_server()

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
        return asked or ports.pick(self.config.data, "api", API_PORT, self._is_ours)

    def _is_ours(self, port: int) -> bool:
        """Can the API have this port? It binds it only once all else is up, so it is kept from other instances now."""
        if not ports.is_free(port, self.config.api_host):
            return False
        self.reserved = ports.reserve(port)
        return self.reserved is not None

    def _start_server(self) -> None:
        self.run.state = runfile.STARTING
        self.server = ServerProcess(self.config, self.report)
        self._add("server", self.server.pid)

    def _service_ready(self, service: Service) -> None:
        setattr(self.run, service.name, service.address)
        self._add(service.name, service.pid)
        self.report(f"{service.name} {service.version}", service.address, service.started_ms / 1000)

    def _add(self, name: str, pid: int | None) -> None:
        if pid is not None:
            self.run.processes[name] = Process.of(pid)
        self.run.save(self.config.data)

    def _await_server(self) -> None:
        """Tell the server where the services answer; wait until it is ready."""
        found = {f"{name}_address": getattr(self.run, name) for name in ("kafka", "redis", "zookeeper")}
        self.run.api = self.server.ready(self.config.model_copy(update=found))
        self.run.state = runfile.READY
        self.run.save(self.config.data)


def serve(config: Config, report: Report, ready: Callable[[Run], None]) -> None:
    """Run an instance in this process until a signal or a fault; stop it whole in any case.

    Raises MarsError with the reason for an end that nobody asked for, KeyboardInterrupt after SIGINT; returns
    after SIGTERM or SIGHUP."""
    descriptor = runfile.lock(config.data)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, _terminate)
    supervisor = Supervisor(config, report)
    try:
        ready(supervisor.start())
        supervisor.watch()
    except Terminated:
        pass
    finally:
        supervisor.stop()
        os.close(descriptor)


def detach(config: Config, report: Report) -> Run:
    """Start an instance that outlives this process; return when it is ready.

    Raises MarsError with its reason when it cannot start; it has then stopped what it had started."""
    child = supervise.spawn("api.up", config.data, "supervisor")
    try:
        supervise.tell(child.stdin, {"config": config.to_json()})
        child.stdin.close()
        for event in supervise.hear(child.stdout):
            if "ready" in event:
                report(event["ready"], event["detail"], event["seconds"])
            elif "error" in event:
                child.wait()
                raise supervise.error(event)
            elif "done" in event:
                child.stdout.close()
                child.returncode = 0  # it is meant to outlive us, so Popen need not warn that it does
                return runfile.require(config.data)
        log = log_dir(config.data) / "supervisor.log"
        raise MarsError("The supervisor ended", f"its last words are in {log}:\n{tail(log)}")
    except KeyboardInterrupt:
        child.terminate()
        child.wait()
        raise


def down(data: Path, patience: float = 20.0) -> bool:
    """Stop the instance on this folder, and whatever a killed supervisor left behind; True if anything
    ran."""
    run = runfile.read(data)
    if run is None:
        return False
    ran = [p for p in (run.supervisor, *run.processes.values()) if p.find()]
    supervise.stop(run.supervisor, patience)
    for process in run.processes.values():
        supervise.stop(process, 1.0)
    runfile.remove(data)
    return bool(ran)


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def main() -> None:
    """The detached supervisor."""
    message = next(supervise.hear(sys.stdin.buffer))
    config = configuration.Config.from_json(message["config"])
    stream = supervise.take_stdout()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")

    def report(name: str, detail: str, seconds: float) -> None:
        supervise.tell(stream, {"ready": name, "detail": detail, "seconds": seconds})

    def ready(run: Run) -> None:
        supervise.tell(stream, {"done": run.api})
        stream.close()

    try:
        serve(config, report, ready)
    except MarsError as error:
        if stream.closed:
            raise
        supervise.tell(stream, supervise.event(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
