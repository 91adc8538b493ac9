"""What a mapper's two threads share: connections, what is held, and what goes from the one to the other."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import TypeVar

from mapper.claim import Sizes
from mapper.connections import Connections
from mapper.handoff import Handoff
from mapper.isolation import Isolation
from mapper.lease import LeaseKeeper
from mars.adapters.exchange import ExchangeFullError
from mars.adapters.view import StreamView
from mars.adapters.view_cache import ViewCache
from mars.config import Config
from mars.errors import MarsError, NotReadyError
from mars.model import names
from mars.model.claims import Claim
from mars.runtime.system import SYSTEM, Runtime

log = logging.getLogger("mars.mapper")
T = TypeVar("T")
GIVEN_BACK_MS = 200  # the lease of a claim that somebody else may try soon
HANDED_OVER_MS = 1  # the lease of a claim that somebody else may have now; 0 would leave its mark on it (renew.lua)
INSIST_S = 0.1  # between calls that are repeated: Redis restarts within some of them


class Shared:
    """One mapper's connections, and what goes between its threads.

    `sizes` are what offsets of each stream hold, by the ids of the streams that there are; `news` says that something in
    ZooKeeper has changed; `retiring` that this mapper was asked to end: it claims nothing more, and ends once the batch at
    hand is pushed.
    """

    def __init__(self, config: Config, slot: int, connections: Connections, runtime: Runtime = SYSTEM) -> None:
        self.config, self.runtime, self.clock = config, runtime, runtime.clock
        self.id = f"{slot}-{runtime.new_id()[:8]}"
        self.path = f"{names.MAPPERS}/{self.id}"
        self.connections, self.zookeeper, self.exchange = connections, connections.zookeeper, connections.exchange
        self.leases = LeaseKeeper(self.exchange, config.lease_ms, runtime)
        self.news, self.stopping, self.retiring = (runtime.event() for _ in range(3))
        self.cache = ViewCache(self.zookeeper, self.news.set, runtime)
        self.handoff = Handoff(runtime)
        self.isolation = Isolation(self.zookeeper, self.exchange, self.handoff, self.stopping)
        self.sizes: dict[int, Sizes] = {}

    def is_ending(self) -> bool:
        """Is nothing to be claimed any more?"""
        return self.stopping.is_set() or self.retiring.is_set()

    def view_was_wrong(self) -> None:
        """Something was refused that the view allows: read it again."""
        self.cache.forget()
        self.news.set()

    def give_back(self, view: StreamView, claim: Claim, after_ms: int, given: int | None = None) -> None:
        """Let somebody else have a claim that is held here, after so long; `given`: see Exchange.renew."""
        self.leases.drop(view.stream.id, claim)  # first: the keeper must not lengthen the lease again
        self.exchange.renew(view.stream.id, view.generation, claim, after_ms, given)

    def let_go(self, view: StreamView, claim: Claim) -> None:
        """Something outside has failed: let others try soon, and take the claim's mark away, so that it does not look like a
        tuple that ends who reads it (rule 10). Nothing if it was given back already, or if Redis is away."""
        if self.leases.drop(view.stream.id, claim):
            with contextlib.suppress(MarsError):
                self.exchange.renew(view.stream.id, view.generation, claim, GIVEN_BACK_MS)

    def hand_over(self, view: StreamView, claim: Claim) -> None:
        """This mapper retires: let others have a claim now, as if it had never been given. If Redis is away, they have to
        wait for its lease."""
        if self.leases.drop(view.stream.id, claim):
            with contextlib.suppress(MarsError):
                self.exchange.renew(view.stream.id, view.generation, claim, HANDED_OVER_MS, claim.given - 1)

    def insist(self, call: Callable[[], T]) -> T | None:
        """Repeat a call whose repetition is harmless until Redis answers; its result, or None once the mapper stops."""
        while not self.stopping.is_set():
            try:
                return call()
            except (NotReadyError, ExchangeFullError) as error:
                log.warning("waiting: %s", error)
                self.clock.sleep(INSIST_S)
        return None
