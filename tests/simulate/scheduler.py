"""Deterministic actors: greenlets of which exactly one runs at a time, under a clock and a die of the simulation's own.

The real code is handed the clock and threads of `threads.py`. Each call of an outside system is
a point at which another actor may go on, at which an actor can be killed, or its node be paused. Time in which nobody has
anything to do costs nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush

from greenlet import getcurrent, greenlet

STEP_S = 0.0005
SWITCH = 0.35


class Killed(BaseException):
    """The process of this actor has got SIGKILL: it does nothing any more."""


class Stuck(Exception):
    """No actor can ever go on, or the run has taken too many steps."""


class Actor:
    """A thread of some node. `ticket` numbers its sleeps, so that a sleep that was cut short rouses nobody later."""

    __slots__ = ("dead", "done", "green", "name", "node", "sleeping", "ticket")

    def __init__(self, name: str, node: str) -> None:
        self.name, self.node = name, node
        self.green: greenlet | None = None
        self.ticket = 0
        self.sleeping = self.dead = self.done = False


class Source:
    """Something that actors wait for; whoever changes it says so by `notify`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.waiters: list[Actor] = []

    def notify(self) -> None:
        """Whoever waits for it looks again."""
        if self.waiters:
            waiters, self.waiters = self.waiters, []
            for actor in waiters:
                self.scheduler.rouse(actor)


class Scheduler:
    """Who goes on, and when. `steps` counts the calls of outside systems; `steps_max` ends a run that goes on for ever;
    `crashes` are threads that an error ended, with their node."""

    def __init__(self, seed: int, steps_max: int = 200_000) -> None:
        self.random = random.Random(seed)
        self.die = self.random.random
        self.now, self.steps, self.steps_max, self.numbers = 1_000.0, 0, steps_max, 0
        self.driver = self.current = Actor("driver", "driver")
        self.driver.green = getcurrent()
        self.actors: dict[Actor, None] = {}
        self.ready: list[Actor] = []
        self.sleeping: list[tuple[float, int, Actor | Callable[[], object], int]] = []
        self.paused: dict[str, float] = {}
        self.crashes: list[tuple[str, Exception]] = []

    def spawn(self, name: str, node: str, work: Callable[[], object]) -> Actor:
        """Start an actor; it goes on when its turn comes. `work` may end by Killed and by nothing else."""
        actor = Actor(name, node)

        def body() -> None:
            try:
                if not actor.dead:
                    work()
            except Killed:
                pass
            finally:
                actor.done = True
                del self.actors[actor]
                self.current = self._next()  # to whom the driver hands over

        actor.green = greenlet(body, self.driver.green)
        self.actors[actor] = None
        self.ready.append(actor)
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
        if self.die() < SWITCH or (self.paused and actor.node in self.paused):
            self.ready.append(actor)
            self._switch(actor)

    def sleep(self, seconds: float, source: Source | None = None) -> None:
        """Wait so long, or until the source changes."""
        actor = self.current
        if actor.dead:
            raise Killed
        actor.ticket += 1
        actor.sleeping = True
        self.numbers += 1
        heappush(self.sleeping, (self.now + max(STEP_S, seconds), self.numbers, actor, actor.ticket))
        if source is None:
            self._switch(actor)
            return
        source.waiters.append(actor)
        self._switch(actor)
        if actor in source.waiters:
            source.waiters.remove(actor)

    def rouse(self, actor: Actor) -> None:
        """Cut its sleep short."""
        if actor.sleeping:
            actor.sleeping = False
            actor.ticket += 1
            self.ready.append(actor)

    def after(self, seconds: float, work: Callable[[], object]) -> None:
        """Something that happens by itself after a while, at once and without a step."""
        self.numbers += 1
        heappush(self.sleeping, (self.now + seconds, self.numbers, work, -1))

    def kill(self, node: str) -> None:
        """Every actor of the node ends without another call."""
        for actor in self.actors:
            if actor.node == node:
                actor.dead = True
                self.rouse(actor)
        self.paused.pop(node, None)

    def pause(self, node: str, seconds: float) -> None:
        """No actor of the node goes on for so long."""
        until = self.paused[node] = self.now + seconds
        self.after(seconds, lambda: self.paused.pop(node) if self.paused.get(node) == until else None)

    def close(self) -> None:
        """End all actors; the driver alone calls this."""
        self.current = self.driver
        for actor in self.actors:
            actor.dead = True
            self.rouse(actor)
        self.paused.clear()
        while self.actors:
            self.ready.append(self.driver)
            self._switch(self.driver)

    def _switch(self, actor: Actor) -> None:
        following = self._next()
        if following is not actor:
            self.current = following
            following.green.switch()
            while self.current is not actor:  # the driver alone gets here: some actor is through
                self.current.green.switch()
        if actor.dead:
            raise Killed

    def _next(self) -> Actor:
        sleeping, now = self.sleeping, self.now
        while True:
            while sleeping and sleeping[0][0] <= now:
                _, _, actor, ticket = heappop(sleeping)
                if ticket < 0:
                    actor()
                elif actor.ticket == ticket and actor.sleeping:
                    actor.sleeping = False
                    self.ready.append(actor)
            ready = self.ready
            if self.paused:
                free = [i for i, actor in enumerate(ready) if actor.node not in self.paused]
                if free:
                    return ready.pop(free[int(self.die() * len(free))])
            elif ready:
                return ready.pop(int(self.die() * len(ready)) if len(ready) > 1 else 0)
            if sleeping[0][0] > now:
                self.now = now = sleeping[0][0]
