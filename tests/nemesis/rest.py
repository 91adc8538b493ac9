"""Rests: a thread of a worker stops where it is told to, and all others of its process go on (tests/nemesis/hooks.py)."""

from __future__ import annotations

import time
from pathlib import Path

from tests.nemesis.instance import Instance

POLL_S, PATIENCE_S = 0.02, 15.0


class TooSlowError(Exception):
    """The machine was too slow for what was to be shown: it is to be tried again."""


class Rest:
    """An order to rest at a point, for any process or for one; `reached` once a thread does, until `end`."""

    def __init__(self, instance: Instance, point: str, pid: int | None = None) -> None:
        self.folder, self.point, self.pid = instance.switches, point, pid
        self.order = self.folder / (f"rest.{point}.{pid}" if pid else f"rest.{point}")
        self.order.write_text("")

    def reached(self, timeout_s: float = PATIENCE_S) -> int:
        """Wait until a thread rests; the pid of its process."""
        deadline = time.monotonic() + timeout_s
        while self.order.exists() or not (resting := self._resting()):
            if time.monotonic() > deadline:
                raise TooSlowError(f"not within {timeout_s:.0f} s: a rest at {self.point}")
            time.sleep(POLL_S)
        return int(resting[0].name.rsplit(".", 1)[1])

    def end(self) -> None:
        """Let it go on; withdraw the order if nobody has come."""
        for file in (resting := self._resting()):
            file.unlink(missing_ok=True)
        if not resting:
            self.order.unlink(missing_ok=True)

    def _resting(self) -> list[Path]:
        return list(self.folder.glob(f"resting.{self.point}.{self.pid or '*'}"))
