"""Deterministic actors: threads of which exactly one runs at a time, under a clock and a die of the simulation's own.

The real code calls `time`, `threading` and `queue`; it is handed the stand-ins at the end of this file. Each call of an
outside system is a point at which another actor may go on, at which an actor can be killed, or its node be paused.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

STEP_S = 0.0005
SWITCH = 0.35


class Killed(BaseException):
    """The process of this actor has got SIGKILL: it does nothing any more."""


class Stuck(Exception):
    """No actor can ever go on, or the run has taken too many steps."""


class Actor:
    """A thread of some node. `wake` is when it goes on by itself, `until` what lets it go on earlier."""

    def __init__(self, name: str, node: str) -> None:
        self.name, self.node = name, node
        self.baton = threading.Lock()
        self.baton.acquire()
        self.thread: threading.Thread | None = None
        self.wake, self.until = 0.0, None
        self.dead = self.done = False
        self.error: BaseException | None = None


class Scheduler:
    """Who goes on, and when. `steps` counts the calls of outside systems; `steps_max` ends a run that goes on for ever."""

    def __init__(self, seed: int, steps_max: int = 200_000) -> None:
        self.random = random.Random(seed)
        self.now, self.steps, self.steps_max = 1_000.0, 0, steps_max
        self.current = Actor("driver", "driver")
        self.actors = [self.current]
        self.paused: dict[str, float] = {}

    def spawn(self, name: str, node: str, work: Callable[[], object]) -> Actor:
        """Start an actor; it goes on when its turn comes."""
        actor = Actor(name, node)
        actor.wake = self.now

        def body() -> None:
            actor.baton.acquire()
            try:
                if not actor.dead:
                    work()
            except BaseException as error:  # how an actor ends is for the driver to judge
                actor.error = error
            actor.done = True
            self._hand_over()

        actor.thread = threading.Thread(target=body, name=name, daemon=True)
        self.actors.append(actor)
        actor.thread.start()
        return actor

    def step(self) -> None:
        """An outside system is called: time goes by, and another actor may come first."""
        actor = self.current
        if actor.dead:
            raise Killed
        self.now += STEP_S
        self.steps += 1
        if self.steps > self.steps_max:
            self.steps_max += 10_000
            raise Stuck(f"{self.steps} steps")
        if actor.node in self.paused or self.random.random() < SWITCH:
            actor.wake = self.now
            self._yield(actor)

    def sleep(self, seconds: float, until: Callable[[], bool] | None = None) -> None:
        """Wait so long, or until the condition holds."""
        actor = self.current
        if actor.dead:
            raise Killed
        actor.wake, actor.until = self.now + max(seconds, STEP_S), until
        self._yield(actor)
        actor.until = None

    def kill(self, node: str) -> None:
        """Every actor of the node ends without another call."""
        for actor in self.actors:
            if actor.node == node and not actor.done:
                actor.dead, actor.wake, actor.until = True, self.now, None
        self.paused.pop(node, None)

    def close(self) -> None:
        """End all actors; the driver alone calls this."""
        for actor in self.actors[1:]:
            actor.dead, actor.wake = True, self.now
        self.paused.clear()
        while any(not actor.done for actor in self.actors[1:]):
            self.current.wake = self.now + 1.0
            self._yield(self.current)
        for actor in self.actors[1:]:
            actor.thread.join()

    def _yield(self, actor: Actor) -> None:
        following = self._next()
        if following is not actor:
            self.current = following
            following.baton.release()
            actor.baton.acquire()
        if actor.dead:
            raise Killed

    def _hand_over(self) -> None:
        """This actor is through."""
        self.actors.remove(self.current)
        self.current = self._next()
        self.current.baton.release()

    def _next(self) -> Actor:
        now = self.now
        ready = [a for a in self.actors if (a.wake <= now or (a.until and a.until())) and not self._is_paused(a)]
        if ready:
            return ready[0] if len(ready) == 1 else ready[int(self.random.random() * len(ready))]
        first = min((a for a in self.actors if a.node not in self.paused), key=lambda a: a.wake)
        self.now = max(self.now, first.wake)
        return first

    def _is_paused(self, actor: Actor) -> bool:
        until = self.paused.get(actor.node)
        if until is None:
            return False
        if until > self.now:
            return True
        del self.paused[actor.node]
        return False


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


class Event:
    """Stands for threading.Event."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler, self.flag = scheduler, False

    def is_set(self) -> bool:
        return self.flag

    def set(self) -> None:
        self.flag = True

    def clear(self) -> None:
        self.flag = False

    def wait(self, timeout: float) -> bool:
        if self.flag:
            self.scheduler.step()  # so that whoever never waits is found to run in circles
        else:
            self.scheduler.sleep(timeout, self.is_set)
        return self.flag


class Semaphore:
    """Stands for threading.Semaphore."""

    def __init__(self, scheduler: Scheduler, value: int) -> None:
        self.scheduler, self.value = scheduler, value

    def acquire(self, timeout: float) -> bool:
        if not self.value:
            self.scheduler.sleep(timeout, lambda: self.value > 0)
        if not self.value:
            return False
        self.value -= 1
        return True

    def release(self) -> None:
        self.value += 1


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


class Thread:
    """Stands for threading.Thread."""

    def __init__(self, scheduler: Scheduler, target: Callable[[], object], name: str) -> None:
        self.scheduler, self.target, self.name = scheduler, target, name
        self.actor: Actor | None = None

    def start(self) -> None:
        node = self.scheduler.current.node
        self.actor = self.scheduler.spawn(f"{node} {self.name}", node, self.target)

    def is_alive(self) -> bool:
        return self.actor is not None and not self.actor.done

    def join(self, timeout: float = 60.0) -> None:
        if self.is_alive():
            self.scheduler.sleep(timeout, lambda: self.actor.done)


class Empty(Exception):
    """Stands for queue.Empty."""


class Full(Exception):
    """Stands for queue.Full."""


class Queue:
    """Stands for queue.Queue."""

    def __init__(self, scheduler: Scheduler, maxsize: int = 1_000_000) -> None:
        self.scheduler, self.maxsize, self.items = scheduler, maxsize, []

    def empty(self) -> bool:
        return not self.items

    def put(self, item: object, timeout: float = 60.0) -> None:
        if len(self.items) >= self.maxsize:
            self.scheduler.sleep(timeout, lambda: len(self.items) < self.maxsize)
        if len(self.items) >= self.maxsize:
            raise Full
        self.items.append(item)

    def get(self, timeout: float) -> object:
        if not self.items:
            self.scheduler.sleep(timeout, lambda: bool(self.items))
        if not self.items:
            raise Empty
        return self.items.pop(0)
