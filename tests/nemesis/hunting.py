"""Hunts for planted bugs, one after another on one instance: first on the code as it is, then with each bug."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.nemesis.bugs import BUGS
from tests.nemesis.hunts import NO_RECOVERY, Hunt, load
from tests.nemesis.instance import Instance
from tests.nemesis.journal import Journal
from tests.nemesis.proxy import PASS
from tests.nemesis.rest import TooSlowError
from tests.nemesis.scene import Scene

TRIES, PATIENCE_S = 3, 60.0
PLANTED_S = 0.5
# What shows a bug, by a part of the line that tells it. That nothing goes on shows nothing.
EVIDENCE = {"lost: ": "a range that is nowhere", "went back": "a number that went back", "changed from": "a torn window",
            "is missing": "a row that is missing", "should not be": "a row too many", "differs": "a row that differs",
            "must be": "a counter that is wrong", "an invariant broke": "a range that overlaps"}


@dataclass(frozen=True)
class Result:
    """What came of a hunt: the evidence in a word, '' for none; the line that tells it; how long it took."""

    shown_by: str
    line: str
    seconds: float


class Hunter:
    """An instance to hunt on; everything of it is gone at the end of the block. `stopping`: end after this hunt."""

    def __init__(self, journal: Journal, say: Callable[[str], None]) -> None:
        self.journal, self.say, self.hunts = journal, say, load()
        self.instance = Instance(Path(tempfile.mkdtemp(prefix="mars-nemesis-")))
        self.stopping = threading.Event()
        self.number = 0

    def __enter__(self) -> Hunter:
        try:
            self.instance.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.instance.close()
        self.instance.purge()

    def run(self, bugs: list[str]) -> bool:
        """Hunt all of them, those of the server last, as it keeps them; True if each was red, and not without its bug."""
        controls = {bug: self._once(bug, self._hunt(bug)) for bug in bugs if not self.stopping.is_set()}
        good = []
        for bug in sorted(controls, key=lambda bug: BUGS[bug].in_server):
            if self.stopping.is_set():
                break
            self._plant(bug)
            result, control = self._once(f"{bug} (planted)", self._hunt(bug, until_red=True)), controls[bug]
            self.journal.add("hunt", bug=bug, shown_by=result.shown_by, line=result.line, seconds=result.seconds,
                             without=control.line)
            good.append(bool(result.shown_by) and not control.line)
        self.say(f"{sum(good)} of {len(bugs)} planted bugs went red, and not without them")
        return len(good) == len(bugs) and all(good)

    def _once(self, name: str, result: Result) -> Result:
        self.say(f"{name:58} {result.seconds:5.1f} s  {result.shown_by or '-':26} {result.line[:150]}")
        return result

    def _hunt(self, bug: str, until_red: bool = False) -> Result:
        """Try it until the machine was fast enough, and with the bug until it is red."""
        result = Result("", "never tried", 0.0)
        for _ in range(TRIES):
            began = time.monotonic()
            try:
                wrong = self._try(self.hunts[bug])
            except TooSlowError as error:
                self.say(f"{bug}: again, {error}")
                result = Result("", f"too slow: {error}", round(time.monotonic() - began, 1))
                continue
            told = [line for line in wrong if not line.startswith(NO_RECOVERY)]
            line = next((line for line in told if any(part in line for part in EVIDENCE)), next(iter(told or wrong), ""))
            shown_by = next((word for part, word in EVIDENCE.items() if told and part in line), "")
            result = Result(shown_by, line.partition("\n")[0], round(time.monotonic() - began, 1))
            if shown_by or not until_red:
                break
        return result

    def _try(self, hunt: Hunt) -> list[str]:
        self.number += 1
        self._await_workers()
        scene = Scene(self.instance, f"h{int(time.time())}_{self.number}", hunt.partitions, hunt.idle)
        try:
            return hunt.run(scene).wrong
        finally:
            self._heal()
            with contextlib.suppress(Exception):
                scene.drop(counts_what_is_left=False)

    def _heal(self) -> None:
        """Nothing of a hunt's faults is left."""
        for pattern in ("rest.*", "resting.*"):
            for file in self.instance.switches.glob(pattern):
                file.unlink(missing_ok=True)
        for server in self.instance.servers.values():
            server.proxy.set(PASS)
        self.instance.ensure()

    def _plant(self, bug: str) -> None:
        """All workers begin anew, with the bug; the server takes its own as soon as it is told."""
        self.instance.switch("bug", bug)
        pids = [pid for kind in ("mapper", "reducer") for pid in self.instance.workers(kind)]
        self.instance.kill_workers("mapper", "reducer")
        self.instance.unregister(*pids)
        time.sleep(PLANTED_S)

    def _await_workers(self) -> None:
        """Wait until each slot has a worker, and one leads."""
        deadline, config = time.monotonic() + PATIENCE_S, self.instance.config
        while (len(self.instance.workers("mapper")) < config.mappers or self.instance.leader() is None
               or len(self.instance.workers("reducer")) < config.reducers):
            if time.monotonic() > deadline:
                raise TooSlowError("the workers do not come back")
            time.sleep(0.1)
