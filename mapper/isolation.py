"""The isolation of claims that were given before, so that what ends worker after worker is found (rule 10).

A mapper has several claims in hand, and when it ends nothing tells which of them did it. So each of them is suspect: the
next holder touches it with nothing else at work, and Redis knows how far it is. The claim script then splits it, and says
at last that reading an offset, or computing one query over it, kills.
"""

from __future__ import annotations

import logging

from mapper.handoff import Handoff
from mars.adapters.exchange import Exchange
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.model.claims import Claim
from mars.model.plan import QueryPlan
from mars.runtime.system import Event

log = logging.getLogger("mars.mapper")
LOOK_S = 0.2  # a wait for the computing thread looks so often whether the mapper stops


class Isolation:
    """Keeps a suspect alone in its mapper, and its marks in Redis."""

    def __init__(self, zookeeper: ZooKeeper, exchange: Exchange, handoff: Handoff, stopping: Event) -> None:
        self.zookeeper, self.exchange = zookeeper, exchange
        self._handoff, self._stopping = handoff, stopping

    def begin(self, view: StreamView, claim: Claim) -> None:
        """By the fetching thread, before it reads: from here on a suspect is alone. Other claims are let through."""
        if not claim.is_suspect:
            return
        self._wait_until_alone()
        if not claim.kills:
            self.exchange.mark(view.stream.id, view.generation, claim, "reading")

    def end(self, claim: Claim) -> None:
        """By the fetching thread, once the claim's batch was handed over: a suspect stays alone until it is computed."""
        if claim.is_suspect:
            self._wait_until_alone()

    def compute(self, view: StreamView, claim: Claim) -> None:
        """By the computing thread: it is read, and will now be computed."""
        if claim.is_suspect and not claim.kills:
            self.exchange.mark(view.stream.id, view.generation, claim, "computing")

    def plans(self, view: StreamView, claim: Claim, plans: dict[str, QueryPlan]) -> dict[str, QueryPlan]:
        """The plans to compute: all, or none of a claim that ends every worker. That is named: a query whose computing does
        it is quarantined; an offset that cannot be read is left out by whoever pushes the claim."""
        if not claim.kills:
            return plans
        place = f"partition {claim.partition}, offset {claim.start}" if claim.end - claim.start == 1 else \
            f"partition {claim.partition}, offsets [{claim.start}, {claim.end})"
        log.error("stream %s: %s ended each worker that was %s it", view.stream.name, place, claim.kills)
        if claim.kills == "computing":
            stop_queries(self.zookeeper, view.stream, plans, "QUARANTINED",
                         f"{place}: computing it ended the worker process each time; RESUME QUERY tries again from the "
                         "committed position, DROP QUERY and CREATE QUERY ... FROM LATEST leave it out")
        return {}

    def _wait_until_alone(self) -> None:
        while not self._handoff.wait_idle(LOOK_S) and not self._stopping.is_set():
            pass
