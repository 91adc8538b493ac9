"""Three nodes: network namespaces in which the workers live, each on a cable of its own that can be pulled out. Needs root.

Node i has 10.n.i.2, this machine 10.n.i.1 at the other end; services are found at 10.n.0.1. Everything goes by itself when
the namespaces go, at the latest with this process.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess

COUNT = 3
FIRST_NET, LAST_NET = 200, 250


class Nodes:
    """Made when constructed; `close` takes them away."""

    def __init__(self) -> None:
        self.prefix, self.net = f"mn{os.getpid()}", f"10.{random.randint(FIRST_NET, LAST_NET)}"
        self.address = f"{self.net}.0.1"
        self.files = [f"/run/netns/{self.prefix}-{number}" for number in range(1, COUNT + 1)]
        try:
            for number in range(COUNT + 1):
                self._make(number)
        except OSError:
            self.close()
            raise

    def _make(self, number: int) -> None:
        space, near, far = f"{self.prefix}-{number}", f"{self.prefix}h{number}", f"{self.prefix}n{number}"
        _ip("netns", "add", space)
        _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", space)
        _ip("addr", "add", f"{self.net}.{number}.1/30", "dev", near)
        _ip("link", "set", near, "up")
        _ip("-n", space, "addr", "add", f"{self.net}.{number}.2/30", "dev", far)
        _ip("-n", space, "link", "set", far, "up")
        _ip("-n", space, "link", "set", "lo", "up")
        _ip("-n", space, "route", "add", "default", "via", f"{self.net}.{number}.1")
        if number:
            # While its cable is out, what is sent to a node goes to the empty namespace 0, and never out of the machine.
            _ip("route", "add", f"{self.net}.{number}.0/30", "dev", f"{self.prefix}h0", "metric", "9999")

    def pull(self, number: int) -> None:
        """Take the cable of node 1, 2 or 3 out: packets vanish, nobody is told."""
        _ip("link", "set", f"{self.prefix}h{number}", "down")

    def plug(self, number: int) -> None:
        """Put it in again."""
        _ip("link", "set", f"{self.prefix}h{number}", "up")

    def close(self) -> None:
        """Delete the namespaces; cables and routes go with them."""
        for number in range(COUNT + 1):
            with contextlib.suppress(OSError):
                _ip("link", "del", f"{self.prefix}h{number}")
            with contextlib.suppress(OSError):
                _ip("netns", "del", f"{self.prefix}-{number}")


def make() -> Nodes | None:
    """Nodes, or None where the kernel or the tools do not have them."""
    try:
        return Nodes()
    except OSError:
        return None


def _ip(*words: str) -> None:
    run = subprocess.run(["ip", *words], capture_output=True, text=True)
    if run.returncode:
        raise OSError(f"ip {' '.join(words)}: {run.stderr.strip()}")
