"""Redis that forgets: all, or its last moments; that is full; and one that another one takes the place of (N6-N9)."""

from __future__ import annotations

import os
import signal

from tests.nemesis.faults import Fault


class Flushed(Fault):
    """FLUSHALL: the same server, empty."""

    number, weight = "N7", 3.0
    hold_s = (0.1, 1.0)

    def inflict(self) -> None:
        self.instance.redis.client().flushall()


class RestartedEmpty(Fault):
    number = "N7"
    hold_s = (0.1, 2.0)

    def inflict(self) -> None:
        self.has_struck = self.instance.redis.signal(signal.SIGKILL)
        for file in self.instance.redis.log_tail().parent.iterdir():
            file.unlink()


class RolledBack(Fault):
    """It restarts as an earlier state of itself: the append-only file has lost its end."""

    number, weight = "N6", 3.0
    hold_s = (0.1, 1.0)

    def inflict(self) -> None:
        self.instance.redis.signal(signal.SIGKILL)
        log = self.instance.redis.log_tail()
        size, lost = log.stat().st_size, int(10 ** self.rng.uniform(2, 6))
        self.has_struck = size > 0
        os.truncate(log, max(0, size - lost))


class FailedOver(Fault):
    """A replica that lags behind takes over."""

    number, weight = "N9", 2.0
    hold_s = (0.1, 1.0)

    def inflict(self) -> None:
        self.instance.redis.fail_over(self.rng.uniform(0.0, 2.0))


class MemorySqueezed(Fault):
    """Hardly more than it holds already: scripts that write are refused, those that free memory run."""

    number = "N8"
    hold_s = (2.0, 9.0)

    def inflict(self) -> None:
        client = self.instance.redis.client()
        self.limit = client.config_get("maxmemory")["maxmemory"]
        client.config_set("maxmemory", client.info("memory")["used_memory"] + self.rng.randrange(100_000))

    def heal(self) -> None:
        if hasattr(self, "limit"):
            self.instance.redis.client().config_set("maxmemory", self.limit)
