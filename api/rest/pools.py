"""Separate thread pools for each kind of request that may wait long. So all other requests get a thread at once, however
many of these wait."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import anyio
from anyio import CapacityLimiter, Semaphore, to_thread
from anyio.lowlevel import RunVar

from mars.errors import NotReadyError

QUEUE_S = 10.0
P = ParamSpec("P")
T = TypeVar("T")
_SEMAPHORES: RunVar[dict[Pool, Semaphore]] = RunVar("pools")


@dataclass(frozen=True)
class Pool:
    """At most `size` calls of one kind at once. `kind` is their name in the plural."""

    kind: str
    size: int = 40

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the call, on a thread. NotReadyError, without calling, if no place becomes free within
        QUEUE_S."""
        places = self._places()
        with anyio.move_on_after(QUEUE_S) as queue:
            await places.acquire()
        if queue.cancelled_caught:
            raise NotReadyError(f"too many {self.kind} at once",
                                f"{self.size} are running, and none ended within {QUEUE_S:g} s", "try again in a moment")
        try:
            return await to_thread.run_sync(functools.partial(call, *args, **kwargs), limiter=CapacityLimiter(1))
        finally:
            places.release()

    def route(self, call: Callable[P, T]) -> Callable[P, Awaitable[T]]:
        """Runs the route's function in this pool, apart from all other requests."""
        @functools.wraps(call)
        async def run(*args: P.args, **kwargs: P.kwargs) -> T:
            return await self.run(call, *args, **kwargs)

        return run

    def _places(self) -> Semaphore:
        """This pool's places in the running event loop."""
        try:
            pools = _SEMAPHORES.get()
        except LookupError:
            _SEMAPHORES.set(pools := {})
        return pools.setdefault(self, Semaphore(self.size))


STATEMENTS = Pool("statements")
ROWS = Pool("requests for rows")
COMMITS = Pool("requests that wait for a commit")
TAILS = Pool("streams that read rows")
