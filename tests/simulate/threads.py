"""The runtime of simulated processes (mars/runtime/system.py): a clock and threads under the simulation's scheduler."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from mars.runtime.system import Runtime
from tests.simulate.scheduler import Actor, Scheduler, Source


def runtime(scheduler: Scheduler) -> Runtime:
    """That of all processes of a run; a thread belongs to its maker's node."""
    numbers = itertools.count()
    return Runtime(
        # Locks are never held across a call of an outside system, so nobody ever waits for one.
        Clock(scheduler), lambda: Event(scheduler), threading.Lock, lambda: Condition(scheduler),
        lambda work, name: Thread(scheduler, work, name).begin(), lambda: f"{next(numbers):08x}")


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


class Time:
    """Stands for the module `time`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.sleep = scheduler.sleep

    def monotonic(self) -> float:
        return self.scheduler.now

    time = monotonic

    def thread_time(self) -> float:
        return 0.0

    def time_ns(self) -> int:
        return int(self.scheduler.now * 1e9)


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


class Semaphore(Source):
    """Stands for threading.Semaphore."""

    def __init__(self, scheduler: Scheduler, value: int) -> None:
        super().__init__(scheduler)
        self.value = value

    def acquire(self, timeout: float) -> bool:
        if not self.value:
            self.scheduler.sleep(timeout, self)
        if not self.value:
            return False
        self.value -= 1
        return True

    def release(self) -> None:
        self.value += 1
        self.notify()


class Threading:
    """Stands for the module `threading`: what the workers use of it. A thread belongs to its maker's node."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    def Event(self) -> Event:  # noqa: N802
        return Event(self.scheduler)

    def Semaphore(self, value: int) -> Semaphore:  # noqa: N802
        return Semaphore(self.scheduler, value)

    def Lock(self) -> threading.Lock:  # noqa: N802
        # Never held across a call of an outside system, so nobody ever waits for it.
        return threading.Lock()

    def Thread(self, target: Callable[[], object], name: str, daemon: bool) -> Thread:  # noqa: N802
        return Thread(self.scheduler, target, name)


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
    """Stands for threading.Thread. An error ends it and nothing else, and is noted."""

    def __init__(self, scheduler: Scheduler, target: Callable[[], object], name: str) -> None:
        super().__init__(scheduler)
        self.target, self.name = target, name
        self.actor: Actor | None = None

    def begin(self) -> Thread:
        self.start()
        return self

    def start(self) -> None:
        node = self.scheduler.current.node
        self.actor = self.scheduler.spawn(f"{node} {self.name}", node, self._run)

    def _run(self) -> None:
        try:
            self.target()
        except Exception as error:
            self.scheduler.crashes.append((self.actor.name, error))
        self.notify()

    def is_alive(self) -> bool:
        return self.actor is not None and not self.actor.done

    def join(self, timeout: float = 60.0) -> None:
        if self.is_alive():
            self.scheduler.sleep(timeout, self)


class Empty(Exception):
    """Stands for queue.Empty."""


class Queue(Source):
    """Stands for queue.Queue without a limit."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.items: list = []

    def empty(self) -> bool:
        return not self.items

    def put(self, item: object) -> None:
        self.items.append(item)
        self.notify()

    def get(self, timeout: float) -> object:
        if not self.items:
            self.scheduler.sleep(timeout, self)
        if not self.items:
            raise Empty
        return self.items.pop(0)
