"""What a mapper's two threads share: connections, what is held, and what goes from the one to the other."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from mapper.batch import Messages, ParsedBatch
from mapper.claim import Sizes
from mapper.lease import LeaseKeeper
from mapper.records import Records
from mapper.suspect import Suspects
from mars.adapters.exchange import Exchange, ExchangeFullError
from mars.adapters.view import StreamView
from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.errors import MarsError, NotReadyError
from mars.model.claims import Claim
from mars.model.plan import QueryPlan

log = logging.getLogger("mars.mapper")
GIVEN_BACK_MS = 200  # the lease of a claim that somebody else may try soon
BATCHES_WAITING = 2  # may wait while one is computed


@dataclass
class Fetched:
    """A claim whose tuples are here: as records or messages, or already parsed if the local file was found. `log`: see
    Range."""

    view: StreamView
    claim: Claim
    plans: dict[str, QueryPlan]
    content: Records | Messages | ParsedBatch | None
    log: tuple[int, int] | None = None
    letters_kept: bool = True


class Shared:
    """One mapper's connections and the queue between its threads.

    `rests` is set while the computing thread has nothing to do; `room` bounds the batches that wait for it; `sizes` are
    what offsets of each stream hold, by the ids of the streams that there are; `news` says that something in ZooKeeper
    has changed.
    """

    def __init__(self, config: Config, slot: int) -> None:
        self.config = config
        self.id = f"{slot}-{uuid.uuid4().hex[:8]}"
        self.zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
        self.exchange = Exchange(config.redis_address)
        self.leases = LeaseKeeper(self.exchange, config.lease_ms)
        self.news, self.stopping, self.rests = threading.Event(), threading.Event(), threading.Event()
        self.rests.set()
        self.cache = ViewCache(self.zookeeper, self.news.set)
        self.suspects = Suspects(self.zookeeper, self.exchange, self.stopping)
        self.sizes: dict[int, Sizes] = {}
        self.fetched: queue.Queue[Fetched] = queue.Queue()
        self.room = threading.Semaphore(BATCHES_WAITING)

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

    def insist(self, call: Callable[[], object]) -> object:
        """Repeat a call whose repetition is harmless until Redis answers; its result, or 0 once the mapper stops."""
        while not self.stopping.is_set():
            try:
                return call()
            except (NotReadyError, ExchangeFullError) as error:
                log.warning("waiting: %s", error)
                time.sleep(0.1)
        return 0
