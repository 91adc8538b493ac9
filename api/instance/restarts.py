"""A part of the instance that is started again whenever it has ended, for as long as that takes.

Pure but for what it is handed: how to see that the part has ended, how to start it, and the time. It never waits and never
raises, so that one thread can watch all parts while some of them start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from mars.errors import MarsError

T = TypeVar("T")  # what a start of the part brings
LOG = logging.getLogger("mars.supervisor")
PAUSE_MAX_S = 60.0
# A part that has lived so long is well again: its next end is not one of a row.
WELL_S = 60.0


class Watched(Generic[T]):
    """One part, which is up when this is made. `step` is called again and again, by one thread.

    `fault` gives the reason once the part has ended, and None while it runs. `begin` starts it and returns at once; what its
    Future brings goes to `adopt`. Any exception of these is a start that failed, after which `clean` removes what it left.
    """

    def __init__(self, name: str, fault: Callable[[], Exception | None], begin: Callable[[], Future[T]],
                 adopt: Callable[[T], None], clean: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.trouble = ""  # why it is not up, and what comes next; empty while it is up
        self._fault, self._begin, self._adopt, self._clean = fault, begin, adopt, clean
        self._row = 0  # ends and failed starts, one soon after the other
        self._reason = ""
        self._up_since: float | None = float("-inf")
        self._next_at: float | None = None
        self._start: Future[T] | None = None

    def step(self, now: float) -> None:
        """Look once, and do what is due at this monotonic time."""
        try:
            self._do(now)
        except Exception as error:  # whatever it is: the other parts run on, and this one is tried again
            self._fail(error, now)

    def _do(self, now: float) -> None:
        if self._up_since is not None and (fault := self._fault()) is not None:
            self._row = 0 if now - self._up_since > WELL_S else self._row
            self._again(fault, now)
        if self._next_at is not None and now >= self._next_at:
            self._next_at = None
            self.trouble = f"{self._reason}; start {self._row} is under way"
            self._start = self._begin()
        elif self._start is not None and self._start.done():
            start, self._start = self._start, None
            self._adopt(start.result())
            self._up_since, self.trouble = now, ""
            LOG.warning("%s is up again", self.name)

    def _fail(self, error: Exception, now: float) -> None:
        self._start = None
        try:
            self._clean()
        except Exception:
            LOG.exception("what a failed start of %s left", self.name)
        self._again(error, now)

    def _again(self, fault: Exception, now: float) -> None:
        pause = pause_s(self._row)
        self._up_since, self._next_at, self._row = None, now + pause, self._row + 1
        self._reason = f"{self.name}: {_told(fault)}"
        self.trouble = f"{self._reason}; start {self._row} is due in {pause:.0f} s"
        LOG.warning("%s. %s", self.trouble, fault, exc_info=None if isinstance(fault, MarsError) else fault)


def _told(fault: Exception) -> str:
    """A fault in a line for people: of a call to the system what it is and which file it met."""
    if isinstance(fault, MarsError):
        return fault.title
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.strerror}: {fault.filename}" if fault.filename else fault.strerror
    return repr(fault)


def pause_s(row: int) -> float:
    """The pause before the next start, after so many ends in a row before this one: 0, 1, 2, 4 ... 60 s."""
    return min(2.0 ** min(row - 1, 10), PAUSE_MAX_S) if row else 0.0


def in_background(call: Callable[[], T]) -> Future[T]:
    """What the call will bring. It runs in a thread of its own, for which the end of this process does not wait."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # handed on, like the result
            future.set_exception(error)

    threading.Thread(target=run, name="start", daemon=True).start()
    return future
