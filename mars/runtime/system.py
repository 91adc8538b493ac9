"""Time, threads and new ids, as one thing to hand on: whoever needs them takes a Runtime, or its Clock, by its constructor.

SYSTEM is what a process has, and the default everywhere. A test hands a clock of its own, and the simulation all of it.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Time as one process sees it."""

    def monotonic_s(self) -> float:
        """Seconds since some moment of the past; they never go back."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970 by this host's clock, which may be set."""

    def thread_cpu_s(self) -> float:
        """Processor seconds that the calling thread has used."""

    def sleep(self, seconds: float) -> None:
        """Return after so long."""


class Event(Protocol):
    """As threading.Event."""

    def is_set(self) -> bool: ...
    def set(self) -> None: ...
    def clear(self) -> None: ...
    def wait(self, timeout: float, /) -> bool: ...


class Condition(AbstractContextManager, Protocol):
    """As threading.Condition. Its lock is never held across a call of an outside system."""

    def wait_for(self, predicate: Callable[[], object], timeout: float, /) -> object: ...
    def notify_all(self) -> None: ...


class Thread(Protocol):
    """As threading.Thread, started."""

    def is_alive(self) -> bool: ...
    def join(self, timeout: float, /) -> None: ...


@dataclass(frozen=True)
class Runtime:
    """`start(work, name)` runs work in a thread that does not outlive the process; `new_id` gives 32 hexadecimal digits
    that nobody has had."""

    clock: Clock
    event: Callable[[], Event]
    lock: Callable[[], AbstractContextManager]
    condition: Callable[[], Condition]
    start: Callable[[Callable[[], object], str], Thread]
    new_id: Callable[[], str]


class SystemClock:
    """The Clock of this host."""

    monotonic_s = staticmethod(time.monotonic)
    thread_cpu_s = staticmethod(time.thread_time)
    sleep = staticmethod(time.sleep)

    def wall_ms(self) -> int:
        """See Clock."""
        return int(time.time() * 1000)


def _start(work: Callable[[], object], name: str) -> Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


SYSTEM = Runtime(SystemClock(), threading.Event, threading.Lock, threading.Condition, _start, lambda: uuid.uuid4().hex)
