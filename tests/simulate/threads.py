"""The runtime of simulated processes (mars/runtime/system.py): a clock and threads under the simulation's scheduler."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from mars.runtime.system import Runtime
from tests.simulate.scheduler import Scheduler, Source


def runtime(scheduler: Scheduler) -> Runtime:
    """That of all processes of a run; a thread belongs to its maker's node."""
    numbers = itertools.count()
    return Runtime(
        # Locks are never held across a call of an outside system, so nobody ever waits for one.
        Clock(scheduler), lambda: Event(scheduler), threading.Lock, lambda: Condition(scheduler),
        lambda work, name: Thread(scheduler, work, name), lambda: f"{next(numbers):08x}")


class Clock:
    """Stands for mars.runtime.system.SystemClock."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.sleep = scheduler.sleep

    def monotonic_s(self) -> float:
        return self.scheduler.now

    def wall_ms(self) -> int:
        return int(self.scheduler.now * 1000)

    def thread_cpu_s(self) -> float:
        return 0.0


class Event(Source):
    """Stands for threading.Event."""

    flag = False

    def is_set(self) -> bool:
        return self.flag

    def set(self) -> None:
        self.flag = True
        self.notify()

    def clear(self) -> None:
        self.flag = False

    def wait(self, timeout: float) -> bool:
        if self.flag:
            self.scheduler.step()  # so that whoever never waits is found to run in circles
        else:
            self.scheduler.sleep(timeout, self)
        return self.flag


class Condition(Source):
    """Stands for threading.Condition."""

    def __enter__(self) -> None:
        """Nobody holds it while another one goes on."""

    def __exit__(self, *_: object) -> None:
        """As it was."""

    def wait_for(self, predicate: Callable[[], object], timeout: float) -> object:
        until = self.scheduler.now + timeout
        while not (found := predicate()) and self.scheduler.now < until:
            self.scheduler.sleep(until - self.scheduler.now, self)
        return found

    def notify_all(self) -> None:
        self.notify()


class Lock(Source):
    """Stands for threading.Lock where nobody waits for outside systems alone: whoever takes it may rest before, so that
    others come first, as between any two steps of a thread."""

    def __init__(self, scheduler: Scheduler, rest: Callable[[], None]) -> None:
        super().__init__(scheduler)
        self.rest = rest
        self.held = False

    def __enter__(self) -> None:
        self.rest()
        while self.held:
            self.scheduler.sleep(60.0, self)
        self.held = True

    def __exit__(self, *_: object) -> None:
        self.held = False
        self.notify()


class Thread(Source):
    """Stands for threading.Thread, started. An error ends it and nothing else, and is noted."""

    def __init__(self, scheduler: Scheduler, work: Callable[[], object], name: str) -> None:
        super().__init__(scheduler)
        node = scheduler.current.node
        self.work, self.actor = work, scheduler.spawn(f"{node} {name}", node, self._run)

    def _run(self) -> None:
        try:
            self.work()
        except Exception as error:
            self.scheduler.crashes.append((self.actor.name, error))
        self.notify()

    def is_alive(self) -> bool:
        return not self.actor.done

    def join(self, timeout: float) -> None:
        if self.is_alive():
            self.scheduler.sleep(timeout, self)
