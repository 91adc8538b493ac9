"""Does this host reach what reducing needs? One that does not, while its ZooKeeper session lives, would keep its key parts
and the lead for as long as that lasts.
"""

from __future__ import annotations

import logging
import time

from mars.adapters.exchange import Exchange
from mars.adapters.storage import Storage
from mars.errors import NotReadyError

log = logging.getLogger("mars.reducer")
LOOK_S = 1.0
UNFIT_S = 15.0  # a Redis that is restarted, or a stalled mount, is back before


class Fitness:
    """Watches Redis and the state folder from one reducer; used by its main thread alone."""

    def __init__(self, exchange: Exchange, storage: Storage) -> None:
        self._exchange, self._storage = exchange, storage
        self._looked_at = self._fit_at = time.monotonic()

    def require(self) -> None:
        """NotReadyError unless both answer now."""
        self._exchange.memory_share()
        self._storage.require()

    def check(self) -> None:
        """NotReadyError once one of them has been away for UNFIT_S: the process must end, so that its key parts go to
        others. If they are no better off, nothing is lost by it: what was merged is in Redis or in the commits."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return
        self._looked_at = now
        try:
            self.require()
            self._fit_at = time.monotonic()
        except NotReadyError as error:
            if time.monotonic() - self._fit_at > UNFIT_S:
                raise
            log.warning("waiting: %s", error)
