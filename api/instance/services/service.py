"""A service that Mars uses: one that it started itself, or a foreign one that it only looked at."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from api.instance.services.process import Child
from mars.errors import ConfigurationError, NotReadyError


@dataclass
class Service:
    """`address` is host:port (several with commas if foreign). `version` is empty if it does not tell. `started_s` is how
    long it took from the start to ready. Of a foreign service `pid` is None, and `started_s` 0."""

    name: str
    address: str
    version: str
    child: Child | None = field(default=None, repr=False)
    started_s: float = 0.0

    @property
    def pid(self) -> int | None:
        return self.child.pid if self.child else None

    def fault(self) -> NotReadyError | None:
        """Why the process, not a foreign one, has ended, with its last log lines; None while it runs."""
        return self.child.fault() if self.child else None

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stops the process within `timeout_s` and a moment; leaves a foreign service alone."""
        if self.child:
            self.child.stop(timeout_s)


def ready(name: str, address: str, child: Child, version: Callable[[], str], timeout_s: float) -> Service:
    """A service of our own once it tells its version. If it does not get ready, it is ended, and the error goes on."""
    try:
        told = child.wait_ready(version, timeout_s)
        return Service(name, address, told, child, time.monotonic() - child.began)
    except BaseException:
        child.stop()
        raise


def host_port(address: str, setting: str) -> tuple[str, int]:
    """The first host and port of an address. Raises ConfigurationError that names the setting."""
    host, _, port = address.split(",", maxsplit=1)[0].rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f"{setting} = {address!r} is no address", "give it as host:port")
    return host, int(port)


def reach(address: str, setting: str, timeout_s: float = 3.0) -> None:
    """Raises NotReadyError unless something listens at one of the foreign addresses."""
    fault: OSError | None = None
    for one in address.split(","):
        try:
            with socket.create_connection(host_port(one, setting), timeout_s):
                return
        except OSError as error:
            fault = error
    raise NotReadyError(f"Nothing answers at {setting} = {address}", str(fault),
                        f"start it, or leave {setting} empty and Mars starts its own")
