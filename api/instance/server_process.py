"""The supervisor's side of the server process: start it, hear it, end it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from api.instance import supervise
from api.instance.services.paths import log_dir, tail
from mars.config import Config
from mars.errors import MarsError

READY_S = 240.0
PATIENCE_S = 8.0


class ServerProcess:
    """A server from its start on. Spark starts at once; the rest waits for the addresses that `ready`
    brings."""

    def __init__(self, config: Config, report: Callable[[str, str, float], None]) -> None:
        self.log = log_dir(config.data) / "server.log"
        self.report = report
        self.began = time.monotonic()
        self.process = supervise.spawn("api.instance.server", config.data, "server")
        self.url = ""
        self.error: MarsError | None = None
        self.settled = threading.Event()
        self._inbox, self._outbox = supervise.pipes(self.process)
        supervise.tell(self._inbox, {"config": config.to_json()})
        threading.Thread(target=self._listen, name="server-events", daemon=True).start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.process.pid

    def ready(self, config: Config) -> str:
        """Give the server all addresses, wait until it serves, return the API's URL.

        Raises MarsError with the server's own reason, or with the end of its log."""
        supervise.tell(self._inbox, {"config": config.to_json()})
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
        """End it and all that it started: ask, and kill after `patience_s`."""
        supervise.end(self.process, patience_s)

    def _listen(self) -> None:
        """Pass on what is ready; note the URL or the error that settles the start."""
        for event in supervise.hear(self._outbox):
            if "ready" in event:
                self.report(event["ready"], event["detail"], time.monotonic() - self.began)
            elif "error" in event:
                self.error = supervise.error(event)
            else:
                self.url = event["api"]
            if self.url or self.error:
                self.settled.set()
        self.settled.set()
