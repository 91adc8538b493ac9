"""Does this host reach what reducing needs? One that does not, while its ZooKeeper session lives, would keep its key parts
and the lead for as long as that lasts.
"""

from __future__ import annotations

import logging

from mars.adapters.exchange import Exchange
from mars.adapters.storage import Storage
from mars.errors import NotReadyError
from mars.runtime.periods import Every
from mars.runtime.system import SYSTEM, Clock

log = logging.getLogger("mars.reducer")
LOOK_S = 1.0  # little beside UNFIT_S, and each look is a call of both
UNFIT_S = 15.0  # a Redis that is restarted, or a stalled mount, is back before


class Fitness:
    """Watches Redis and the state folder from one reducer; used by its main thread alone."""

    def __init__(self, exchange: Exchange, storage: Storage, clock: Clock = SYSTEM.clock) -> None:
        self._exchange, self._storage = exchange, storage
        self._looks, self._patience = Every(LOOK_S, clock), Every(UNFIT_S, clock)
        self._looks.begin()
        self._patience.begin()

    def require(self) -> None:
        """NotReadyError unless both answer now."""
        self._exchange.memory_share()
        self._storage.require()

    def check(self) -> None:
        """NotReadyError once one of them has been away for UNFIT_S: the process must end, so that its key parts go to
        others. If they are no better off, nothing is lost by it: what was merged is in Redis or in the commits."""
        if not self._looks.is_due():
            return
        self._looks.begin()
        try:
            self.require()
            self._patience.begin()
        except NotReadyError as error:
            if self._patience.is_due():
                raise
            log.warning("waiting: %s", error)
