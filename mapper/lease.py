"""Keeps a worker's claims held while it works on them."""

from __future__ import annotations

import logging

from mars.adapters.exchange import Exchange
from mars.errors import MarsError
from mars.model.claims import Claim
from mars.runtime.system import SYSTEM, Runtime, Thread

log = logging.getLogger("mars.mapper")
RENEWED_S = 60.0  # renewals that are under way may take so long; then the claims are given back all the same


class LeaseKeeper:
    """Renews every held claim from a thread of its own, from `start` to `stop`, each third of a lease.

    It only saves work. A claim that could not be renewed is given to another worker too; then whichever of the two pushes
    first counts.
    """

    def __init__(self, exchange: Exchange, lease_ms: int, runtime: Runtime = SYSTEM) -> None:
        self._exchange = exchange
        self._lease_ms = lease_ms
        self._held: dict[tuple[int, int], tuple[int, Claim]] = {}
        self._runtime, self._lock, self._stop = runtime, runtime.lock(), runtime.event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Renew from now on."""
        self._thread = self._runtime.start(self._run, "leases")

    def hold(self, stream_id: int, generation: int, claim: Claim) -> None:
        """Renew this claim from now on."""
        with self._lock:
            self._held[(stream_id, claim.id)] = (generation, claim)

    def drop(self, stream_id: int, claim: Claim) -> bool:
        """Stop renewing this claim: it is pushed, or lost. Another claim may have the same id by now; that one is still
        held. False if this claim was not held."""
        with self._lock:
            is_held = self._holds(stream_id, claim)
            if is_held:
                del self._held[(stream_id, claim.id)]
        return is_held

    def stop(self) -> None:
        """Give every held claim back, so that others need not wait for its lease."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(RENEWED_S)
        self._each(0)

    def _holds(self, stream_id: int, claim: Claim) -> bool:
        held = self._held.get((stream_id, claim.id))
        return held is not None and held[1] is claim

    def _run(self) -> None:
        while not self._stop.wait(self._lease_ms / 3000):
            self._each(self._lease_ms)

    def _each(self, lease_ms: int) -> None:
        with self._lock:
            held = list(self._held.items())
        for (stream_id, _), (generation, claim) in held:
            if not self._holds(stream_id, claim):
                continue  # given back meanwhile, for less than a lease
            try:
                if not self._exchange.renew(stream_id, generation, claim, lease_ms):
                    self.drop(stream_id, claim)
            except MarsError:
                continue
            except Exception:  # this thread must not end, because then nothing would be renewed
                log.exception("claim %s is not renewed", claim.id)
